"""What commands print with: what happens in a run, and tables."""
