"""Tests of beams: statics, stability, frequencies, motion, properties of the element."""
