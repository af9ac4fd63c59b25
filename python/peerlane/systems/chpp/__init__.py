"""A network interface controller that speaks PCI Express between processors."""
