// Properties of the header: length and byte enables are those of the bytes of the request.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;

// The request whose header is there.
logic        loaded_q;
initial loaded_q = 1'b0;
logic [63:0] from_q;
logic [12:0] count_q;
always_ff @(posedge clk_i) if (load_i) begin
  loaded_q <= 1'b1;
  from_q   <= address_i;
  count_q  <= bytes_i;
end
always_comb assume (!load_i || bytes_i != '0 && {2'b0, address_i[11:0]} + {1'b0, bytes_i} <= 14'd4096);

// The header with its first byte in the highest bits, and any one byte of its dwords.
(* anyconst *) logic [12:0] spot;
logic [127:0] fields;
logic [12:0]  payload;
logic         enabled;
assign fields  = peerlane_pkg::wire_order(header_o);
assign payload = {fields[peerlane_pkg::REQUEST_DWORDS+:10] == '0, fields[peerlane_pkg::REQUEST_DWORDS+:10], 2'b0};
always_comb begin
  enabled = 1'b1;
  if (spot < 13'd4) enabled = fields[peerlane_pkg::REQUEST_FIRST_BE+spot[1:0]];
  else if (spot >= payload - 13'd4) enabled = fields[peerlane_pkg::REQUEST_LAST_BE+spot[1:0]];
end

always_comb if (loaded_q) begin
  the_bytes_of_a_request_are_enabled:
  assert (spot >= payload || enabled == (spot >= {11'b0, from_q[1:0]} && spot < {11'b0, from_q[1:0]} + count_q));
  a_request_has_no_more_dwords_than_it_needs: assert (payload < count_q + {11'b0, from_q[1:0]} + 13'd4 && payload >= count_q + {11'b0, from_q[1:0]});
  one_dword_has_no_last_enables: assert (payload != 13'd4 || fields[peerlane_pkg::REQUEST_LAST_BE+:4] == '0);
  a_header_is_wide_above_4_gib: assert (wide_o == (from_q[63:32] != '0) && fields[peerlane_pkg::TLP_KIND+5] == wide_o);
  the_address_is_that_of_the_first_dword:
  assert (wide_o ? fields[peerlane_pkg::WIDE_ADDRESS+:62] == from_q[63:2] : fields[peerlane_pkg::SHORT_ADDRESS+:30] == from_q[31:2]);
  a_wide_request_of_a_page: cover (wide_o && payload == 13'd4096);
end
