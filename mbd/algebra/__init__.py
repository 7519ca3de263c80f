"""Vectors, quaternions and Lie groups: pure mathematics."""
