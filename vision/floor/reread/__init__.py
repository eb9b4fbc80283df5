"""Reading recordings again: cut, read in pieces, joined, compared with what was said then."""
