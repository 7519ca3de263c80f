"""Tests of results: labelled data, files, streams, pictures."""
