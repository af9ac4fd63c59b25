"""Fabrics: built in code, written as scenarios, enumerated and simulated."""
