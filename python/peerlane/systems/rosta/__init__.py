"""The system rosta: eight Virtex-7 FPGAs that write to each other directly."""
