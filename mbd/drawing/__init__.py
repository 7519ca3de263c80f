"""Pictures of models and results (matplotlib), surfaces of what animations show."""
