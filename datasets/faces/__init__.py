"""What cards look like: drawn designs, imported art, backs, and things that are no cards."""
