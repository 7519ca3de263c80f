"""Studies of many runs: members, their batches, where they are computed, what is kept of them."""
