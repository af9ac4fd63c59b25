// A source that never stalls: 64-bit words, each the one before plus a constant.

module pattern_source (
    // Clock.
    input  logic        clk_i,
    // A transfer begins: the next word is the first one. A pulse.
    input  logic        start_i,
    // The first word.
    input  logic [63:0] first_i,
    // The next word.
    output logic [63:0] tdata,
    // There is always one.
    output logic        tvalid,
    // The word is taken.
    input  logic        tready
);

  logic [63:0] word_q;

  assign tdata  = word_q;
  assign tvalid = 1'b1;

  always_ff @(posedge clk_i) begin
    if (start_i) word_q <= first_i;
    else if (tready) word_q <= word_q + peerlane_pkg::PATTERN_STEP;
  end

endmodule
