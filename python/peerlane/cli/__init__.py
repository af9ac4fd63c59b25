"""The command line: a file for each command, the console, and the tables."""
