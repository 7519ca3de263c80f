"""Integration in time: methods, Newton's loop, consistent starting values."""
