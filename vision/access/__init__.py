"""Who may give orders: the users file, and the signatures of orders."""
