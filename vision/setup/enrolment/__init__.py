"""Enrolment: the house deck shown once, measured and written to its file."""
