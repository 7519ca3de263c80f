"""Quantities over time as pictures."""
