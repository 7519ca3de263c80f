"""Kernels: compiled, cached, called; the flat buffers that they work on."""
