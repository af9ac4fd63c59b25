"""Numbers that were measured on hardware, read from the files of measuring tools."""
