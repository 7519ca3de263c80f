"""One run: its plan, its stretches between events, what is recorded, why it ends."""
