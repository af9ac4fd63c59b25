// A source that never stalls: 64-bit words, each the one before plus a constant, given out in pieces of 0 to 8 bytes.

module pattern_source (
    // Clock.
    input  logic        clk_i,
    // The first word.
    input  logic [63:0] start_i,
    // A transfer begins: the next byte is the first one of the first word.
    input  logic        load_i,
    // The next bytes, from lane 0 on.
    output logic [63:0] data_o,
    // Number of bytes to remove at the next edge, 0 to 8.
    input  logic [3:0]  pop_i
);

  logic [63:0] word_q;
  logic [63:0] next_q;
  logic [2:0]  phase_q;
  logic [3:0]  reach;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] both;
  /* verilator lint_on UNUSEDSIGNAL */

  assign reach = {1'b0, phase_q} + pop_i;

  // With phase 0 nothing of the next word is in the window: it is above it.
  assign both   = {next_q, word_q} >> {phase_q, 3'b0};
  assign data_o = both[63:0];

  always_ff @(posedge clk_i) begin
    if (reach[3] || load_i) begin
      word_q <= load_i ? start_i : next_q;
      next_q <= (load_i ? start_i : next_q) + peerlane_pkg::PATTERN_STEP;
    end
    phase_q <= load_i ? '0 : reach[2:0];
  end

endmodule
