"""The numbers of results and of tables by their names, and figures of them."""
