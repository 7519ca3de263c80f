"""Floor 3. From the description to the frozen model."""
