"""Listings of machines that become scenarios."""
