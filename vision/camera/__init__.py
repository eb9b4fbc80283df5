"""Pictures from cameras, streams, films and folders."""
