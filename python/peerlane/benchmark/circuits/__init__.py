"""The speed of circuits in a simulated fabric, and of a circuit in a Verilog simulator."""
