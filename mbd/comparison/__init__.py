"""One system in several formulations, side by side."""
