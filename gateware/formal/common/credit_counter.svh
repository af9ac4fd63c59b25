// Properties of the credits of a class: nothing is sent beyond a limit, and what may be sent is not held.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);
always_comb assume (!take_i || ok_o);
always_comb assume (need_i < DATA_HALF);

// Credits that the receiver has granted and that are not consumed, in counters that do not wrap at the field.
logic [HEADER_BITS+1:0] header_free_q;
logic [DATA_BITS+1:0]   data_free_q;
logic [HEADER_BITS-1:0] header_limit_q;
logic [DATA_BITS-1:0]   data_limit_q;
logic [HEADER_BITS-1:0] header_more;
logic [DATA_BITS-1:0]   data_more;
logic [HEADER_BITS+1:0] header_free;
logic [DATA_BITS+1:0]   data_free;
assign header_more = header_limit_i - header_limit_q;
assign data_more   = data_limit_i - data_limit_q;
assign header_free = header_free_q + header_more;
assign data_free   = data_free_q + data_more;

// A receiver has never granted more than half of the field less one (PCIe Base 2.6.1.2); a class is infinite or not for good.
always_comb assume (header_free < HEADER_HALF && data_free < DATA_HALF);
(* anyconst *) logic header_unlimited;
(* anyconst *) logic data_unlimited;
always_comb assume (header_infinite_i == header_unlimited && data_infinite_i == data_unlimited);

always_ff @(posedge clk_i) begin
  header_limit_q <= header_limit_i;
  data_limit_q   <= data_limit_i;
  header_free_q  <= take_i && !header_unlimited ? header_free - 1'b1 : header_free;
  data_free_q    <= take_i && !data_unlimited ? data_free - need_i : data_free;
  if (rst_i) begin
    header_free_q  <= '0;
    data_free_q    <= '0;
    header_limit_q <= '0;
    data_limit_q   <= '0;
  end
end

always_comb if (started_q) begin
  header_within_limit: assert (!take_i || header_unlimited || header_free != '0);
  data_within_limit: assert (!take_i || data_unlimited || data_free >= {2'b0, need_i});
  packet_with_credits_is_not_held:
  assert (ok_o || !((header_unlimited || header_free != '0) && (data_unlimited || data_free >= {2'b0, need_i})));
  header_counter_is_what_was_sent: assert (header_unlimited || header_q == header_limit_q - header_free_q[HEADER_BITS-1:0]);
  data_counter_is_what_was_sent: assert (data_unlimited || data_q == data_limit_q - data_free_q[DATA_BITS-1:0]);
  free_credits_stay_in_range: assert (header_free_q < HEADER_HALF && data_free_q < DATA_HALF);
  wraps: cover (header_q == '0 && data_limit_q > '0 && take_i && header_limit_q == 2);
  held: cover (!ok_o && header_free != '0);
end
