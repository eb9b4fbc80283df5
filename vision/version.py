"""The version of the program, which the package, the log and every status message give."""

VERSION = "0.2.0"  # as in pyproject.toml
