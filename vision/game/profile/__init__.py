"""House rules read from a profile's text."""
