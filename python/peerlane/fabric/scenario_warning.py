"""Defines the class of all warnings about scenarios."""


class ScenarioWarning(UserWarning):
    """A warning about a risk of a scenario, such as a deadlock: `FILE:LINE: risk; what is safe`."""
