"""The real time of programs in sessions, compared with a bare socket and with `peerlane run`."""
