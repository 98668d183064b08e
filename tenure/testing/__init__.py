"""What users test their automations with: emulated providers and fixtures."""
