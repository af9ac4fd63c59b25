"""Makes the tables that the command line prints."""
