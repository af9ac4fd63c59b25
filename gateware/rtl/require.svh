// `REQUIRE(name, condition, sentence)`: elaboration stops with the sentence unless the condition on parameters holds.
// Icarus 11 has no elaboration tasks: there the simulation stops before its first event.
`ifndef PEERLANE_REQUIRE
`define PEERLANE_REQUIRE
`ifdef __ICARUS__
`define REQUIRE(name, condition, sentence) generate if (!(condition)) begin : name initial $fatal(1, sentence); end endgenerate
`else
`define REQUIRE(name, condition, sentence) generate if (!(condition)) begin : name $error(sentence); end endgenerate
`endif

// Rules that benches check at each edge outside of a reset; elsewhere, without PEERLANE_ASSERT, they are no part of a circuit.
// `RULE(condition, sentence)`: the simulation stops with the sentence where the condition does not hold.
// `STAYS(name, bits, word, valid, ready, unless)`: a word of so many bits that is offered stays as it is until it is taken, `unless` it may go.
// `STREAM(name, bits, word, first, last, valid, ready)`: beats obey the rules of tb/rules/stream_rules.sv.
`ifdef PEERLANE_ASSERT
`define RULE(condition, sentence) always @(posedge clk_i) if (!rst_i && !(condition)) $fatal(1, "%m: %s", sentence);
`define STAYS(name, bits, word, valid, ready, unless) stream_rules #(.WIDTH(bits)) name (.clk_i(clk_i), .rst_i(rst_i || (unless)), .word_i(word), .first_i(1'b1), .last_i(1'b1), .valid_i(valid), .ready_i(ready));
`define STREAM(name, bits, word, first, last, valid, ready) stream_rules #(.WIDTH(bits)) name (.clk_i(clk_i), .rst_i(rst_i), .word_i(word), .first_i(first), .last_i(last), .valid_i(valid), .ready_i(ready));
`else
`define RULE(condition, sentence)
`define STAYS(name, bits, word, valid, ready, unless)
`define STREAM(name, bits, word, first, last, valid, ready)
`endif
`endif
