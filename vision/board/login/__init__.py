"""Who is at the desk: passwords, sessions, and the door in front of every page."""
