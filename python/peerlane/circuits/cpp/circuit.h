// The C interface of a library with circuits. `crates/cosim/src/abi.rs` declares the same structures.
#pragma once
#include <cstdint>

// What happened at the ports of a circuit.
struct circuit_event {
    // The cycles of the first and of the last beat.
    uint64_t first;
    uint64_t last;
    // The place of the TLP in the bytes that were sent.
    uint64_t offset;
    uint32_t size;
    // The label of the TLP, or the vector of the interrupt.
    uint32_t label;
    // 0: the circuit has taken a posted TLP or a completion; 1: it has sent a TLP; 2: it has requested an interrupt; 3: it has taken a
    // non-posted request; 4: it has reported an error, whose kind is in `label`, and the place of whose header is in `offset`.
    uint32_t kind;
};

// What happened in one call of `run`, in the order of its end. Valid until the next call.
struct circuit_events {
    const circuit_event* first;
    uint64_t count;
    const uint8_t* bytes;
    uint64_t size;
    // The headers of errors, 16 bytes each.
    const uint8_t* headers;
    uint64_t headers_size;
    // The next cycle.
    uint64_t cycle;
    // Why the circuit has stopped; null if it goes on.
    const char* stopped;
};

// The settings of the function, from its configuration space.
struct circuit_settings {
    uint16_t function_id;
    // The codes of Device Control: 128 bytes shifted left by the code.
    uint8_t max_payload;
    uint8_t max_read_request;
    uint8_t bus_master;
    uint8_t ext_tag;
    // The function is being reset.
    uint8_t flr;
};

// A circuit at one width.
struct circuit_model {
    const char* name;
    // Bytes of a beat.
    uint64_t width;
    // Whether the circuit can write waveforms; most circuits have a copy that can, and a faster one that cannot.
    bool is_traced;
    // Whether the circuit has ports for the function-level reset. Without them, `reset` resets its function.
    bool resets_function;
    void* (*create)(uint64_t period_ps);
    void (*destroy)(void*);
    // Applies reset for some cycles, and forgets the TLPs that wait.
    void (*reset)(void*);
    void (*configure)(void*, const circuit_settings*);
    // Adds a TLP, which the circuit may take from `cycle` on; a memory request hits BAR `bar`. While the circuit takes no non-posted
    // request, other TLPs pass the non-posted requests that wait.
    void (*push)(void*, const uint8_t* bytes, uint64_t size, uint64_t cycle, uint32_t label, uint32_t bar, bool is_non_posted);
    // Sets the number of TLPs that the circuit may begin to send.
    void (*allow)(void*, uint32_t count);
    // Runs up to cycle `until`.
    void (*run)(void*, uint64_t until, circuit_events* into);
    // Whether the circuit is in the middle of a TLP that it sends.
    bool (*is_sending)(const void*);
    // Whether the circuit needs its clock although no TLP waits for it.
    bool (*is_active)(const void*);
    // Whether the circuit has ended the function-level reset.
    bool (*is_reset_done)(const void*);
    // The number of cycles in which units at rest were not evaluated.
    uint64_t (*short_cycles)(const void*);
    // Writes waveforms from the current cycle on to a file that can be written, if it is traced.
    void (*open_waves)(void*, const char* path);
    void (*close_waves)(void*);
};

// Version of this interface.
constexpr uint32_t CIRCUIT_VERSION = 1;

// The circuits of a library, which exports it as `peerlane_circuits`. The first two fields are the same in every version.
struct circuit_table {
    uint32_t version;
    // Bytes of a circuit_model.
    uint32_t size;
    uint64_t count;
    const circuit_model* const* models;
};
