"""What is said and checked: arguments, messages, tolerances, files written whole."""
