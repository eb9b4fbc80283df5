"""Following cards from the shoe's mouth to the discard."""
