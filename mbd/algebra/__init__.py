"""Floor 0. Numbers: vectors, rotations, memory, compilation."""
