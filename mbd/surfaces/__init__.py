"""Surfaces: of solids, of sections swept along lines, and their colours."""
