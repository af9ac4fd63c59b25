// A buffer of two words that breaks the paths of `valid`, `ready` and the data, and moves a word each cycle.

`include "require.svh"

module skid_buffer #(
    // Bits of a word.
    parameter int WIDTH = 64
) (
    // Clock.
    input  logic             clk_i,
    // Synchronous reset: the buffer is empty.
    input  logic             rst_i,
    // The word to take.
    input  logic [WIDTH-1:0] data_i,
    // There is a word to take.
    input  logic             valid_i,
    // The word is taken at the next edge; a register.
    output logic             ready_o,
    // The oldest word; a register.
    output logic [WIDTH-1:0] data_o,
    // There is a word; a register.
    output logic             valid_o,
    // The word is gone after the next edge.
    input  logic             ready_i
);

  `REQUIRE(gen_width, WIDTH >= 1, "skid_buffer: WIDTH is the number of bits of a word; it must be at least 1")

  logic [WIDTH-1:0] data_q;
  logic [WIDTH-1:0] spare_q;
  logic             valid_q;
  logic             full_q;

  assign ready_o = !full_q;
  assign data_o  = data_q;
  assign valid_o = valid_q;

  always_ff @(posedge clk_i) begin
    if (!valid_q || ready_i) begin
      data_q  <= full_q ? spare_q : data_i;
      valid_q <= full_q || valid_i;
      full_q  <= 1'b0;
    end else if (valid_i && !full_q) begin
      spare_q <= data_i;
      full_q  <= 1'b1;
    end
    if (rst_i) begin
      valid_q <= 1'b0;
      full_q  <= 1'b0;
    end
  end

  `STAYS(offer, WIDTH, data_o, valid_o, ready_i, 1'b0)

`ifdef FORMAL
  `include "skid_buffer.svh"
`endif

endmodule
