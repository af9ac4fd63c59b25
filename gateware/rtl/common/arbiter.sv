// An arbiter. The first FIXED ports have absolute priority, in their order; the others take turns.

`include "require.svh"

module arbiter #(
    // Number of ports.
    parameter int PORTS = 4,
    // Number of ports with absolute priority: 0 for turns alone, PORTS for fixed priority alone.
    parameter int FIXED = 0
) (
    // Clock.
    input  logic             clk_i,
    // Synchronous reset: the first port has the first turn.
    input  logic             rst_i,
    // The ports that request.
    input  logic [PORTS-1:0] request_i,
    // The port that is granted, one bit; none without a request.
    output logic [PORTS-1:0] grant_o,
    // The grant is used: the turn passes at the next edge.
    input  logic             take_i
);

  `REQUIRE(gen_ports, PORTS >= 1, "arbiter: PORTS is the number of ports; it must be at least 1")
  `REQUIRE(gen_fixed, FIXED >= 0 && FIXED <= PORTS, "arbiter: FIXED counts the ports with absolute priority; it must be 0 to PORTS")

  localparam logic [PORTS-1:0] FIRST = ~({PORTS{1'b1}} << FIXED);

  // The ports after the one that had the last turn.
  logic [PORTS-1:0] after_q;
  logic [PORTS-1:0] urgent;
  logic [PORTS-1:0] waiting;
  logic [PORTS-1:0] pool;

  assign urgent  = request_i & FIRST;
  assign waiting = request_i & after_q;
  assign pool    = urgent != '0 ? urgent : waiting != '0 ? waiting : request_i;
  assign grant_o = pool & (~pool + 1'b1);

  always_ff @(posedge clk_i) begin
    if (take_i && urgent == '0 && request_i != '0) after_q <= ~(grant_o | (grant_o - 1'b1));
    if (rst_i) after_q <= '0;
  end

`ifdef FORMAL
  `include "arbiter.svh"
`endif

endmodule
