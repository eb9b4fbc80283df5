"""`shoe-reader simulate`: a dealing film with its truth and a table file that reads it."""

from vision.simulator.dealing.simulate import HELP, add_arguments, run

__all__ = ["HELP", "add_arguments", "run"]
