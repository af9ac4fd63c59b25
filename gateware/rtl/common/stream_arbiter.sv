// Joins packet streams: a port that is granted keeps the output until the last beat of its packet.

`include "require.svh"

module stream_arbiter #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64,
    // Number of streams.
    parameter int PORTS = 4,
    // Number of streams, from port 0 on, with absolute priority; the others take turns.
    parameter int FIXED = 0
) (
    // Clock.
    input  logic                            clk_i,
    // Synchronous reset: no packet is in progress.
    input  logic                            rst_i,
    // Data of each port.
    input  logic [PORTS*W-1:0]              data_i,
    // Bytes in the beat of each port.
    input  logic [PORTS*($clog2(W/8)+1)-1:0] bytes_i,
    // First beat of a packet, of each port.
    input  logic [PORTS-1:0]                first_i,
    // Last beat of a packet, of each port.
    input  logic [PORTS-1:0]                last_i,
    // There is a beat, of each port.
    input  logic [PORTS-1:0]                valid_i,
    // The beat is taken, of each port.
    output logic [PORTS-1:0]                ready_o,
    // Data.
    output logic [W-1:0]                    data_o,
    // Bytes in the beat.
    output logic [$clog2(W/8):0]            bytes_o,
    // First beat of a packet.
    output logic                            first_o,
    // Last beat of a packet.
    output logic                            last_o,
    // There is a beat.
    output logic                            valid_o,
    // The beat is taken.
    input  logic                            ready_i
);

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "stream_arbiter: W is the number of bits of a beat; it must be 64, 128 or 256")

  localparam int COUNT = $clog2(W / 8) + 1;

  logic [PORTS-1:0] chosen;
  logic [PORTS-1:0] held_q;
  logic [PORTS-1:0] grant;
  logic             locked_q;
  logic             leaves;

  assign grant   = locked_q ? held_q : chosen;
  assign ready_o = ready_i ? grant : '0;
  assign valid_o = (valid_i & grant) != '0;
  assign first_o = (first_i & grant) != '0;
  assign last_o  = (last_i & grant) != '0;
  assign leaves  = valid_o && ready_i && last_o;

  always_comb begin
    data_o  = '0;
    bytes_o = '0;
    for (int k = 0; k < PORTS; k = k + 1) begin
      if (grant[k]) data_o = data_o | data_i[k*W+:W];
      if (grant[k]) bytes_o = bytes_o | bytes_i[k*COUNT+:COUNT];
    end
  end

  arbiter #(
      .PORTS(PORTS),
      .FIXED(FIXED)
  ) turns (
      .clk_i,
      .rst_i,
      .request_i(valid_i),
      .grant_o  (chosen),
      .take_i   (!locked_q)
  );

  // A grant that was offered stays, so that an offered beat does not change.
  always_ff @(posedge clk_i) begin
    if (!locked_q) held_q <= chosen;
    locked_q <= (locked_q || valid_o) && !leaves;
    if (rst_i) locked_q <= 1'b0;
  end

`ifdef FORMAL
  `include "stream_arbiter.svh"
`endif

endmodule
