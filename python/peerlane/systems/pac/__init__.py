"""The system pac: Intel's Programmable Acceleration Card with OPAE."""
