// One interrupt for each unit whose transfer has ended, the lowest unit first; those of the user's logic behind them. They wait for Bus Master
// Enable.

`include "require.svh"

module dma_interrupts (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: no interrupt waits.
    input  logic        rst_i,
    // Bus Master Enable.
    input  logic        bus_master_i,
    // The transfer of a unit has ended, in the order of the units' registers: write, read, peer. A pulse.
    input  logic [2:0]  done_i,
    // The user's logic requests an interrupt.
    input  logic        user_valid_i,
    // Its vector.
    input  logic [10:0] user_vector_i,
    // The request of the user's logic is taken.
    output logic        user_ready_o,
    // An interrupt is requested.
    output logic        valid_o,
    // The request is taken.
    input  logic        ready_i,
    // The vector of the interrupt.
    output logic [10:0] vector_o,
    // An interrupt waits.
    output logic        busy_o
);

  logic [2:0]  waiting_q;
  logic        offered_q;
  logic [10:0] vector_q;
  logic [2:0]  first;
  logic [10:0] vector;

  assign first = waiting_q & (~waiting_q + 1'b1);

  always_comb begin
    vector = user_vector_i;
    if (waiting_q != '0) begin
      if (first[0]) vector = 11'(peerlane_pkg::DMA_WRITE_VECTOR);
      if (first[1]) vector = 11'(peerlane_pkg::DMA_READ_VECTOR);
      if (first[2]) vector = 11'(peerlane_pkg::DMA_PEER_VECTOR);
    end
  end

  assign valid_o      = offered_q;
  assign vector_o     = vector_q;
  assign busy_o       = waiting_q != '0 || user_valid_i || offered_q;
  assign user_ready_o = waiting_q == '0 && bus_master_i && (!offered_q || ready_i);

  always_ff @(posedge clk_i) begin
    if (busy_o || done_i != '0) begin
      waiting_q <= waiting_q | done_i;
      if (!offered_q || ready_i) begin
        offered_q <= (waiting_q != '0 || user_valid_i) && bus_master_i;
        vector_q  <= vector;
        if (bus_master_i) waiting_q <= (waiting_q & ~first) | done_i;
      end
    end
    if (rst_i) begin
      waiting_q <= '0;
      offered_q <= 1'b0;
    end
  end

  `STAYS(offer, 11, vector_o, valid_o, ready_i, 1'b0)

endmodule
