"""Units of co-simulation: a model as an FMU of FMI 3.0."""
