"""Reading with an enrolled deck."""
