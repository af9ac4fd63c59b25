"""Steady rates by arithmetic, from PCI Express Base and the documented parameters alone.

Nothing here imports the simulator, but for `__main__`, which compares the two.
"""
