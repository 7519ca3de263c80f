"""The numbers of a run by name: bodies, joints, loads, energies over time."""
