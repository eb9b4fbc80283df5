"""Set-up pages: live view, places on the table, jobs."""
