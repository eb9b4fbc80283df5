"""Recipes that make the three networks, and the samples they learn from."""
