"""Laws between faces; no formulation is named here."""
