// Properties of the receiver: whatever the units, the user circuit, the reads of registers and the transmitter do, a beat of a posted packet or
// of a completion moves in time (PCIe Base 2.4.1), and a request that has begun finds the completer free.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// The link's side: a reset of the function may come within a packet, an offered beat stays, a packet begins with its first beat and has at least two, and a non-posted request begins only in
// the cycle after one with `np_ok_o`.
logic within_q;
logic request_begins;
logic [7:0] kind_i;
assign kind_i = data_i[7:0];
assign request_begins = valid_i && first_i && (kind_i | peerlane_pkg::TLP_WIDE) != peerlane_pkg::TLP_MEMORY_WRITE_WIDE
    && (kind_i | peerlane_pkg::TLP_DATA) != peerlane_pkg::TLP_COMPLETION_DATA
    && (kind_i | peerlane_pkg::TLP_DATA) != peerlane_pkg::TLP_COMPLETION_LOCKED_DATA
    && (kind_i & peerlane_pkg::TLP_MESSAGE_MASK) != peerlane_pkg::TLP_MESSAGE;
always_ff @(posedge clk_i) begin
  if (valid_i && ready_o) within_q <= !last_i;
end
initial within_q = 1'b0;
always_comb if (valid_i) assume (first_i == !within_q);
// The shifter is cut off: it takes a beat unless one that it gives waits, and gives beats of what it has taken alone.
logic fed_q;
always_ff @(posedge clk_i) fed_q <= !rst_i && (feed && accepts || out_valid && !out_ready);
always_comb if (started_q && !rst_i) begin
  assume (!feed || accepts == (!out_valid || out_ready));
  assume (feed || !out_valid || fed_q);
end
// The part that takes completions may stop them for a cycle, the one that answers requests may be busy for any time.
always_ff @(posedge clk_i) if (started_q && $past(rst_i)) assume (request_ready_i);
always_ff @(posedge clk_i) if (started_q) begin
  if ($past(valid_i && !ready_o)) assume (valid_i && $stable(data_i) && $stable(first_i) && $stable(last_i) && $stable(bytes_i));
  if (request_begins && !$past(valid_i && !ready_o)) assume ($past(np_ok_o));
  if ($past(!completion_ready_i)) assume (completion_ready_i);
  if ($past(request_ready_i && !request_valid_o)) assume (request_ready_i);
end

// Cycles in which a beat was offered and none moved.
logic [7:0] stands_q;
always_ff @(posedge clk_i) begin
  stands_q <= valid_i && !ready_o ? stands_q + 1'b1 : '0;
  if (rst_i) stands_q <= '0;
end

// A request in its first beat, and in the beat in which its header is whole: no other one is here, and none is answered.
logic begins;
logic whole;
assign begins = valid_q && first_q && !last_q && starts_request;
assign whole  = valid_q && !first_q && second_q && to_q == REQUEST;
always_comb if (started_q && !rst_i) begin
  what_the_shifter_gives_has_its_place: assert (!(out_valid || fed_q) || to_q == WRITE || to_q == PEER);
  a_beat_moves_in_time: assert (stands_q <= 8'(ACCEPT_CYCLES + 1));
  a_request_is_taken: assert (!whole || request_ready_i);
  a_request_that_begins_is_taken: assert (!begins || request_ready_i);
  a_request_that_is_offered_is_taken: assert (!request_begins || (request_ready_i && !begins && !whole));
  a_packet_of_before_a_reset_is_dropped: assert (known_q || (to_q == DROP && !(malformed_o && !first_q)));
  a_wait_of_a_peer_ends: assert (waited_q <= 16'(ACCEPT_CYCLES) && (!full || waited_q == '0 || waited_q == 16'(ACCEPT_CYCLES)));
end

always_ff @(posedge clk_i) if (started_q && !$past(rst_i) && !rst_i) begin
  a_beat_waits_for_a_peer_or_a_cycle: assert (stands_q <= 8'(waited_q) || $past(!completion_ready_i && (!out_valid || out_ready)));
  what_is_lost_is_lost_to_the_end: assert (!$past(dropped_o && !out_last) || !(peer_valid_o || write_valid_o));
  a_write_is_dropped: cover (dropped_o);
  a_write_is_taken_after_that: cover ($past(full_q[0]) && !full_q[0]);
  a_request_passes: cover (request_valid_o);
end
