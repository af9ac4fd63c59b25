"""The system tsukuba: PCI Express inside the nodes, optical fibre between nodes, and a router."""
