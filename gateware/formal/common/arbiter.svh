// Properties of the arbiter: at most one grant, priority, and each waiting port has its turn.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// One of the ports that take turns; while it waits, the turns of the others since then.
(* anyconst *) logic [PORTS-1:0] one;
logic [PORTS-1:0] turns_q;
always_comb assume (one != '0 && (one & (one - 1'b1)) == '0 && (one & FIRST) == '0);

always_ff @(posedge clk_i) begin
  if ((request_i & one) == '0 || (grant_o & one) != '0 && take_i) turns_q <= '0;
  else if (take_i) turns_q <= turns_q | (grant_o & ~FIRST);
  if (rst_i) turns_q <= '0;
end

always_comb if (started_q) begin
  one_grant: assert ((grant_o & (grant_o - 1'b1)) == '0);
  granted_port_requests: assert ((grant_o & ~request_i) == '0);
  request_is_served: assert (grant_o != '0 || request_i == '0);
  urgent_port_is_first:
  assert ((request_i & FIRST) == '0 || grant_o == (request_i & FIRST & (~(request_i & FIRST) + 1'b1)));
  no_second_turn_before_a_waiting_port: assert (!((request_i & one) != '0) || (grant_o & turns_q & ~FIRST) == '0);
  // The two that make it inductive: the turns go round upwards, from the port that had the last one.
  turns_go_upwards: assert ((turns_q & after_q & (one | (one - 1'b1))) == '0);
  turns_do_not_go_round_early: assert ((after_q & one) != '0 || (turns_q & (after_q | one | (one - 1'b1))) == '0);
  after_q_is_a_range: assert ((~after_q & (~after_q + 1'b1)) == '0);
  others_had_their_turns: cover ((turns_q | one | FIRST) == {PORTS{1'b1}} && (grant_o & one) != '0);
end
