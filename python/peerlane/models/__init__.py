"""User-written device models: classes in Python, and libraries in Rust."""
