"""Where the table lies in the picture: from a sheet, points, or the first hands."""
