// Takes the packets of a sending or reading unit apart at its output: first byte, number of bytes, tag, when the header is whole.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

logic         second_q;
logic [63:0]  early_q;
logic [127:0] packet_header;
logic         packet_wide;
logic         packet_whole;
logic [63:0]  packet_first;
logic [10:0]  packet_dwords;
logic [3:0]   packet_first_be;
logic [3:0]   packet_last_be;
logic [3:0]   packet_end_be;
logic [12:0]  packet_bytes;
logic [2:0]   packet_before;
logic [2:0]   packet_behind;

// The second beat has the rest of the header that a wide or a short address needs.
assign packet_header   = peerlane_pkg::wire_order({data_o, early_q});
assign packet_wide     = (packet_header[peerlane_pkg::TLP_KIND+:8] & peerlane_pkg::TLP_WIDE) != '0;
assign packet_whole    = valid_o && ready_i && second_q;
assign packet_dwords   = {packet_header[peerlane_pkg::REQUEST_DWORDS+:10] == '0, packet_header[peerlane_pkg::REQUEST_DWORDS+:10]};
assign packet_first_be = packet_header[peerlane_pkg::REQUEST_FIRST_BE+:4];
assign packet_last_be  = packet_header[peerlane_pkg::REQUEST_LAST_BE+:4];
assign packet_end_be   = packet_dwords == 11'd1 ? packet_first_be : packet_last_be;
assign packet_before   = packet_first_be[0] ? 3'd0 : packet_first_be[1] ? 3'd1 : packet_first_be[2] ? 3'd2 : 3'd3;
assign packet_behind   = packet_end_be[3] ? 3'd0 : packet_end_be[2] ? 3'd1 : packet_end_be[1] ? 3'd2 : 3'd3;
assign packet_bytes    = {packet_dwords, 2'b0} - {10'b0, packet_before} - {10'b0, packet_behind};
assign packet_first    = (packet_wide ? {packet_header[peerlane_pkg::WIDE_ADDRESS+:62], 2'b0} : {32'b0, packet_header[peerlane_pkg::SHORT_ADDRESS+:30], 2'b0})
    + {61'b0, packet_before};

always_ff @(posedge clk_i) begin
  if (valid_o && ready_i) begin
    second_q <= first_o;
    early_q  <= data_o;
  end
  if (rst_i) second_q <= 1'b0;
end

// Any one byte of memory, and whether a range that the unit took has it; the bytes of the ranges, and those of the packets.
(* anyconst *) logic [63:0] spot;
logic        granted_q;
logic [31:0] asked_q;
logic [31:0] moved_q;
logic        takes;
logic        hits;
assign takes = range_valid_i && range_ready_o;
assign hits  = spot - packet_first < {51'b0, packet_bytes};

always_ff @(posedge clk_i) begin
  if (takes && spot - address_i < {32'b0, length_i}) granted_q <= 1'b1;
  if (takes) asked_q <= asked_q + length_i;
  if (packet_whole) moved_q <= moved_q + {19'b0, packet_bytes};
  if (start_i || rst_i) begin
    granted_q <= 1'b0;
    asked_q   <= '0;
    moved_q   <= '0;
  end
end

always_comb begin
  assume (!start_i || !busy_o);
  assume (!range_valid_i || length_i != '0 && {1'b0, address_i} + {33'b0, length_i} <= {1'b1, 64'b0});
end
