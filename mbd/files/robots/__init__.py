"""Robots from URDF and MJCF: each is read into one description, of which a system is built."""
