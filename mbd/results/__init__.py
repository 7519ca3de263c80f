"""Floor 5. What people see: results by name."""
