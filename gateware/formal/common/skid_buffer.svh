// Properties of the skid buffer: words come out in order, unchanged, and none is lost.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// One word is marked when it goes in; `ahead_q` counts the words before it.
(* anyseq *) logic mark;
logic             marked_q;
logic             ahead_q;
logic [WIDTH-1:0] word_q;
logic             enters;
logic             leaves;
assign enters = valid_i && ready_o;
assign leaves = valid_o && ready_i;

always_ff @(posedge clk_i) begin
  if (mark && enters && !marked_q) begin
    marked_q <= 1'b1;
    word_q   <= data_i;
    ahead_q  <= valid_q && !leaves;
  end else if (marked_q && leaves) begin
    if (ahead_q) ahead_q <= 1'b0;
    else marked_q <= 1'b0;
  end
  if (rst_i) marked_q <= 1'b0;
end

always_comb if (started_q) begin
  oldest_word_is_the_marked_one: assert (!marked_q || ahead_q || (valid_o && data_o == word_q));
  marked_word_waits: assert (!marked_q || !ahead_q || (full_q && spare_q == word_q));
  spare_only_behind_a_word: assert (!full_q || valid_q);
end

always_ff @(posedge clk_i) if (started_q && !$past(rst_i)) begin
  offered_word_stays: assert (!$past(valid_o && !ready_i) || (valid_o && $stable(data_o)));
  full: cover (!ready_o);
  full_then_empty: cover ($past(!ready_o, 3) && $past(started_q, 3) && !valid_o);
end
