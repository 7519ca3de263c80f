"""Discrete derivatives of runs, equilibria and modes by parameters."""
