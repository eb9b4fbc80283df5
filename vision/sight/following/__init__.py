"""Following cards from shoe to discard: what is seen, what a dealer may do, and what was likely."""
