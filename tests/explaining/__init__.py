"""What flows wait for."""
