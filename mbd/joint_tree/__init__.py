"""Joint coordinates of a model: a tree of its joints, recursions over it, loops by elimination."""
