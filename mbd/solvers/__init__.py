"""Floor 4. Linear solvers, initial conditions, time stepping."""
