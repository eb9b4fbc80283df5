"""The usual pipeline, to be compared with; no part of the program."""
