// Properties of the guard: ranges pass in order and unchanged, except for those without a byte, up to the first one that is not possible.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// The end of the range that is looked at, and of the one that may be worked on, in all bits.
logic [64:0] reach_next;
logic [64:0] reach_o;
assign reach_next = {1'b0, next_address_q} + {33'b0, next_length_q};
assign reach_o = {1'b0, address_o} + {33'b0, length_o};
always_comb if (started_q && !rst_i) begin
  no_range_ends_beyond_the_addresses: assert (!valid_o || !reach_o[64] || reach_o[63:0] == '0);
  a_range_that_ends_beyond_the_addresses_is_known: assert (overflows == (reach_next[64] && reach_next[63:0] != '0));
  no_range_is_empty: assert (!valid_o || length_o != '0);
end

always_ff @(posedge clk_i) if (started_q && !$past(rst_i)) begin
  an_offered_range_stays:
  assert (!$past(valid_o && !ready_i && !stop_i && !start_i) || (valid_o && $stable(address_o) && $stable(length_o)));
  a_range_that_cannot_be_is_told: assert (!$past(next_q && free && overflows && !stop_i && !start_i) || failed_o);
  a_range_that_can_be_is_no_failure:
  assert (!$past(!failed_o && (!next_q || !overflows)) || !failed_o);
  a_range_that_can_be_passes:
  assert (!$past(next_q && free && !is_empty && !overflows && !failed_o && !stop_i && !start_i)
      || valid_o && address_o == $past(next_address_q) && length_o == $past(next_length_q));
  nothing_passes_after_a_failure: assert (!$past(failed_o && free) || !valid_o);
  a_range_at_the_last_address: cover (valid_o && reach_o[64]);
  a_failure_behind_a_range: cover (failed_o && $past(valid_o && ready_i));
end
