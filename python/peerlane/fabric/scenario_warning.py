"""The class of all warnings about a scenario."""


class ScenarioWarning(UserWarning):
    """A risk of a scenario, such as a deadlock: `FILE:LINE: the risk; what would be safe`."""
