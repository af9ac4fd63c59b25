// Included before everything else: what Verilator's library and the circuits print goes to `circuit_print`.
#pragma once

int circuit_print(const char* format, ...) __attribute__((format(printf, 1, 2)));
#define VL_PRINTF circuit_print
