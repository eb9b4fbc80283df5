"""The version of the program, which the package, the log and every status message give."""

VERSION = "1.1.0"
