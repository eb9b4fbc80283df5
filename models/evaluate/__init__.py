"""Figures of networks and of the whole reader, each printed by one command."""
