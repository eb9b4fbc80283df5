"""Counters of a running reader, and the page that a monitor reads."""
