"""Reading with an enrolled deck: cards of other decks are noticed."""
