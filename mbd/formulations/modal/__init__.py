"""Bodies with modes on the face of any formulation that says how it accelerates."""
