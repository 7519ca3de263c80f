"""Forces and constraint rows on faces, independent of the formulation."""
