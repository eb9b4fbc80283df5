"""Web pages: results boards, dealer strip, surveillance desk, set-up."""
