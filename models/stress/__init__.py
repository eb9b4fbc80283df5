"""A simulator of sightings: coups as a detector would report them, without pictures."""
