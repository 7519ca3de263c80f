"""Checks that ``mbd doctor`` runs in processes of their own, so that a crash is reported."""
