"""The commands of `peerlane opae`."""
