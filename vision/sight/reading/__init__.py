"""From observations of cards to faces, each with a bound on its error."""
