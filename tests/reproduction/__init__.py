"""Published systems and what is judged of them."""
