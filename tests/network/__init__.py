"""Networks of routers and their loads."""
