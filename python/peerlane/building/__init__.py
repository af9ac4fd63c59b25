"""Builds fabrics in code, by the class `Fabric`."""
