// Lets a unit begin a range no earlier than some cycles after the last beat of the range before: the pace of an engine whose
// descriptors are read one after the other.

`include "require.svh"

module range_pacer #(
    // Cycles between the last beat of a range and the first beat of the next one; 0 to give ranges ahead, else at least LEAST.
    parameter int CYCLES = 0,
    // Cycles from a range to its first beat at the link.
    parameter int LEAST = 5
) (
    // Clock.
    input  logic clk_i,
    // Synchronous reset.
    input  logic rst_i,
    // A transfer begins.
    input  logic start_i,
    // The unit has a part of a range, or a beat of it has not left the engine.
    input  logic holds_i,
    // There is a range.
    input  logic valid_i,
    // The range is taken.
    output logic ready_o,
    // There is a range that the unit may take.
    output logic valid_o,
    // The unit takes the range.
    input  logic ready_i
);

  `REQUIRE(gen_cycles, CYCLES == 0 || (CYCLES >= LEAST && CYCLES <= 100_000), "dma_engine: DESCRIPTOR_CYCLES is the number of cycles from a descriptor's last beat to the next one's first beat; it must be 0 for none, or 5 to 100000")

  generate
    if (CYCLES == 0) begin : gen_ahead
      assign valid_o = valid_i;
      assign ready_o = ready_i;
      logic unused;
      assign unused = &{1'b0, clk_i, rst_i, start_i, holds_i};
    end else begin : gen_paced
      logic [16:0] wait_q;
      logic        open;
      assign open    = wait_q == '0 && !holds_i && !start_i;
      assign valid_o = valid_i && open;
      assign ready_o = ready_i && open;
      always_ff @(posedge clk_i) begin
        if (start_i || holds_i || (valid_o && ready_i)) wait_q <= 17'(CYCLES - LEAST);
        else if (wait_q != '0) wait_q <= wait_q - 1'b1;
        if (rst_i) wait_q <= '0;
      end
    end
  endgenerate

endmodule
