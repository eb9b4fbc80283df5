"""What many tables need (extra `floor`): archive, reports, recordings read again, reader pairs."""
