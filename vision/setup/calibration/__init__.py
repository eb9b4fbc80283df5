"""Where the table lies in the picture: from eight cards laid on it."""
