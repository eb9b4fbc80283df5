"""Pages for people who log in: surveillance desk, dealer strip and set-up."""
