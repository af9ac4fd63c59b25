"""Why flows are as fast as they are, and what comes next when a limit is lifted."""
