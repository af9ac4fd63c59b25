// Properties of the sending unit: it writes what the ranges have, all of it, within the rules of packets.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// The splitter is cut off; in its place are the properties that are proven of it, as assumptions. The signals: any one byte of
// memory, and whether it is in the range of the splitter; the rest of that range; the bytes of all ranges, and of all packets.
(* anyconst *) logic [63:0] spot;
logic        granted_q;
logic [31:0] rest_q;
logic [31:0] asked_q;
logic [31:0] moved_q;
logic [63:0] address_q;
logic        inside_q;
logic        takes;
logic        writes;
logic [13:0] in_page;
assign takes   = range_valid_i && range_ready_o;
assign writes  = packet_q && spot - address_q < {51'b0, size_q};
assign in_page = {2'b0, address_q[11:0]} + {1'b0, size_q};

always_ff @(posedge clk_i) begin
  if (loads) begin
    rest_q    <= rest_q - {19'b0, next_bytes};
    address_q <= next_address;
    inside_q  <= granted_q;
  end
  if (takes) granted_q <= spot - address_i < {32'b0, length_i};
  if (takes) rest_q <= length_i;
  if (takes) asked_q <= asked_q + length_i;
  if (leaves) moved_q <= moved_q + {19'b0, size_q};
  if (start_i) asked_q <= '0;
  if (start_i) moved_q <= '0;
  if (rst_i) begin
    asked_q <= '0;
    moved_q <= '0;
    rest_q  <= '0;
  end
end

logic [12:0] payload_q;
always_ff @(posedge clk_i) payload_q <= payload_i;
always_comb begin
  assume (payload_i >= 13'd4 && payload_i <= 13'd4096 && payload_i[1:0] == '0);
  assume (!started_q || payload_i == payload_q);
  assume (level_i <= 13'd4096);
  assume (!start_i || !busy_o);
  assume (!range_valid_i || length_i != '0);
  // Of the splitter.
  assume (cutting == (rest_q != '0));
  assume (!next || cutting && next_bytes != '0 && {19'b0, next_bytes} <= rest_q && next_last == ({19'b0, next_bytes} == rest_q));
  assume (cutter_ready == (!cutting || next && free && next_last));
  assume (!(next && spot - next_address < {51'b0, next_bytes}) || granted_q);
  assume (!next || {1'b0, next_bytes} + {2'b0, next_address[11:0]} <= 14'd4096);
  assume (!next || {1'b0, next_bytes} + {12'b0, next_address[1:0]} <= {1'b0, payload_i});
end

always_comb if (started_q && !rst_i) begin
  nothing_is_written_outside_the_ranges: assert (!writes || inside_q);
  a_payload_is_at_most_the_largest: assert (!packet_q || {1'b0, size_q} + {12'b0, address_q[1:0]} <= {1'b0, payload_q});
  a_packet_stays_in_its_page: assert (!packet_q || in_page <= 14'd4096);
  a_packet_begins_at_its_address: assert (!packet_q || offset_q == address_q[1:0]);
  an_idle_unit_has_nothing_to_write: assert (busy_q || rest_q == '0 && !packet_q);
  ranges_are_packets_and_rest: assert (asked_q == moved_q + rest_q + (packet_q ? {19'b0, size_q} : '0));
  at_the_end_everything_is_written: assert (!done_o || moved_q == asked_q && !leaving_i);
  two_packets_and_the_end: cover (done_o && moved_q == 32'd13 && payload_q == 13'd8);
end
