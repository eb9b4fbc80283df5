"""Verifying a log, and exporting a part of it that proves itself."""
