"""Small motions about a state: tangents of all bodies, independent coordinates, eigenvalues."""
