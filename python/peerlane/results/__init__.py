"""The results of a run, as dataclasses that become pandas frames."""
