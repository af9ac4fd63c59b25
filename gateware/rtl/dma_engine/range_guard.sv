// Lets ranges pass to a unit, up to the first one that ends beyond 64 bits of address: there the list stops with an error. Ranges without a
// byte are left out. A range is there two edges after it came.

`include "require.svh"

module range_guard (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // A transfer begins.
    input  logic        start_i,
    // No further range is wanted. Stays until a transfer begins.
    input  logic        stop_i,
    // First address of a range.
    input  logic [63:0] address_i,
    // Number of bytes of the range.
    input  logic [31:0] length_i,
    // There is a range.
    input  logic        valid_i,
    // The range is taken.
    output logic        ready_o,
    // First address of a range that may be worked on; a register.
    output logic [63:0] address_o,
    // Number of bytes of the range, at least 1; a register.
    output logic [31:0] length_o,
    // There is a range that may be worked on; a register.
    output logic        valid_o,
    // The range is taken.
    input  logic        ready_i,
    // No range is here.
    output logic        empty_o,
    // A range of the transfer is not possible; the list stops until the next transfer begins. A register.
    output logic        failed_o
);

  // The range that is looked at, and the one that may be worked on.
  logic [63:0] next_address_q;
  logic [31:0] next_length_q;
  logic        next_q;
  logic [63:0] address_q;
  logic [31:0] length_q;
  logic        valid_q;
  logic        failed_q;
  logic [32:0] reach;
  logic        is_empty;
  logic        overflows;
  logic        free;

  // A range is shorter than 2**32 bytes: it reaches beyond 64 bits from their last part alone, and may end exactly at the last address.
  assign reach     = {1'b0, next_address_q[31:0]} + {1'b0, next_length_q};
  assign overflows = next_address_q[63:32] == '1 && reach[32] && reach[31:0] != '0;
  assign is_empty  = next_length_q == '0;
  assign free      = !valid_q || ready_i;
  assign ready_o   = !next_q || free || is_empty;
  assign address_o = address_q;
  assign length_o  = length_q;
  assign valid_o   = valid_q;
  assign empty_o   = !next_q && !valid_q;
  assign failed_o  = failed_q;

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      next_address_q <= address_i;
      next_length_q  <= length_i;
      next_q         <= valid_i;
    end
    if (free) begin
      address_q <= next_address_q;
      length_q  <= next_length_q;
      valid_q   <= next_q && !is_empty && !overflows && !failed_q;
    end
    if (free && next_q && overflows) failed_q <= 1'b1;
    if (failed_q || stop_i) next_q <= 1'b0;
    if (stop_i) valid_q <= 1'b0;
    if (start_i || rst_i) begin
      next_q   <= 1'b0;
      valid_q  <= 1'b0;
      failed_q <= 1'b0;
    end
  end

  `STAYS(offer, 64 + 32, {address_o, length_o}, valid_o, ready_i, stop_i || start_i)

`ifdef FORMAL
  `include "range_guard.svh"
`endif

endmodule
