"""The sensitivity of the predicted rows of a published system to every input, one at a time."""
