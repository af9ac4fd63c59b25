"""Compares the speed of two versions of the simulator on a fixed set of fabrics ("shapes")."""
