"""The host of the boards: puts a board server together, and runs it in a process of its own."""
