"""Reads numbers that were measured on hardware from the files of measuring tools."""
