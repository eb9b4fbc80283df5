"""The published rule sheets, and what is wrong or missing in them."""
