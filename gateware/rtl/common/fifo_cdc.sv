// A FIFO between two clocks. Only gray pointers cross, through two registers each; docs/reference/circuit-ports.md has their constraints.

`include "require.svh"

module fifo_cdc #(
    // Bits of a word.
    parameter int WIDTH = 64,
    // Words of the memory, a power of two; the output register holds one more.
    parameter int DEPTH = 16
) (
    // Clock of the side that writes.
    input  logic             write_clk_i,
    // Reset of that side, synchronous to its clock. Both resets must be active together for three cycles of the slower clock.
    input  logic             write_rst_i,
    // The word to take.
    input  logic [WIDTH-1:0] data_i,
    // There is a word to take.
    input  logic             valid_i,
    // The word is taken at the next edge of the writing clock.
    output logic             ready_o,
    // Clock of the side that reads.
    input  logic             read_clk_i,
    // Reset of that side, synchronous to its clock.
    input  logic             read_rst_i,
    // The oldest word; a register of the reading clock.
    output logic [WIDTH-1:0] data_o,
    // There is a word; a register of the reading clock.
    output logic             valid_o,
    // The word is gone after the next edge of the reading clock.
    input  logic             ready_i
);

  localparam int BITS = DEPTH < 4 ? 2 : $clog2(DEPTH);

  `REQUIRE(gen_width, WIDTH >= 1, "fifo_cdc: WIDTH is the number of bits of a word; it must be at least 1")
  `REQUIRE(gen_depth, DEPTH >= 4 && DEPTH == 1 << BITS, "fifo_cdc: DEPTH is the number of words; it must be a power of two, at least 4")

  logic [WIDTH-1:0] memory_q[DEPTH];

  // The writing side: its pointer, and the gray pointer of the reading side, two edges old.
  logic [BITS:0] write_q;
  logic [BITS:0] write_gray_q;
  logic [BITS:0] write_d;
  (* ASYNC_REG = "TRUE" *) logic [BITS:0] read_seen_q;
  (* ASYNC_REG = "TRUE" *) logic [BITS:0] read_seen_2_q;
  logic          push;

  // The reading side.
  logic [BITS:0]    read_q;
  logic [BITS:0]    read_gray_q;
  logic [BITS:0]    read_d;
  (* ASYNC_REG = "TRUE" *) logic [BITS:0] write_seen_q;
  (* ASYNC_REG = "TRUE" *) logic [BITS:0] write_seen_2_q;
  logic [WIDTH-1:0] data_q;
  logic             valid_q;
  logic             fetch;

  // Full: the pointers are DEPTH apart, which in gray code inverts the two highest bits.
  assign ready_o = write_gray_q != {~read_seen_2_q[BITS:BITS-1], read_seen_2_q[BITS-2:0]};
  assign push    = valid_i && ready_o;
  assign write_d = write_q + {{BITS{1'b0}}, push};

  always_ff @(posedge write_clk_i) begin
    if (push) memory_q[write_q[BITS-1:0]] <= data_i;
  end

  always_ff @(posedge write_clk_i) begin
    write_q       <= write_d;
    write_gray_q  <= write_d ^ (write_d >> 1);
    read_seen_q   <= read_gray_q;
    read_seen_2_q <= read_seen_q;
    if (write_rst_i) begin
      write_q       <= '0;
      write_gray_q  <= '0;
      read_seen_q   <= '0;
      read_seen_2_q <= '0;
    end
  end

  assign fetch   = read_gray_q != write_seen_2_q && (!valid_q || ready_i);
  assign read_d  = read_q + {{BITS{1'b0}}, fetch};
  assign data_o  = data_q;
  assign valid_o = valid_q;

  always_ff @(posedge read_clk_i) begin
    if (fetch) data_q <= memory_q[read_q[BITS-1:0]];
  end

  always_ff @(posedge read_clk_i) begin
    read_q         <= read_d;
    read_gray_q    <= read_d ^ (read_d >> 1);
    write_seen_q   <= write_gray_q;
    write_seen_2_q <= write_seen_q;
    if (fetch) valid_q <= 1'b1;
    else if (ready_i) valid_q <= 1'b0;
    if (read_rst_i) begin
      read_q         <= '0;
      read_gray_q    <= '0;
      write_seen_q   <= '0;
      write_seen_2_q <= '0;
      valid_q        <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "fifo_cdc.svh"
`endif

endmodule
