"""Contains a folder for each published system: its scenario, experiments and published values."""
