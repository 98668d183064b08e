"""How real providers word their answers: one module a provider."""
