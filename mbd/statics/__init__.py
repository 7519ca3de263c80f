"""Static balance: search, descent, arc length, steady motion, inverse kinematics."""
