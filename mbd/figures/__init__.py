"""Figures of plain numbers and names (matplotlib)."""
