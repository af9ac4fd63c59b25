"""Published systems: a folder for each, with its scenario, experiments and published figures."""
