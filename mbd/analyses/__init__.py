"""Equilibrium, modes, buckling, Campbell diagram, linearization, inverse dynamics."""
