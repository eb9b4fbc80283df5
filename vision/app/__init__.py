"""A running table reader and a running board server, put together from the other rooms."""
