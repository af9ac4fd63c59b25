// Properties of the tag pool: no tag is given out twice, none is lost.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);
always_comb assume (free_tag_i < TAGS);
always_comb assume (!take_i || valid_o);

// The tags that are out, by the handshakes alone.
logic [TAGS-1:0] held_q;
always_ff @(posedge clk_i) begin
  if (free_i) held_q[free_tag_i] <= 1'b0;
  if (take_i) held_q[tag_o] <= 1'b1;
  if (rst_i) held_q <= '0;
end

always_comb if (started_q) begin
  no_tag_is_given_out_twice: assert (!valid_o || !held_q[tag_o]);
  only_usable_tags_are_given_out: assert (!valid_o || usable_i[tag_o]);
  tags_out_are_those_taken: assert (out_o == held_q);
  offer_is_its_tag: assert (offer_q == '0 || offer_q == {{TAGS - 1{1'b0}}, 1'b1} << tag_q);
  tag_exists: assert (tag_q < TAGS);
end

always_ff @(posedge clk_i) if (started_q && !$past(rst_i)) begin
  offered_tag_stays: assert (!$past(valid_o && !take_i) || !usable_i[$past(tag_o)] || (valid_o && $stable(tag_o)));
  free_tag_is_offered: assert (!$past((usable_i & ~held_q) != '0 && !valid_o) || !$stable(usable_i) || valid_o);
  all_out: cover (held_q == '1);
  tag_comes_again: cover ($past(held_q == '1) && free_i && $past(started_q));
end
