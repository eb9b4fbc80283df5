"""Reading a single photograph."""
