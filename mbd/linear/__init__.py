"""Linear equations of the model: block fronts, inertia, null space, least multipliers."""
