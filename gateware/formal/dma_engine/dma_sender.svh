// Properties of the sending unit: it writes what the ranges have, all of it, within the rules of packets.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// Any one byte of memory, and whether a range that the unit took has it; the bytes of the ranges, and those of the packets.
(* anyconst *) logic [63:0] spot;
logic        granted_q;
logic [31:0] asked_q;
logic [31:0] moved_q;
logic        takes;
logic        writes;
logic [13:0] in_page;
assign takes   = range_valid_i && range_ready_o;
assign writes  = packet_q && spot - address_q < {51'b0, size_q};
assign in_page = {2'b0, address_q[11:0]} + {1'b0, size_q};

always_ff @(posedge clk_i) begin
  if (takes && spot - address_i < {32'b0, length_i}) granted_q <= 1'b1;
  if (takes) asked_q <= asked_q + length_i;
  if (leaves) moved_q <= moved_q + {19'b0, size_q};
  if (start_i || rst_i) begin
    granted_q <= 1'b0;
    asked_q   <= '0;
    moved_q   <= '0;
  end
end

// A register holds the largest payload; the guard before the unit lets no range pass the last address.
logic [12:0] payload_q;
logic [64:0] reach;
always_ff @(posedge clk_i) payload_q <= payload_i;
assign reach = {1'b0, address_i} + {33'b0, length_i};
always_comb begin
  assume (payload_i >= 13'd4 && payload_i <= 13'd4096 && payload_i[1:0] == '0);
  assume (!started_q || payload_i == payload_q);
  assume (level_i <= 13'd4096);
  assume (!start_i || !busy_o);
  assume (!range_valid_i || length_i != '0 && (!reach[64] || reach[63:0] == '0));
end

always_comb if (started_q && !rst_i) begin
  rest_is_within_the_ranges: assert (spot - rest_address_q >= {32'b0, rest_q} || granted_q);
  rest_ends_within_the_addresses: assert (rest_q == '0 || rest_address_q + {32'b0, rest_q} - 64'd1 >= rest_address_q);
  nothing_is_written_outside_the_ranges: assert (!writes || granted_q);
  a_payload_is_at_most_the_largest: assert (!packet_q || {1'b0, size_q} + {12'b0, address_q[1:0]} <= {1'b0, payload_q});
  a_packet_stays_in_its_page: assert (!packet_q || in_page <= 14'd4096);
  an_idle_unit_has_nothing_to_write: assert (busy_q || rest_q == '0 && !packet_q);
  ranges_are_packets_and_rest: assert (asked_q == moved_q + rest_q + (packet_q ? {19'b0, size_q} : '0));
  at_the_end_everything_is_written: assert (!done_o || moved_q == asked_q);
  two_packets_and_the_end: cover (done_o && moved_q == 32'd13 && payload_q == 13'd8);
end
