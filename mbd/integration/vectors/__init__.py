"""Vectors over the unknowns, in one go or by sides."""
