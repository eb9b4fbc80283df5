"""What commands print with: progress on a console, and tables."""
