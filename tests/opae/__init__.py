"""Programs that were written for OPAE."""
