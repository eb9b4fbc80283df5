"""The networks as torch knows them, their cards, and weights given back to them."""
