// Properties of the splitter: requests have the bytes of their ranges, all of them, within the largest size and the page.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// Any one byte of memory, and whether a range that was taken has it; the bytes of the range, and those of its requests.
(* anyconst *) logic [63:0] spot;
logic                   granted_q;
logic [LENGTH_BITS-1:0] asked_q;
logic [LENGTH_BITS-1:0] given_q;
logic                   takes;
logic [64:0]            reach_of_range;
logic [13:0]            end_in_page;
assign takes          = valid_i && ready_o;
assign reach_of_range = {1'b0, address_i} + 65'(length_i);
assign end_in_page    = {2'b0, address_o[11:0]} + {1'b0, bytes_o};

always_ff @(posedge clk_i) begin
  if (takes) begin
    granted_q <= spot - address_i < 64'(length_i);
    asked_q   <= length_i;
    given_q   <= '0;
  end else if (step) begin
    given_q <= given_q + LENGTH_BITS'(bytes_o);
  end
end

logic [12:0] largest_q;
always_ff @(posedge clk_i) largest_q <= largest_i;
always_comb begin
  assume (largest_i >= 13'd4 && largest_i <= 13'd4096 && largest_i[1:0] == '0);
  assume (!started_q || largest_i == largest_q);
  assume (!valid_i || length_i != '0 && (!reach_of_range[64] || reach_of_range[63:0] == '0));
end

always_comb if (started_q && !rst_i) begin
  rest_is_within_the_range: assert (!busy_q || spot - address_q >= 64'(left_q) || granted_q);
  rest_ends_within_the_addresses: assert (!busy_q || left_q != '0 && address_q + 64'(left_q) - 64'd1 >= address_q);
  a_request_is_of_a_range: assert (!valid_o || busy_q && bytes_o != '0 && LENGTH_BITS'(bytes_o) <= left_q && fills_q == fills);
  the_last_request_has_the_rest: assert (!valid_o || last_o == (LENGTH_BITS'(bytes_o) == left_q));
  no_request_is_outside_its_range: assert (!(valid_o && spot - address_o < {51'b0, bytes_o}) || granted_q);
  a_request_stays_in_its_page: assert (!valid_o || end_in_page <= 14'd4096);
  a_request_is_at_most_the_largest: assert (!valid_o || {1'b0, bytes_o} + {12'b0, address_o[1:0]} <= {1'b0, largest_i});
  a_request_ends_its_range_page_or_size:
  assert (!valid_o || last_o || end_in_page == 14'd4096 || {1'b0, bytes_o} + {12'b0, address_o[1:0]} == {1'b0, largest_i});
  requests_and_rest_are_the_range: assert (!busy_q || asked_q == given_q + left_q);
  the_requests_of_a_range_are_all_of_it: assert (!(valid_o && last_o) || asked_q == given_q + LENGTH_BITS'(bytes_o));
  three_requests: cover (step && last_o && given_q == 13'd136 && largest_q == 13'd128);
end

always_ff @(posedge clk_i) if (started_q && !$past(rst_i)) begin
  a_request_is_there_a_cycle_after_its_range: assert (!$past(busy_q && !valid_q && !stop_i) || valid_o);
  an_offered_request_stays: assert (!$past(valid_o && !ready_i && !stop_i) || (valid_o && $stable(address_o) && $stable(bytes_o) && $stable(last_o)));
end
