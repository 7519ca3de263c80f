"""Models: description, elimination order, layout of the buffers, evaluation, matrices."""
