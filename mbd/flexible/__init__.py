"""Flexible bodies from finite elements: reduction, invariants of inertia, the body."""
