// Lets ranges pass to a unit, up to the first one that ends beyond 64 bits of address: there the list stops with an error.

module range_guard (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // A transfer begins.
    input  logic        start_i,
    // First address of the range.
    input  logic [63:0] address_i,
    // Number of bytes of the range, at least 1.
    input  logic [31:0] length_i,
    // There is a range.
    input  logic        valid_i,
    // There is a range that may be worked on.
    output logic        valid_o,
    // A range of the transfer cannot be; the list stops until the next transfer begins.
    output logic        failed_o
);

  logic [64:0] reach;
  logic        failed_q;

  // A range may end exactly at the last address.
  assign reach    = {1'b0, address_i} + {33'b0, length_i};
  assign valid_o  = valid_i && !failed_o;
  assign failed_o = failed_q || (valid_i && reach[64] && reach[63:0] != '0);

  always_ff @(posedge clk_i) begin
    failed_q <= failed_o && !start_i;
    if (rst_i) failed_q <= 1'b0;
  end

endmodule
