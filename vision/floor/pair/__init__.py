"""Two readers of one table: one log, one speaker, and the change from one to the other."""
