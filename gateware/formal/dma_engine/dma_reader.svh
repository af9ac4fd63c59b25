// Properties of the reading unit: no tag is twice in flight, nothing is read outside the ranges, every request is waited for.
//
// Splitter, tag pool, reassembly and reorder buffer are cut off; in their place are assumptions on their ports. The assumptions about
// splitter and pool are proven separately.
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
  if (lands || expires) ended_q[expires ? late_tag_q : end_tag] <= 1'b1;
  if (lands || expires) flight_q[expires ? late_tag_q : end_tag] <= 1'b0;
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

// The rest of the range that the splitter has, and the request that waits, as the splitter cut it.
logic [31:0] rest_q;
logic [63:0] address_q;
logic [12:0] size_q;
logic [12:0] dwords_of;
logic [127:0] fields;
logic        takes;
assign takes     = range_valid_i && range_ready_o;
assign dwords_of = (size_q + {11'b0, address_q[1:0]} + 13'd3) >> 2;
assign fields    = peerlane_pkg::wire_order(header);

always_ff @(posedge clk_i) begin
  if (loads) begin
    rest_q    <= rest_q - {19'b0, take};
    address_q <= next_address;
    size_q    <= take;
  end
  if (takes) rest_q <= length_i;
  if (failed_q && busy_q || rst_i) rest_q <= '0;
end

always_comb begin
  assume (!start_i || !busy_o);
  assume (!range_valid_i || length_i != '0);
  assume (cutting == (rest_q != '0));
  assume (!next || cutting && take != '0 && take <= 13'd4096 && {19'b0, take} <= rest_q && next_last == ({19'b0, take} == rest_q));
  assume (cutter_ready == (!cutting || loads && next_last));
end

always_comb if (started_q && !rst_i) begin
  open_requests_are_held_and_have_not_ended: assert (open_q == (held_q & ~ended_q));
  requests_in_flight_are_open: assert ((flight_q & ~open_q) == '0);
  a_request_that_waits_is_open: assert (!request_q || open_q[tag_q]);
  a_request_that_waits_was_not_sent: assert (!request_q || !sent_q[tag_q]);
  no_tag_is_twice_in_flight: assert (!request_q || !flight_q[tag_q]);
  an_idle_unit_asks_for_nothing: assert (busy_q || rest_q == '0 && !request_q);
  a_request_leaves_as_it_was_cut:
  assert (!request_q || dwords == dwords_of[10:0] && fields[peerlane_pkg::REQUEST_TAG+:8] == 8'(tag_q)
      && (wide ? fields[peerlane_pkg::WIDE_ADDRESS+:62] == address_q[63:2] : address_q[63:32] == '0 && fields[peerlane_pkg::SHORT_ADDRESS+:30] == address_q[31:2]));
  requests_are_counted: assert ({1'b0, open_count_q} == opened + given_q);
  nothing_is_in_flight_at_the_end: assert (!done_o || flight_q == '0);
  a_read_ends: cover (done_o && !failed_o && size_q == 13'd7);
  all_tags_in_flight: cover (flight_q == '1);
end
