// Properties of the FIFO with one clock: words come out in order, unchanged, and none is lost or written over.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// One word is marked when it goes in; `ahead_q` counts the words before it.
(* anyseq *) logic mark;
logic             marked_q;
logic [BITS+1:0]  ahead_q;
logic [WIDTH-1:0] word_q;
logic             enters;
logic             leaves;
logic [BITS+1:0]  inside;
logic [BITS:0]    place;
assign enters = valid_i && ready_o;
assign leaves = valid_o && ready_i;
assign inside = {1'b0, level_o} + {{BITS + 1{1'b0}}, valid_q};
assign place  = read_q + ahead_q[BITS:0] - {{BITS{1'b0}}, valid_q};

always_ff @(posedge clk_i) begin
  if (mark && enters && !marked_q) begin
    marked_q <= 1'b1;
    word_q   <= data_i;
    ahead_q  <= inside - {{BITS + 1{1'b0}}, leaves};
  end else if (marked_q && leaves) begin
    if (ahead_q != '0) ahead_q <= ahead_q - 1'b1;
    else marked_q <= 1'b0;
  end
  if (rst_i) marked_q <= 1'b0;
end

always_comb if (started_q) begin
  oldest_word_is_the_marked_one: assert (!(marked_q && ahead_q == '0 && valid_o) || data_o == word_q);
  marked_word_waits:
  assert (!marked_q || ahead_q < inside && (ahead_q == '0 && valid_q || memory_q[place[BITS-1:0]] == word_q));
  memory_is_not_overfull: assert (level_o <= DEPTH);
end

always_ff @(posedge clk_i) if (started_q && !$past(rst_i)) begin
  offered_word_stays: assert (!$past(valid_o && !ready_i) || (valid_o && $stable(data_o)));
  word_is_offered_in_time: assert (!$past(level_o != '0 && ready_i) || valid_o);
  full: cover (!ready_o && valid_o);
  full_then_empty: cover ($past(!ready_o) && level_o == DEPTH - 1 && write_q[BITS]);
end
