"""Numbers that were measured on hardware, from the files of the tools that measure them."""
