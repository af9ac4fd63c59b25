// Properties of the cutter: the payload of each request has its bytes and no others, and a beat of data goes when all of it has left.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// Requests: each begins where the one before ended, and stays until its payload is out.
logic [BITS-1:0] next_skip_q;
logic            waits_q;
logic [12:0]     was_reach_q;
logic [BITS-1:0] was_skip_q;
logic            was_last_q;
always_ff @(posedge clk_i) begin
  waits_q     <= request_valid_i && !request_ready_o;
  was_reach_q <= request_reach_i;
  was_skip_q  <= request_skip_i;
  was_last_q  <= request_last_i;
  if (request_valid_i && request_ready_o) next_skip_q <= request_last_i ? '0 : request_reach_i[BITS-1:0];
  if (rst_i) begin
    waits_q     <= 1'b0;
    next_skip_q <= '0;
  end
end
always_comb begin
  assume (request_skip_i == next_skip_q);
  assume (request_reach_i > 13'(request_skip_i) && request_reach_i <= 13'(request_skip_i) + 13'd4096);
  assume (!waits_q || request_valid_i && request_reach_i == was_reach_q && request_skip_i == was_skip_q && request_last_i == was_last_q);
end

// The lanes of the payload in progress that have left, and whether the beat that is offered has left in part.
logic [12:0] out_q;
logic        moves;
logic        uses;
assign moves = valid_o && ready_i;
assign uses  = valid_i && ready_o;
always_ff @(posedge clk_i) begin
  if (moves) out_q <= last_o ? '0 : out_q + 13'(N);
  if (rst_i) out_q <= '0;
end

always_comb if (started_q && !rst_i) begin
  what_is_left_is_known: assert (begun_q ? waits_q && out_q != '0 && out_q < was_reach_q && left_q == was_reach_q - out_q : out_q == '0);
  a_payload_ends_with_its_last_byte: assert (!valid_o || last_o == (out_q + 13'(N) >= request_reach_i));
  a_beat_has_its_number_of_bytes: assert (!valid_o || 13'(bytes_o) == (last_o ? request_reach_i - out_q : 13'(N)));
  the_first_beat_is_marked: assert (!valid_o || first_o == (out_q == '0));
  a_request_is_done_with_its_last_beat: assert (request_ready_o == (valid_i && ready_i && last_o) || !request_valid_i);
  a_beat_stays_for_the_bytes_of_the_next_request: assert (!moves || uses == (!last_o || request_last_i || bytes_o == (BITS + 1)'(N)));
  no_beat_goes_alone: assert (!uses || moves);
  three_beats_and_a_shared_one: cover (moves && last_o && out_q == 13'd16 && !uses && request_skip_i == 3'd3);
end
