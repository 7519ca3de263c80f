"""Animations of a solution: one HTML page, or drawn by matplotlib."""
