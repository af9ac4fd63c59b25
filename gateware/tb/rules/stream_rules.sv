// The rules of a stream, for benches: an offered beat stays as it is until it is taken, and the first and last beats of packets take turns.

module stream_rules #(
    // Bits of the beat besides `first` and `last`.
    parameter int WIDTH = 64
) (
    // Clock.
    input logic             clk_i,
    // Synchronous reset: no beat is offered, and no packet is in progress.
    input logic             rst_i,
    // The beat.
    input logic [WIDTH-1:0] word_i,
    // First beat of a packet.
    input logic             first_i,
    // Last beat of a packet.
    input logic             last_i,
    // There is a beat.
    input logic             valid_i,
    // The beat is taken.
    input logic             ready_i
);

  logic             waits_q;
  logic             begun_q;
  logic [WIDTH+1:0] beat_q;

  always @(posedge clk_i) begin
    if (!rst_i && waits_q && !valid_i) $fatal(1, "%m: a beat that was offered is withdrawn");
    if (!rst_i && waits_q && valid_i && {first_i, last_i, word_i} !== beat_q) $fatal(1, "%m: a beat that was offered changes");
    if (!rst_i && valid_i && first_i && begun_q) $fatal(1, "%m: a packet begins before the last beat of the packet in progress");
    if (!rst_i && valid_i && !first_i && !begun_q) $fatal(1, "%m: a packet begins without a first beat");
    waits_q <= valid_i && !ready_i && !rst_i;
    beat_q  <= {first_i, last_i, word_i};
    if (valid_i && ready_i) begun_q <= !last_i;
    if (rst_i) begun_q <= 1'b0;
  end

endmodule
