"""Learning the house deck."""
