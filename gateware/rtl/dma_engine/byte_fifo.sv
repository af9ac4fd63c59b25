// A FIFO of bytes: takes and gives 0 to 8 bytes in a cycle, at any alignment. Eight banks of one byte hold them in turn.

`include "require.svh"

module byte_fifo #(
    // Capacity in bytes, a power of two.
    parameter int BYTES = 4096
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset: the FIFO is empty.
    input  logic                   rst_i,
    // Bytes to take, from lane 0 on.
    input  logic [63:0]            data_i,
    // Number of bytes, 1 to 8.
    input  logic [3:0]             bytes_i,
    // There are bytes to take.
    input  logic                   valid_i,
    // The bytes are taken: there is space for eight.
    output logic                   ready_o,
    // The oldest bytes, from lane 0 on.
    output logic [63:0]            data_o,
    // Number of bytes in the FIFO; a register.
    output logic [$clog2(BYTES):0] level_o,
    // Number of bytes to remove at the next edge, 0 to 8; no more than there are.
    input  logic [3:0]             pop_i
);

  localparam int BITS = $clog2(BYTES);

  `REQUIRE(gen_bytes, BYTES >= 16 && BYTES == 1 << BITS, "byte_fifo: BYTES is the capacity; it must be a power of two, at least 16")

  logic [BITS:0] write_q;
  logic [BITS:0] read_q;
  logic [BITS:0] level_q;
  logic          push;
  logic [63:0]   placed;
  logic [63:0]   found;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0]  doubled;
  logic [127:0]  both;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [7:0]    fresh;

  assign level_o = level_q;
  assign ready_o = level_q <= (BITS + 1)'(BYTES - 8);
  assign push    = valid_i && ready_o;
  assign fresh   = ~(8'hff << bytes_i);

  // Turned so that byte 0 stands at the lane of the pointer, and back.
  assign doubled = {data_i, data_i} << {write_q[2:0], 3'b0};
  assign placed  = doubled[127:64];
  assign both    = {found, found} >> {read_q[2:0], 3'b0};
  assign data_o  = both[63:0];

  for (genvar k = 0; k < 8; k = k + 1) begin : gen_bank
    logic [7:0]      memory_q[BYTES/8];
    logic [2:0]      from;
    logic [BITS-4:0] write_row;
    logic [BITS-4:0] read_row;
    assign from      = 3'(k) - write_q[2:0];
    assign write_row = (BITS - 3)'((write_q[BITS-1:0] + BITS'(7 - k)) >> 3);
    assign read_row  = (BITS - 3)'((read_q[BITS-1:0] + BITS'(7 - k)) >> 3);
    assign found[8*k+:8] = memory_q[read_row];
    always_ff @(posedge clk_i) begin
      if (push && fresh[from]) memory_q[write_row] <= placed[8*k+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) write_q <= write_q + (BITS + 1)'(bytes_i);
    read_q  <= read_q + (BITS + 1)'(pop_i);
    level_q <= level_q + (push ? (BITS + 1)'(bytes_i) : '0) - (BITS + 1)'(pop_i);
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
      level_q <= '0;
    end
  end

  `RULE(!valid_i || (bytes_i >= 4'd1 && bytes_i <= 4'd8), "a piece has 1 to 8 bytes")
  `RULE((BITS + 1)'(pop_i) <= level_q, "more bytes are removed than there are")
  `RULE(level_q <= (BITS + 1)'(BYTES), "there are more bytes than places")

endmodule
