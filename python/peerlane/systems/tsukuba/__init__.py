"""PCI Express inside the node, light between nodes, and one router."""
