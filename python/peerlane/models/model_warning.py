"""The class of all warnings about a device model."""


class ModelWarning(UserWarning):
    """A device model that probably does not do what its author meant: `DEVICE: why; the remedy`."""
