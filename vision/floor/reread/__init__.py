"""Reading recordings again, and comparing the coups with those published then."""
