// A FIFO with one clock. The oldest word stands in a register, so the memory can be a block RAM; a word is out two edges after it came in.

`include "require.svh"

module fifo #(
    // Bits of a word.
    parameter int WIDTH = 64,
    // Words of the memory, a power of two; the output register holds one more.
    parameter int DEPTH = 16
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset: the FIFO is empty.
    input  logic                   rst_i,
    // The word to take.
    input  logic [WIDTH-1:0]       data_i,
    // There is a word to take.
    input  logic                   valid_i,
    // The word is taken at the next edge.
    output logic                   ready_o,
    // The oldest word; a register.
    output logic [WIDTH-1:0]       data_o,
    // There is a word; a register.
    output logic                   valid_o,
    // The word is gone after the next edge.
    input  logic                   ready_i,
    // Words in the memory, without the one in the output register.
    output logic [$clog2(DEPTH):0] level_o
);

  localparam int BITS = $clog2(DEPTH);

  `REQUIRE(gen_width, WIDTH >= 1, "fifo: WIDTH is the number of bits of a word; it must be at least 1")
  `REQUIRE(gen_depth, DEPTH >= 2 && DEPTH == 1 << BITS, "fifo: DEPTH is the number of words; it must be a power of two, at least 2")

  logic [WIDTH-1:0] memory_q[DEPTH];
  logic [WIDTH-1:0] data_q;
  logic [BITS:0]    write_q;
  logic [BITS:0]    read_q;
  logic             valid_q;
  logic             push;
  logic             fetch;

  assign level_o = write_q - read_q;
  assign ready_o = !level_o[BITS];
  assign data_o  = data_q;
  assign valid_o = valid_q;
  assign push    = valid_i && ready_o;
  assign fetch   = level_o != '0 && (!valid_q || ready_i);

  always_ff @(posedge clk_i) begin
    if (push) memory_q[write_q[BITS-1:0]] <= data_i;
    if (fetch) data_q <= memory_q[read_q[BITS-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (push) write_q <= write_q + 1'b1;
    if (fetch) read_q <= read_q + 1'b1;
    if (fetch) valid_q <= 1'b1;
    else if (ready_i) valid_q <= 1'b0;
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
      valid_q <= 1'b0;
    end
  end

  `RULE(level_o <= (BITS + 1)'(DEPTH), "the memory holds more words than it has places")
  `STAYS(offer, WIDTH, data_o, valid_o, ready_i, 1'b0)

`ifdef FORMAL
  `include "fifo.svh"
`endif

endmodule
