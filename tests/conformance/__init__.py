"""An independent judge of packet traces.

It knows PCI Express Base and nothing of the simulator: it reads the bytes of headers and DLLPs in a
trace, the times of what leaves and arrives, and the fabric that the scenario describes.
"""
