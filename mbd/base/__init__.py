"""Arguments, messages, tolerances, files written whole."""
