"""Import of URDF: ``description.py`` reads the XML, ``robot.py`` builds the system."""
