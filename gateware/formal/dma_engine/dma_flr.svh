// Properties of the function-level reset: the engine is reset only while nothing is sent and no read is open, and the reset ends in time.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// Reads that have left, at most as many as there are tags, and those of them that end. While no packet may begin, one that has begun may be a
// read; then nothing is sent any more.
logic [7:0] flight_q;
logic [7:0] ending;
logic       quiet_q;
assign ending = 8'(ends_i[0]) + 8'(ends_i[1]) + 8'(ends_i[2]);
always_ff @(posedge clk_i) begin
  flight_q <= rst_i || clear_o ? '0 : flight_q + 8'(read_i) - ending;
  quiet_q  <= !rst_i && stop_o && !sending_i && !read_i;
end
always_comb begin
  assume (ending <= flight_q);
  assume (!read_i || flight_q < 8'd66);
  assume (!read_i || sending_i);
  if (quiet_q) assume (!sending_i);
end
// The hard block ends the reset of the function when the engine is ready, and begins the next one behind it.
always_ff @(posedge clk_i) if (started_q && !$past(rst_i)) begin
  if ($past(flr_i && !done_o)) assume (flr_i);
  if ($past(!flr_i && done_o)) assume (!flr_i);
end

logic [7:0] idle_q;
always_ff @(posedge clk_i) idle_q <= rst_i || !flr_i || done_o || sending_i || flight_q != '0 ? '0 : idle_q + 1'b1;

always_comb if (started_q && !rst_i) begin
  the_count_is_that_of_open_reads: assert (clear_o || open_q == flight_q);
  at_most_a_read_of_each_tag_is_open: assert (flight_q <= 8'd66);
  nothing_begins_in_a_reset: assert (!clear_o || stop_o);
  a_reset_ends_in_time: assert (idle_q <= (state_q == WORKS ? 8'd0 : state_q == DRAINS ? 8'd1 : 8'(CYCLES + 1) + 8'(state_q == DONE) - (state_q == CLEARS ? left_q : 8'd0)));
  a_reset_has_its_length: assert (state_q != CLEARS || left_q < 8'(CYCLES));
end

always_ff @(posedge clk_i) if (started_q && !$past(rst_i) && !rst_i) begin
  nothing_is_cut_off: assert (!clear_o || $past(clear_o) || $past(!sending_i && !read_i && flight_q == '0));
  the_end_stays: assert (!$past(done_o && flr_i) || done_o);
  without_a_reset_nothing_stops: assert (flr_i || $past(flr_i) || !stop_o || $past(stop_o));
  a_reset_begins_and_ends: cover ($past(done_o) && !done_o);
  a_reset_waits: cover (done_o && $past(flight_q, 9) == 8'd2);
end
