// Gives the words of a stream out in pieces of 0 to 8 bytes. A word is taken with its first byte.

module user_window (
    // Clock.
    input  logic        clk_i,
    // A transfer begins with the first byte of the next word.
    input  logic        start_i,
    // The next word.
    input  logic [63:0] data_i,
    // There is a word.
    input  logic        valid_i,
    // The word is taken.
    output logic        ready_o,
    // The next bytes, from lane 0 on.
    output logic [63:0] data_o,
    // Number of bytes that are promised: the stream does not pause within a transfer.
    output logic [12:0] level_o,
    // Number of bytes to remove at the next edge, 0 to 8.
    input  logic [3:0]  pop_i
);

  // The word that was taken last, and how many of its bytes were given out.
  logic [63:0]  word_q;
  logic [3:0]   phase_q;
  logic [4:0]   reach;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] both;
  /* verilator lint_on UNUSEDSIGNAL */

  assign reach   = {1'b0, phase_q} + {1'b0, pop_i};
  assign ready_o = reach > 5'd8;
  assign both    = {data_i, word_q} >> {phase_q, 3'b0};
  assign data_o  = both[63:0];
  assign level_o = valid_i ? 13'(peerlane_pkg::MOST_PAYLOAD) : '0;

  always_ff @(posedge clk_i) begin
    if (ready_o) word_q <= data_i;
    phase_q <= start_i ? 4'd8 : ready_o ? reach[3:0] - 4'd8 : reach[3:0];
  end

`ifndef YOSYS
  always @(posedge clk_i) begin
    assert (ready_o !== 1'b1 || valid_i === 1'b1) else $error("dma_engine: TX or EP_TX paused within a packet; without FIFOs tvalid must stay high");
  end
`endif

endmodule
