"""Fits of parameters to measured curves, and optimisation."""
