"""Device models of one's own, and the drive that is one."""
