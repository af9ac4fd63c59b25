// `REQUIRE(name, condition, sentence)`: elaboration stops with the sentence unless the condition on parameters holds.
// Icarus 11 has no elaboration tasks: there the simulation stops before its first event.
`ifndef PEERLANE_REQUIRE
`define PEERLANE_REQUIRE
`ifdef __ICARUS__
`define REQUIRE(name, condition, sentence) generate if (!(condition)) begin : name initial $fatal(1, sentence); end endgenerate
`else
`define REQUIRE(name, condition, sentence) generate if (!(condition)) begin : name $error(sentence); end endgenerate
`endif
`endif
