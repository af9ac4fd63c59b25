"""What moves the predicted rows of a published system: every input, one at a time."""
