"""The command line: its contracts, files, streams and tables."""
