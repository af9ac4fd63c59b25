// Properties of the reading unit: no tag is twice in flight, nothing is read outside the ranges, every request is waited for.
//
// Tag pool, reassembly and reorder buffer are cut off; in their place are assumptions on their ports. The pool's is proven on its own.
// The memories of times and sizes are cut off too: a request may time out whenever it is out.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// Tags that the pool has given, those that have ended, and those whose request has left and not ended; ended requests not given out.
logic [TAGS-1:0] held_q;
logic [TAGS-1:0] ended_q;
logic [TAGS-1:0] flight_q;
logic [BITS+1:0] given_q;
logic [BITS+1:0] opened;
logic [BITS+1:0] kept;
logic            gives;
assign gives = back_moves && back_last;

always_ff @(posedge clk_i) begin
  if (free) held_q[free_tag] <= 1'b0;
  if (lands || expires) ended_q[expires ? look_q : end_tag] <= 1'b1;
  if (lands || expires) flight_q[expires ? look_q : end_tag] <= 1'b0;
  if (request_q && leaves) flight_q[tag_q] <= 1'b1;
  if (loads) held_q[tag] <= 1'b1;
  if (loads) ended_q[tag] <= 1'b0;
  given_q <= given_q + (BITS + 2)'(lands || expires) - (BITS + 2)'(gives);
  if (rst_i) begin
    held_q   <= '0;
    ended_q  <= '0;
    flight_q <= '0;
    given_q  <= '0;
  end
end

always_comb begin
  opened = '0;
  kept   = '0;
  for (int k = 0; k < TAGS; k = k + 1) opened = opened + (BITS + 2)'(open_q[k]);
  for (int k = 0; k < TAGS; k = k + 1) kept = kept + (BITS + 2)'(held_q[k] && ended_q[k]);
end

// The pool gives no tag that is held. The reorder buffer frees a tag that has ended, and gives out a last beat of a request that has
// ended, as many as there are; the last beat of a tag that is free may still be in its register.
always_comb begin
  assume (!tag_valid || !held_q[tag]);
  assume (!free || (held_q[free_tag] && ended_q[free_tag]));
  assume (!(back_valid && back_last) || given_q != '0);
  assume (given_q <= kept + (BITS + 2)'(1));
end

// Any one byte of memory, and whether a range that the unit took has it.
(* anyconst *) logic [63:0] spot;
logic        granted_q;
logic        takes;
logic [13:0] in_page;
logic [64:0] reach;
assign takes   = range_valid_i && range_ready_o;
assign in_page = {2'b0, address_q[11:0]} + {1'b0, size_q};
assign reach   = {1'b0, address_i} + {33'b0, length_i};

always_ff @(posedge clk_i) begin
  if (takes && spot - address_i < {32'b0, length_i}) granted_q <= 1'b1;
  if (start_i || rst_i) granted_q <= 1'b0;
end

always_comb begin
  assume (!start_i || !busy_o);
  assume (!range_valid_i || length_i != '0 && (!reach[64] || reach[63:0] == '0));
end

always_comb if (started_q && !rst_i) begin
  open_requests_are_held_and_have_not_ended: assert (open_q == (held_q & ~ended_q));
  requests_in_flight_are_open: assert ((flight_q & ~open_q) == '0);
  a_request_that_waits_is_open: assert (!request_q || open_q[tag_q]);
  a_request_that_waits_was_not_sent: assert (!request_q || !sent_q[tag_q]);
  no_tag_is_twice_in_flight: assert (!request_q || !flight_q[tag_q]);
  rest_is_within_the_ranges: assert (spot - rest_address_q >= {32'b0, rest_q} || granted_q);
  rest_ends_within_the_addresses: assert (rest_q == '0 || rest_address_q + {32'b0, rest_q} - 64'd1 >= rest_address_q);
  nothing_is_read_outside_the_ranges: assert (!(request_q && spot - address_q < {51'b0, size_q}) || granted_q);
  a_request_stays_in_its_page: assert (!request_q || in_page <= 14'd4096);
  an_idle_unit_asks_for_nothing: assert (busy_q || rest_q == '0 && !request_q);
  requests_are_counted: assert ({1'b0, open_count_q} == opened + given_q);
  nothing_is_in_flight_at_the_end: assert (!done_o || flight_q == '0);
  a_read_ends: cover (done_o && !failed_o && size_q == 13'd7);
  all_tags_in_flight: cover (flight_q == '1);
end
