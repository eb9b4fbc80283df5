"""Shoe Reader: cards in front of a camera become coups on a board."""

__version__ = "0.1.0"
