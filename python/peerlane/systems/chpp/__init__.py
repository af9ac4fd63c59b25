"""The system chpp: a network interface controller between processors with PCI Express links."""
