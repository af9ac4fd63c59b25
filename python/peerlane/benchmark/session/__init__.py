"""Real time of programs in sessions, beside a bare socket and beside `peerlane run`."""
