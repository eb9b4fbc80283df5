"""`shoe-reader simulate`: a dealing film with its truth and a table file that reads it."""

from vision.simulator.dealing.simulate import add_arguments, run

__all__ = ["HELP", "add_arguments", "run"]

HELP = "deal a shoe on film: a table video with its ground truth and a table file for it"
