"""The settings and their defaults: table files and profiles, checked in full."""
