"""Wagers: what wins, what it pays, exact odds and house edges."""
