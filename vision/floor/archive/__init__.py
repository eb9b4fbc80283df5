"""The house's archive of record: every table's messages in an SQL database, and questions to it."""
