// Properties of the reorder buffer: requests leave in the order in which they were opened, each with its bytes and its result.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb assume (rst_i == !started_q);

// Tags that are open, those whose request has ended, and the place that was written last. A tag is open once; its data comes in order and
// before its end, of up to three beats; an end without data may come at any time.
logic [SLOTS-1:0]      held_q;
logic [SLOTS-1:0]      over_q;
logic [SLOTS-1:0]      wrote_some_q;
logic [PLACE_BITS-1:0] at_q[SLOTS];
logic                  some;
logic [PLACE_BITS-1:0] at;
logic [PLACE_BITS-1:0] farthest;
assign some     = write_i && write_tag_i == end_tag_i || wrote_some_q[end_tag_i];
assign at       = at_q[write_tag_i];
assign farthest = write_i && write_tag_i == end_tag_i ? write_place_i : at_q[end_tag_i];
always_ff @(posedge clk_i) begin
  if (free_o) held_q[free_tag_o] <= 1'b0;
  if (end_i) over_q[end_tag_i] <= 1'b1;
  if (write_i) wrote_some_q[write_tag_i] <= 1'b1;
  if (write_i) at_q[write_tag_i] <= write_place_i;
  if (open_valid_i) held_q[open_tag_i] <= 1'b1;
  if (open_valid_i) over_q[open_tag_i] <= 1'b0;
  if (open_valid_i) wrote_some_q[open_tag_i] <= 1'b0;
  if (open_valid_i) at_q[open_tag_i] <= '0;
  if (rst_i) held_q <= '0;
end
always_comb begin
  assume (!open_valid_i || !held_q[open_tag_i]);
  assume (!write_i || held_q[write_tag_i] && !over_q[write_tag_i]);
  assume (!write_i || write_place_i <= (PLACE_BITS)'(2) && (write_place_i == at || wrote_some_q[write_tag_i] && write_place_i == at + 1'b1));
  assume (!end_i || held_q[end_tag_i] && !over_q[end_tag_i]);
  assume (!end_i || end_bytes_i == '0 || some && end_bytes_i > 13'({farthest, {BITS{1'b0}}}) && end_bytes_i <= 13'({farthest, {BITS{1'b0}}}) + 13'(N));
end

// One request is marked when it is opened; `ahead_q` counts the requests before it. Of its bytes any one is watched.
(* anyseq *) logic mark;
(* anyconst *) logic [PLACE_BITS+BITS-1:0] spot;
logic                marked_q;
logic [TAG_BITS-1:0] tag_q;
logic [TAG_BITS+1:0] inside_q;
logic [TAG_BITS+1:0] ahead_q;
logic                ended_here_q;
logic                freed_q;
logic [12:0]         size_q;
logic [2:0]          as_q;
logic                wrote_q;
logic [7:0]          byte_q;
logic [12:0]         given_q;
logic [2:0]          waits_q;
logic                moves;
logic                leaves;
logic                mine;
logic [12:0]         in_beat;
assign moves   = valid_o && ready_i;
assign leaves  = moves && last_o;
assign mine    = marked_q && ahead_q == '0;
assign in_beat = 13'(spot) - given_q;

always_ff @(posedge clk_i) begin
  inside_q <= inside_q + (TAG_BITS + 2)'(open_valid_i) - (TAG_BITS + 2)'(leaves);
  if (mark && open_valid_i && !marked_q) begin
    marked_q     <= 1'b1;
    tag_q        <= open_tag_i;
    ahead_q      <= inside_q - (TAG_BITS + 2)'(leaves);
    ended_here_q <= 1'b0;
    freed_q      <= 1'b0;
    wrote_q      <= 1'b0;
    given_q      <= '0;
  end else if (marked_q) begin
    if (leaves && ahead_q != '0) ahead_q <= ahead_q - 1'b1;
    if (mine && moves) given_q <= given_q + 13'(N);
    if (mine && leaves) marked_q <= 1'b0;
    if (free_o && free_tag_o == tag_q) freed_q <= 1'b1;
    if (write_i && write_tag_i == tag_q && !freed_q && {write_place_i, {BITS{1'b0}}} == {spot[PLACE_BITS+BITS-1:BITS], {BITS{1'b0}}} && write_lanes_i[spot[BITS-1:0]]) begin
      wrote_q <= 1'b1;
      byte_q  <= write_data_i[8*spot[BITS-1:0]+:8];
    end
    if (end_i && end_tag_i == tag_q && !freed_q) begin
      ended_here_q <= 1'b1;
      size_q       <= end_bytes_i;
      as_q         <= end_result_i;
    end
  end
  waits_q <= mine && ended_here_q && !valid_o ? waits_q + 1'b1 : '0;
  if (rst_i) begin
    inside_q <= '0;
    marked_q <= 1'b0;
    waits_q  <= '0;
  end
end

always_comb if (started_q) begin
  there_is_a_place_for_each_tag: assert (open_ready_o);
  a_tag_comes_back_after_its_end: assert (!free_o || held_q[free_tag_o] && over_q[free_tag_o]);
  a_request_leaves_whole_after_its_end: assert (!(mine && valid_o && last_o) || ended_here_q);
  the_first_beat_is_marked: assert (!(mine && valid_o) || first_o == (given_q == '0));
  the_last_beat_is_marked:
  assert (!(mine && valid_o) || (last_o ? size_q <= given_q + 13'(N) : !(ended_here_q && size_q != '0 && size_q <= given_q + 13'(N))));
  a_beat_has_its_number_of_bytes:
  assert (!(mine && valid_o) || bytes_o == (!last_o ? (BITS + 1)'(N) : size_q > given_q ? (BITS + 1)'(size_q - given_q) : '0));
  a_beat_has_its_bytes: assert (!(mine && valid_o && wrote_q && in_beat < 13'(bytes_o)) || data_o[8*in_beat[BITS-1:0]+:8] == byte_q);
  a_request_has_its_result:
  assert (!(mine && valid_o) || result_o == as_q && ended_here_q || result_o == peerlane_pkg::RESULT_SUCCESSFUL && !last_o);
  an_ended_request_is_not_lost: assert (waits_q < 3'd3);
  a_beat_leaves_before_the_end: cover (mine && moves && tag_q == 1 && !ended_here_q && inside_q == 2);
  two_beats_of_the_second_request: cover (mine && tag_q == 1 && inside_q == 2 && leaves && wrote_q && given_q == 13'(N));
end
