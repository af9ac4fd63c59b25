// Properties of the reading unit: no tag is twice in flight, nothing is read outside the ranges, no completion is lost.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// Completions of whole packets, of any content, with up to two dwords; their tags come from the reassembly.
logic inside_q;
logic third_q;
logic two_q;
always_ff @(posedge clk_i) begin
  if (completion_valid_i && completion_ready_o) begin
    inside_q <= !completion_last_i;
    third_q  <= inside_q;
    if (completion_first_i) two_q <= completion_data_i[31:24] == 8'd2;
  end
  if (rst_i) inside_q <= 1'b0;
end
always_comb begin
  assume (completion_first_i == !inside_q);
  assume (!completion_first_i || completion_data_i[17:16] == '0 && completion_data_i[31:24] <= 8'd2);
  assume (!completion_first_i || (completion_data_i[31:24] == '0) == !completion_data_i[6]);
  assume (completion_last_i == (inside_q && (third_q || !two_q)));
end

// Any one byte of memory in two pages, and whether a range that the unit took has it; the bytes of the ranges, and those that came.
(* anyconst *) logic [63:0] spot;
logic            granted_q;
logic [31:0]     asked_q;
logic [31:0]     came_q;
logic            takes;
logic [TAGS-1:0] flight_q;
assign takes = range_valid_i && range_ready_o;

always_ff @(posedge clk_i) begin
  if (takes && spot - address_i < {32'b0, length_i}) granted_q <= 1'b1;
  if (takes) asked_q <= asked_q + length_i;
  if (read_valid_o && read_ready_i) came_q <= came_q + {28'b0, read_bytes_o};
  if (lands) flight_q[end_tag] <= 1'b0;
  if (expires) flight_q[look_q] <= 1'b0;
  if (request_q && leaves) flight_q[tag_q] <= 1'b1;
  if (start_i || rst_i) begin
    granted_q <= 1'b0;
    asked_q   <= '0;
    came_q    <= '0;
  end
  if (rst_i) flight_q <= '0;
end

always_comb begin
  assume (!start_i || !busy_o);
  assume (!range_valid_i || length_i != '0 && length_i <= 32'd12);
  assume (address_i[63:13] == '0 && spot[63:13] == '0);
  assume (level_i == '0);
  assume (max_read_request_i == '0);
end

always_comb if (started_q && !rst_i) begin
  no_tag_is_twice_in_flight: assert (!request_q || !flight_q[tag_q]);
  nothing_is_read_outside_the_ranges: assert (!(request_q && spot - address_q < {51'b0, size_q}) || granted_q);
  nothing_is_in_flight_at_the_end: assert (!done_o || flight_q == '0);
  no_completion_is_lost: assert (!done_o || failed_o || came_q == asked_q);
  a_read_is_whole: cover (done_o && !failed_o && came_q == 32'd9);
  a_read_fails: cover (done_o && result_o == peerlane_pkg::RESULT_ABORT);
  a_read_times_out: cover (done_o && result_o == peerlane_pkg::RESULT_TIMEOUT);
end
