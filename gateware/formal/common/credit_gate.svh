// Properties of the credit gate: what it asks of the counters of a class, and what it does with their answer.
//
// The counters are cut off, so they answer anything; that a counter keeps to its limits is proven on its own.

logic started_q;
initial started_q = 1'b0;
always_ff @(posedge clk_i) started_q <= 1'b1;
always_comb if (!started_q) assume (rst_i);

// Format and type, Length, and the class (PCIe Base table 2-3, 2.6.1).
logic [7:0]  form;
logic [10:0] size;
logic        posted;
logic        completed;
logic        moves;
assign form      = data_i[7:0];
assign size      = {data_i[17:16] == '0 && data_i[31:24] == '0, data_i[17:16], data_i[31:24]};
assign posted    = form == 8'h40 || form == 8'h60 || (form[7] == 1'b0 && form[5:3] == 3'b110);
assign completed = form == 8'h0a || form == 8'h4a;
assign moves     = valid_o && ready_i;

always_comb begin
  a_packet_has_one_class: assert (class_of == {completed, !posted && !completed, posted});
  a_packet_begins_with_the_credits_of_its_class: assert (!(valid_o && first_i) || (ok & class_of) != '0);
  a_packet_with_credits_is_not_held: assert (!(valid_i && first_i && (ok & class_of) != '0) || valid_o);
  a_packet_that_has_begun_is_not_held: assert (!(valid_i && !first_i) || valid_o);
  credits_are_taken_when_a_packet_begins: assert (take == (moves && first_i));
  a_packet_needs_a_credit_for_each_16_bytes: assert ((16 * need >= 4 * size && 16 * need < 4 * size + 16) == form[6] && (form[6] || need == '0));
  a_beat_that_is_taken_is_passed_on: assert ((ready_o && valid_i) == moves && {data_o, bytes_o, first_o, last_o} == {data_i, bytes_i, first_i, last_i});
  a_packet_that_is_held_is_told: assert (waits_o == (valid_i && !valid_o ? class_of : 3'b0));
end

always_ff @(posedge clk_i) if (started_q) begin
  a_completion_waits_and_goes: cover ($past(waits_o[2]) && moves && class_of[2] && need == 4);
end
