// Properties of the reassembly: each byte of a completion goes to its place in its request, none is lost, and a request ends once.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb assume (rst_i == !started_q);

// The stream: completions of up to five dwords, whose beats agree with their headers. Where they begin, where their payload does, and where they end.
logic        inside_q;
logic [12:0] at_q;
logic [12:0] at;
logic [12:0] end_q;
logic [12:0] ending;
logic        moves;
assign moves  = valid_i && ready_o;
assign at     = first_i ? '0 : at_q;
assign ending = first_i ? (data_i[6] ? {1'b0, data_i[17:16], data_i[31:24], 2'b0} + 13'd12 : 13'd12) : end_q;
always_ff @(posedge clk_i) begin
  if (moves) begin
    inside_q <= !last_i;
    at_q     <= at + 13'(N);
    end_q    <= ending;
  end
  if (rst_i) inside_q <= 1'b0;
end
always_comb if (valid_i) begin
  assume (first_i == !inside_q);
  assume (!first_i || data_i[7:0] == 8'h0a || data_i[7:0] == 8'h4a && {data_i[17:16], data_i[31:24]} != '0 && {data_i[17:16], data_i[31:24]} <= 10'd5);
  assume (last_i == (at + 13'(N) >= ending));
  assume (bytes_i == (last_i ? (BITS + 1)'(ending - at) : (BITS + 1)'(N)));
end

// One open request is watched, and any one of its bytes. Byte Count is below 32, as the requests have up to 20 bytes.
(* anyconst *) logic [TAG_BITS-1:0] mine;
(* anyconst *) logic [PLACE_BITS+BITS-1:0] spot;
logic        open_here_q;
logic [12:0] total_here_all_q;
logic [6:0]  low_here_q;
(* anyconst *) logic [15:0] any_requester;
(* anyconst *) logic [2:0] any_class;
always_comb assume (close_i == '0);
always_comb assume (requester_i == any_requester && traffic_class_i == any_class);
logic [12:0] got_q;
logic        wrong_q;
// The completion of it that comes in, as its header has it, and the byte of the stream at which the watched byte is.
logic        hits;
logic        fits;
logic        poisons_q;
logic [12:0] count;
logic [12:0] bytes_left;
logic [12:0] payload;
logic [12:0] carries;
logic        storing_here_q;
logic [13:0] target_q;
logic [13:0] target;
logic        carries_spot;
logic        sees;
logic [7:0]  seen;
logic        seen_q;
logic [7:0]  byte_q;
logic        wrote_q;
logic        writes;
logic        header_here;
logic [2:0]  late_q;
logic [1:0]  strays_q;
logic        final_q;
logic [1:0]  pieces_q;
assign header_here = moves && at_header;
always_comb assume (!header_here || header[peerlane_pkg::COMPLETION_BYTE_COUNT+5+:7] == '0);
always_comb assume (spot < (PLACE_BITS + BITS)'(20));
assign hits       = header_here && open_here_q && tag_field == 8'(mine) && !header[peerlane_pkg::COMPLETION_TAG_8] && !header[peerlane_pkg::COMPLETION_TAG_9]
    && header[peerlane_pkg::COMPLETION_REQUESTER+:16] == requester_i;
assign count      = header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12] == '0 ? 13'd4096 : 13'(header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12]);
assign bytes_left = total_here_all_q - got_q;
assign payload    = (header[peerlane_pkg::COMPLETION_DWORDS+:10] == '0 ? 13'd4096 : {1'b0, header[peerlane_pkg::COMPLETION_DWORDS+:10], 2'b0}) - {11'b0, header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:2]};
assign carries    = payload < count ? payload : count;
assign fits       = header[peerlane_pkg::COMPLETION_STATUS+:3] == peerlane_pkg::STATUS_SUCCESSFUL && header[peerlane_pkg::TLP_KIND+6]
    && header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:7] == low_here_q + got_q[6:0] && header[peerlane_pkg::TLP_TRAFFIC_CLASS+:3] == traffic_class_i
    && count == bytes_left && payload < count + 13'd4;
assign target       = 14'(spot) - 14'(got_q) + 14'd12 + 14'(header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:2]);
assign carries_spot = hits && fits && 13'(spot) >= got_q && 13'(spot) < got_q + carries;
assign writes       = write_o && write_tag_o == mine && write_place_o == spot[BITS+:PLACE_BITS] && write_lanes_o[spot[BITS-1:0]];

// With beats of 64 bits the header ends in the second beat, in whose first half the payload may begin.
always_comb begin
  sees = moves && (carries_spot ? target - 14'(at) < 14'(N) : storing_here_q && target_q - 14'(at) < 14'(N));
  seen = data_i[8*(BITS)'((carries_spot ? target : target_q) - 14'(at))+:8];
end

always_ff @(posedge clk_i) begin
  if (open_i && open_tag_i == mine) begin
    open_here_q      <= 1'b1;
    total_here_all_q <= open_bytes_i;
    low_here_q       <= open_low_i;
    got_q            <= '0;
    seen_q           <= 1'b0;
    wrote_q          <= 1'b0;
    poisons_q        <= 1'b0;
    final_q          <= 1'b0;
    pieces_q         <= '0;
  end
  if (hits) begin
    pieces_q <= pieces_q + 1'b1;
    if (fits) got_q <= got_q + carries;
    if (fits && header[peerlane_pkg::TLP_POISONED]) poisons_q <= 1'b1;
    if (!fits || carries == bytes_left) open_here_q <= 1'b0;
    if (!fits || carries == bytes_left) final_q <= 1'b1;
    wrong_q        <= !fits;
    storing_here_q <= carries_spot && !sees;
    target_q       <= target;
  end else if (header_here || sees) begin
    storing_here_q <= 1'b0;
  end
  if (sees) begin
    seen_q <= 1'b1;
    byte_q <= seen;
  end
  if (writes) wrote_q <= 1'b1;
  if (end_o && end_tag_o == mine) final_q <= 1'b0;
  late_q <= final_q && !inside_q ? late_q + 1'b1 : '0;
  // A stray is reported when its header has gone through the registers, in which the end of a packet may wait for a cycle.
  if (header_here && tag_field == 8'(mine) && !open_here_q && strays_q == '0) strays_q <= 2'd1;
  else if (unexpected_o) strays_q <= '0;
  else if (strays_q != '0 && ready_o) strays_q <= strays_q + 1'b1;
  if (rst_i) begin
    open_here_q    <= 1'b0;
    storing_here_q <= 1'b0;
    seen_q         <= 1'b0;
    wrote_q        <= 1'b0;
    final_q        <= 1'b0;
    late_q         <= '0;
    strays_q       <= '0;
  end
end
// A tag is opened when its request has ended, and has 1 to 20 bytes.
logic ending_here;
assign ending_here = open_here_q || final_q;
always_comb assume (!open_i || open_bytes_i != '0 && open_bytes_i <= 13'd20 && !(open_tag_i == mine && ending_here));
always_comb assume (!open_i || !open_q[open_tag_i]);
// A completion that comes before its request, and is not compared yet, counts as one that comes after it.
always_comb assume (!open_i || !(header_here && tag_field == 8'(open_tag_i)));
always_comb assume (!open_i || !(parsed_q && parsed_header_q && parsed_tag_q == open_tag_i));

always_comb if (started_q) begin
  a_request_ends_once: assert (!(end_o && end_tag_o == mine) || final_q);
  a_byte_has_its_value: assert (!writes || seen_q && write_data_o[8*spot[BITS-1:0]+:8] == byte_q);
  no_byte_is_lost:
  assert (!(end_o && end_tag_o == mine && end_bytes_o != '0 && 13'(spot) < end_bytes_o) || wrote_q || writes);
  a_request_ends_with_its_number_of_bytes:
  assert (!(end_o && end_tag_o == mine) || end_bytes_o == (wrong_q ? 13'd0 : total_here_all_q));
  poisoned_data_is_told:
  assert (!(end_o && end_tag_o == mine && end_bytes_o != '0) || (end_result_o == peerlane_pkg::RESULT_POISONED)
      == poisons_q);
  no_completion_is_lost: assert (late_q < 3'd6);
  a_completion_of_no_request_is_told: assert (strays_q != 2'd3 || unexpected_o);
  a_request_of_two_completions_ends: cover (end_o && end_tag_o == mine && end_bytes_o == 13'd9 && wrote_q && spot == 7'd2 && pieces_q == 2'd2);
end
