"""The beam element: forces and tangent of a helicoid between two frames."""
