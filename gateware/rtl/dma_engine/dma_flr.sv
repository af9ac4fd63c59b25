// The function-level reset of the engine (PCIe Base 6.6.2): no further packet begins, the one that has begun leaves whole, and the completions
// of all reads that have left come or time out, so that none of them can answer a later read. Then the engine is reset, and drops what
// arrives, until the hard block ends the reset of the function.

`include "require.svh"

module dma_flr #(
    // Cycles for which the engine is reset at least: three cycles of the slower clock.
    parameter int CYCLES = 4
) (
    // Clock.
    input  logic       clk_i,
    // Synchronous reset.
    input  logic       rst_i,
    // The hard block resets the function. It stays until `done_o`.
    input  logic       flr_i,
    // The engine is as after reset; it stays until `flr_i` falls.
    output logic       done_o,
    // No further packet may begin.
    output logic       stop_o,
    // A packet is being sent.
    input  logic       sending_i,
    // A read request begins to leave. A pulse.
    input  logic       read_i,
    // A read that has left ends, a bit for each part that reads. Pulses.
    input  logic [2:0] ends_i,
    // The engine is reset; a register.
    output logic       clear_o,
    // The state changes although nothing arrives.
    output logic       busy_o
);

  `REQUIRE(gen_cycles, CYCLES >= 1 && CYCLES <= 255, "dma_engine: FLR_CYCLES is the length of the reset of the user circuit; it must be 1 to 255")

  typedef enum logic [1:0] {
    WORKS,
    DRAINS,
    CLEARS,
    DONE
  } state_t;

  state_t     state_q;
  logic [7:0] left_q;
  // Reads that have left and have not ended, and fewer if one has timed out before it could leave.
  logic [7:0] open_q;

  assign stop_o  = state_q != WORKS || flr_i;
  assign clear_o = state_q == CLEARS || state_q == DONE;
  assign done_o  = state_q == DONE;
  assign busy_o  = flr_i ? state_q != DONE : state_q != WORKS;

  always_ff @(posedge clk_i) begin
    if (read_i || ends_i != '0) open_q <= open_q + 8'(read_i) - 8'(ends_i[0]) - 8'(ends_i[1]) - 8'(ends_i[2]);
    case (state_q)
      WORKS: if (flr_i) state_q <= DRAINS;
      DRAINS: begin
        left_q <= 8'(CYCLES - 1);
        if (!sending_i && !read_i && (open_q == '0 || open_q[7])) state_q <= CLEARS;
      end
      CLEARS: begin
        left_q <= left_q - 1'b1;
        if (left_q == '0) state_q <= DONE;
      end
      default: if (!flr_i) state_q <= WORKS;
    endcase
    if (rst_i || clear_o) open_q <= '0;
    if (rst_i) state_q <= WORKS;
  end

`ifdef FORMAL
  `include "dma_flr.svh"
`endif

endmodule
