"""Measures the speed of RTL modules, in simulated fabrics and in a Verilog simulator."""
