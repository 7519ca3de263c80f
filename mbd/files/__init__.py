"""Floor 6. Model files."""
