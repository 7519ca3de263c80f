"""Histories by name: bodies, joints, loads, energies over time."""
