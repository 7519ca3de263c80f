"""Parts with mass that are no bodies: bars between points, fluid around a body."""
