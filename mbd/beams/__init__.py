"""Beams: sections, reference curves, nodes with fitted masses, elements between them."""
