"""The tables that the command line prints."""
