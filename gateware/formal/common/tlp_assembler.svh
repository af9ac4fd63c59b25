// Properties of the assembler: a packet is its header and then its payload, in as many beats as they have, with zeros at its end.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// A header stays until its packet is out. Its payload of up to five dwords ends in the beat in which it must, and lanes before it are zero.
logic         waits_q;
logic [127:0] was_header_q;
logic         was_wide_q;
logic [10:0]  was_dwords_q;
logic [7:0]   out_q;
logic [7:0]   size;
logic [7:0]   header_size;
logic         moves;
assign size  = (wide_i ? 8'd16 : 8'd12) + 8'({dwords_i, 2'b0});
assign header_size = wide_i ? 8'd16 : 8'd12;
assign moves = valid_o && ready_i;
always_ff @(posedge clk_i) begin
  waits_q      <= header_valid_i && !header_ready_o;
  was_header_q <= header_i;
  was_wide_q   <= wide_i;
  was_dwords_q <= dwords_i;
  if (moves) out_q <= last_o ? '0 : out_q + 8'(N);
  if (rst_i) begin
    waits_q <= 1'b0;
    out_q   <= '0;
  end
end
logic [W-1:0] of_header;
always_comb begin
  of_header = '0;
  for (int k = 0; k < N; k = k + 1) if (out_q + 8'(k) < header_size) of_header[8*k+:8] = 8'hff;
end
always_comb begin
  assume (dwords_i <= 11'd5);
  assume (wide_i || header_i[127:96] == '0);
  assume (!waits_q || header_valid_i && header_i == was_header_q && wide_i == was_wide_q && dwords_i == was_dwords_q);
  assume (last_i == (out_q + 8'(N) >= size));
  assume ((data_i & of_header) == '0);
end

// Any one byte of the header.
(* anyconst *) logic [3:0] spot;
logic [7:0] lane;
assign lane = 8'(spot) - out_q;
always_comb if (started_q && !rst_i) begin
  the_beat_is_known: assert (at_q == 2'd0 ? out_q == '0 : at_q == 2'd1 ? out_q == 8'(N) : at_q == 2'd2 && out_q >= 8'd16);
  a_packet_in_progress_waits: assert (out_q == '0 || waits_q && out_q < size && out_q[2:0] == '0);
  a_byte_of_the_header_has_its_place: assert (!(valid_o && 8'(spot) < header_size && lane < 8'(N)) || data_o[8*lane[BITS-1:0]+:8] == header_i[8*spot+:8]);
  behind_the_header_is_the_payload: assert (!valid_o || dwords_i == '0 || (data_o & ~of_header) == (data_i & ~of_header));
  a_packet_is_as_long_as_header_and_payload: assert (!valid_o || last_o == (out_q + 8'(N) >= size));
  a_beat_has_its_number_of_bytes: assert (!valid_o || 8'(bytes_o) == (last_o ? size - out_q : 8'(N)));
  the_first_beat_is_marked: assert (!valid_o || first_o == (out_q == '0));
  payload_is_taken_behind_the_header: assert (!(valid_i && ready_o) || moves && dwords_i != '0 && out_q + 8'(N) > header_size);
  a_beat_with_payload_takes_it: assert (!(moves && dwords_i != '0 && out_q + 8'(N) > header_size) || valid_i && ready_o);
  a_header_is_done_with_its_packet: assert (header_ready_o == (moves && last_o));
  a_short_packet_of_five_dwords: cover (moves && last_o && size == 8'd32 && valid_i);
end
