"""Floor 1. Laws between faces; no formulation is named here."""
