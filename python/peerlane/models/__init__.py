"""Device models of one's own: classes in Python, and libraries in Rust."""
