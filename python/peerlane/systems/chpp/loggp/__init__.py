"""The LogGP model of the source, and its parameters as measured here."""
