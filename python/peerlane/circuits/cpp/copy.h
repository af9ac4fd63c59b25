// A copy of a circuit's evaluation for cycles with units at rest (`rest.py`).
#pragma once

template <typename Root>
struct CircuitCopy {
    // Whether the units are at rest.
    bool (*fits)(const Root*);
    // Evaluates a rising edge of both clocks, before which the units are at rest; returns whether they still are.
    bool (*evaluate)(Root*);
};
