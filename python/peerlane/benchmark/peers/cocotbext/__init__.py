"""The fabric benchmark on cocotbext-pcie."""
