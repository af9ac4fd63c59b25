// Properties of the shifter: every byte of a packet but those left out leaves once, in order, behind the empty lanes. From reset.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb assume (rst_i == !started_q);

// The stream that comes in: all beats are full but the last one; the first one has more than what is left out.
logic            inside_q;
logic            waits_q;
logic [BITS-1:0] skip_q;
logic [BITS-1:0] lead_q;
logic [W-1:0]    was_data_q;
logic [BITS:0]   was_bytes_q;
logic            was_last_q;
logic            enters;
logic            leaves;
assign enters = valid_i && ready_o;
assign leaves = valid_o && ready_i;
always_ff @(posedge clk_i) begin
  if (enters) inside_q <= !last_i;
  waits_q     <= valid_i && !ready_o && !rst_i;
  skip_q      <= skip_i;
  lead_q      <= lead_i;
  was_data_q  <= data_i;
  was_bytes_q <= bytes_i;
  was_last_q  <= last_i;
  if (rst_i) inside_q <= 1'b0;
end
// Both shifts stay until the last beat has left.
logic out_inside_q;
always_ff @(posedge clk_i) begin
  if (leaves) out_inside_q <= !last_o;
  if (rst_i) out_inside_q <= 1'b0;
end
always_comb begin
  assume (first_i == !inside_q);
  assume (bytes_i != '0 && bytes_i <= (BITS + 1)'(N) && (last_i || bytes_i == (BITS + 1)'(N)));
  assume (!first_i || bytes_i > {1'b0, skip_i});
  assume (!(inside_q || out_inside_q || waits_q) || skip_i == skip_q && lead_i == lead_q);
  assume (!waits_q || valid_i && data_i == was_data_q && bytes_i == was_bytes_q && last_i == was_last_q);
end

// Of the packet that is in progress any one byte is watched: its place behind those left out, its value, and the lanes that have left.
(* anyconst *) logic [5:0] spot;
logic [7:0] came_q;
logic [7:0] came;
logic [7:0] gone_q;
logic [7:0] total_q;
logic       whole_q;
logic       seen_q;
logic [7:0] value_q;
logic       sees;
logic [7:0] value;
logic [7:0] at;
logic [7:0] target;
assign came   = first_i ? 8'd0 : came_q;
assign at     = 8'(spot) + 8'(skip_i);
assign sees   = valid_i && !flush && at >= came && at < came + 8'(bytes_i);
assign value  = data_i[8*(BITS)'(at - came)+:8];
assign target = 8'(spot) + 8'(lead_i);
logic flush;
assign flush = flush_q != '0;
always_ff @(posedge clk_i) begin
  if (enters) begin
    came_q  <= came + 8'(bytes_i);
    whole_q <= last_i;
    total_q <= came + 8'(bytes_i) - 8'(skip_i);
    if (first_i) seen_q <= sees;
    else if (sees) seen_q <= 1'b1;
    if (sees) value_q <= value;
  end
  if (leaves) gone_q <= last_o ? '0 : gone_q + 8'(N);
  if (rst_i) begin
    gone_q  <= '0;
    came_q  <= '0;
    seen_q  <= 1'b0;
    whole_q <= 1'b0;
  end
end

always_comb if (started_q) begin
  a_byte_has_its_lane:
  assert (!(valid_o && target >= gone_q && target < gone_q + 8'(bytes_o)) || data_o[8*(BITS)'(target - gone_q)+:8] == (sees ? value : value_q) && (sees || seen_q));
  lanes_before_the_first_byte_are_empty: assert (!(valid_o && first_o && lead_i != '0) || data_o[7:0] == '0);
  the_last_beat_ends_with_the_last_byte:
  assert (!(valid_o && last_o) || gone_q + 8'(bytes_o) == 8'(lead_i) + (flush ? total_q : came + 8'(bytes_i) - 8'(skip_i)));
  a_beat_before_the_last_is_full: assert (!(valid_o && !last_o) || bytes_o == (BITS + 1)'(N));
  the_first_beat_is_marked: assert (!valid_o || first_o == (gone_q == '0));
  two_packets: cover (leaves && last_o && flush && skip_i == 3'd1 && lead_i == 3'd6 && total_q == 8'd15);
end
