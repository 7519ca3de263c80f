"""From the description to the frozen model."""
