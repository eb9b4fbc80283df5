"""Training, export and evaluation recipes; never imported by `vision`."""
