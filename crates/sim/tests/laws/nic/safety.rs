//! What must not happen: each is stopped, counted, and reported to the owner of the queue pair.
