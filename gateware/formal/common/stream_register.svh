// Properties of the register in a stream: beats come out in order, unchanged, and none is lost.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// A beat as one word, and the one that was taken last and has not left.
localparam int WORD = W + $clog2(W / 8) + 3;
logic [WORD-1:0] in;
logic [WORD-1:0] out;
logic [WORD-1:0] word_q;
logic            inside_q;
assign in  = {last_i, first_i, bytes_i, data_i};
assign out = {last_o, first_o, bytes_o, data_o};
always_ff @(posedge clk_i) begin
  if (valid_i && ready_o) word_q <= in;
  inside_q <= valid_i && ready_o || inside_q && !(valid_o && ready_i);
  if (rst_i) inside_q <= 1'b0;
end

always_comb if (started_q && !rst_i) begin
  a_beat_that_was_taken_is_offered: assert (valid_o == inside_q);
  a_beat_is_unchanged: assert (!valid_o || out == word_q);
  a_beat_is_taken_where_there_is_none: assert (valid_o || ready_o);
  no_beat_is_written_over: assert (!(valid_o && !ready_i) || !ready_o);
  a_beat_each_cycle: cover (valid_o && ready_i && valid_i && ready_o);
end
