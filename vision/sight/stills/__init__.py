"""Reading the cards in a single photograph."""
