"""Elements with mass: their forces depend on the accelerations of faces."""
