"""`shoe-reader simulate`: a dealing film with its truth and a table file that reads it."""

from vision.simulator.dealing.simulate import add_arguments, run

__all__ = ["add_arguments", "run"]
