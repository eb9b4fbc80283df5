"""The host of the boards: puts a board server together."""
