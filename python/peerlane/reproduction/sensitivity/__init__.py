"""Measures how much each input changes the predicted rows of a published system."""
