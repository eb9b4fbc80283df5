"""Where the table lies in the picture: from a sheet, or from measured points."""
