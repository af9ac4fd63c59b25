"""Finds numbers of results and tables by their names, and draws figures of them."""
