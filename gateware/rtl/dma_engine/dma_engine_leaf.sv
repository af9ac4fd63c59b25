// The DMA engine and a user circuit with the ports of a leaf: they take the place of the model. The user circuit has the same clock.

`include "require.svh"

module dma_engine_leaf #(
    // User circuit: 0 source and sink that never stall, 1 loopback, 2 interconnect matrix, 3 reflector.
    parameter int USER = 0,
    // Descriptors in the engine's memory for each direction, a power of two, 2 to 4096.
    parameter int DESCRIPTORS = 2048,
    // Bytes of a request for descriptors where lists stay in host memory, a power of two, 16 to 4096; 0 where they are in the engine's.
    parameter int FETCH = 0,
    // Bytes of each of the four FIFOs, a power of two, 256 to 4096; packets from a FIFO have at most half of it.
    parameter int FIFO_BYTES = 4096,
    // Most outstanding reads of data, a power of two, 2 to 64. Requests for descriptors have the tags TAGS and TAGS + 1, or 30 and 31 if TAGS is 32
    // or 64. Tags above 31 need Extended Tag Field Enable.
    parameter int TAGS = 16,
    // Bytes of the largest read request, a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 4096,
    // Cycles after which a read without its completions has failed: 10 ms at 250 MHz.
    parameter int TIMEOUT = 2_500_000,
    // Number of cycles that a peer's write waits for space in its FIFO before it is dropped, 1 to 65535.
    parameter int ACCEPT_CYCLES = 512,
    // Idle cycles between two packets, 0 to 1000; rosta's engine is fitted with 1.
    parameter int IDLE_CYCLES = 0,
    // Cycles from the last beat of a descriptor's packets to the first beat of the next one's, 5 to 100000, or 0 for none, and where lists
    // are fetched; rosta's engine is fitted with 66.
    parameter int DESCRIPTOR_CYCLES = 0
) (
    // Clock of all ports.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,

    // Bus, device and function number.
    input  logic [15:0] function_id_i,
    // Max_Payload_Size as in Device Control.
    input  logic [2:0]  max_payload_i,
    // Max_Read_Request_Size as in Device Control.
    input  logic [2:0]  max_read_request_i,
    // Bus Master Enable.
    input  logic        bus_master_i,
    // Extended Tag Field Enable.
    input  logic        ext_tag_i,

    // The function is being reset. It stays until `flr_done_o`.
    input  logic        flr_i,
    // The circuit is as after reset; it stays until `flr_i` falls.
    output logic        flr_done_o,

    // A beat of a received TLP is there.
    input  logic        rx_valid_i,
    // The circuit takes the beat.
    output logic        rx_ready_o,
    // A non-posted request may begin in the next cycle.
    output logic        rx_np_ok_o,
    // The beat; byte k of the TLP is at bits 8k and up.
    input  logic [63:0] rx_data_i,
    // The beat is the first of its TLP.
    input  logic        rx_first_i,
    // The beat is the last of its TLP.
    input  logic        rx_last_i,
    // Number of bytes of the TLP in the beat.
    input  logic [3:0]  rx_bytes_i,
    // Label of the TLP for measurements.
    input  logic [15:0] rx_label_i,
    // The BAR that a memory request hits, with its first beat.
    input  logic [2:0]  rx_bar_i,

    // A beat of a TLP is to be sent.
    output logic        tx_valid_o,
    // The port takes the beat.
    input  logic        tx_ready_i,
    // The beat.
    output logic [63:0] tx_data_o,
    // The beat is the first of its TLP.
    output logic        tx_first_o,
    // The beat is the last of its TLP.
    output logic        tx_last_o,
    // Number of bytes of the TLP in the beat.
    output logic [3:0]  tx_bytes_o,
    // Label of the TLP for measurements, in the cycle in which the port takes a beat.
    output logic [15:0] tx_label_o,

    // An interrupt is requested.
    output logic        irq_valid_o,
    // The port takes the request.
    input  logic        irq_ready_i,
    // The vector of the interrupt.
    output logic [10:0] irq_vector_o,

    // The circuit has detected an error. A pulse.
    output logic        err_valid_o,
    // Its kind, of peerlane_pkg::ERROR.
    output logic [2:0]  err_kind_o,
    // The header of the packet with the error, byte k in bits 8k and up. Of a completion timeout only the tag counts.
    output logic [127:0] err_header_o,

    // The circuit needs its clock although no beat arrives.
    output logic        active_o
);

  `REQUIRE(gen_timeout, TIMEOUT >= 12_500, "dma_engine: TIMEOUT counts the cycles to wait for a completion; it must be at least 12500, 50 us at 250 MHz")
  `REQUIRE(gen_wait, ACCEPT_CYCLES <= 1000, "dma_engine: ACCEPT_CYCLES is the time that a write of a peer waits for space; a leaf reports errors within 1024 cycles, so it must be at most 1000")

  // A function-level reset is one of the user circuit, too.
  logic user_clear;

  dma_engine_example #(
      .USER(USER),
      .DESCRIPTORS(DESCRIPTORS),
      .FETCH(FETCH),
      .FIFO_BYTES(FIFO_BYTES),
      .TAGS(TAGS),
      .SLOT_BYTES(SLOT_BYTES),
      .TIMEOUT(TIMEOUT),
      .ACCEPT_CYCLES(ACCEPT_CYCLES),
      .IDLE_CYCLES(IDLE_CYCLES),
      .DESCRIPTOR_CYCLES(DESCRIPTOR_CYCLES)
  ) core (
      .clk_i,
      .rst_i,
      .user_clk_i(clk_i),
      .user_rst_i(rst_i || user_clear),
      .function_id_i,
      .max_payload_i,
      .max_read_request_i,
      .bus_master_i,
      .ext_tag_i,
      .flr_i,
      .flr_done_o,
      .user_clear_o(user_clear),
      .rx_valid_i,
      .rx_ready_o,
      .rx_np_ok_o,
      .rx_data_i,
      .rx_first_i,
      .rx_last_i,
      .rx_bytes_i,
      .rx_label_i,
      .rx_bar_i,
      .tx_valid_o,
      .tx_ready_i,
      .tx_data_o,
      .tx_first_o,
      .tx_last_o,
      .tx_bytes_o,
      .tx_label_o,
      .irq_valid_o,
      .irq_ready_i,
      .irq_vector_o,
      .err_valid_o,
      .err_kind_o,
      .err_header_o,
      .active_o
  );

endmodule
