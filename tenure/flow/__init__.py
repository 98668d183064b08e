"""What an author touches: automations, providers, context, calls."""
