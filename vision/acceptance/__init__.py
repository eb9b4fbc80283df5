"""Acceptance at a table: people say what was dealt, and the reader is measured by it."""
