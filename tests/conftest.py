"""Shared by all tests: hypothesis is deterministic, helpers in this folder can be imported."""

from hypothesis import settings

settings.register_profile("mbd", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("mbd")
