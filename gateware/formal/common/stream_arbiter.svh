// Properties of the joined streams: a packet keeps the output from its first beat to its last, and beats are those of the port that is granted.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// The ports keep to the rules of streams: an offered beat stays, and a packet begins with `first`.
logic [PORTS-1:0]         inside_q;
logic [PORTS-1:0]         waits_q;
logic [PORTS*W-1:0]       was_data_q;
logic [PORTS-1:0]         was_last_q;
always_ff @(posedge clk_i) begin
  for (int p = 0; p < PORTS; p = p + 1) begin
    if (valid_i[p] && ready_o[p]) inside_q[p] <= !last_i[p];
  end
  waits_q    <= valid_i & ~ready_o;
  was_data_q <= data_i;
  was_last_q <= last_i;
  if (rst_i) begin
    inside_q <= '0;
    waits_q  <= '0;
  end
end
always_comb begin
  for (int p = 0; p < PORTS; p = p + 1) begin
    assume (!valid_i[p] || first_i[p] == !inside_q[p]);
    assume (!waits_q[p] || valid_i[p] && data_i[W*p+:W] == was_data_q[W*p+:W] && last_i[p] == was_last_q[p]);
  end
end

// Any one port.
(* anyconst *) logic [$clog2(PORTS)-1:0] mine;
always_comb assume (mine < PORTS);

// The output: whether a packet is in progress, and its port.
logic             packet_q;
logic [PORTS-1:0] port_q;
logic [PORTS-1:0] moves;
assign moves = valid_i & ready_o;
always_ff @(posedge clk_i) begin
  if (moves != '0) port_q <= moves;
  if (valid_o && ready_i) packet_q <= !last_o;
  if (rst_i) packet_q <= 1'b0;
end

logic             offered_q;
logic [W-1:0]     offer_q;
always_ff @(posedge clk_i) begin
  offered_q <= valid_o && !ready_i && !rst_i;
  offer_q   <= data_o;
end

always_comb if (started_q && !rst_i) begin
  one_port_moves_at_a_time: assert ((moves & (moves - 1'b1)) == '0);
  a_beat_leaves_where_one_is_taken: assert ((moves != '0) == (valid_o && ready_i));
  a_packet_begins_with_its_first_beat: assert (!valid_o || first_o == !packet_q);
  a_packet_is_not_broken_by_another: assert (!packet_q || moves == '0 || moves == port_q);
  a_packet_in_progress_has_the_output: assert (!packet_q || locked_q && held_q == port_q && inside_q == port_q);
  no_other_packet_is_in_progress: assert (packet_q || inside_q == '0);
  an_offered_beat_stays: assert (!offered_q || valid_o && data_o == offer_q);
  a_grant_that_stays_has_a_beat_or_a_packet: assert (!locked_q || packet_q || (valid_i & held_q) != '0 && offered_q);
  one_port_is_held: assert (!locked_q || held_q != '0 && (held_q & (held_q - 1'b1)) == '0);
  what_waits_is_served: assert (valid_i == '0 || packet_q || valid_o);
  a_beat_is_that_of_its_port: assert (!moves[mine] || data_o == data_i[W*mine+:W] && last_o == last_i[mine] && bytes_o == bytes_i[COUNT*mine+:COUNT]);
  two_packets_of_two_ports: cover (packet_q && moves == PORTS'(2) && last_o && first_i[0] && valid_i[0]);
end
