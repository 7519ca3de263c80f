"""Import of URDF: ``description.py`` reads the XML, ``robot.py`` makes a system of it."""
