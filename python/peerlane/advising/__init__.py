"""Advice about the GPUs of a fabric: matrices of pairs, an all-reduce, and changes that matter."""
