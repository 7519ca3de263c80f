"""Tests of flexible bodies: reduction, equations, motion, results."""
