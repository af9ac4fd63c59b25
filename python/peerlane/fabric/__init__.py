"""A fabric: built in code, written as a scenario, enumerated, and simulated."""
