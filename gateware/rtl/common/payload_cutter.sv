// Cuts a range of bytes, which comes in full beats from lane 0 on, into the payloads of requests. A beat that two requests share
// leaves twice.

`include "require.svh"

module payload_cutter #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset: no range is in progress.
    input  logic                   rst_i,
    // Bytes of the request before at the front of its first beat.
    input  logic [$clog2(W/8)-1:0] request_skip_i,
    // Bytes of the request, 1 to 4096, and those of the request before.
    input  logic [12:0]            request_reach_i,
    // The request is the last of its range: the next one begins with a new beat.
    input  logic                   request_last_i,
    // There is a request; it stays until its payload is out.
    input  logic                   request_valid_i,
    // The payload of the request is out.
    output logic                   request_ready_o,
    // Data: all lanes full but in the last beat of a range.
    input  logic [W-1:0]           data_i,
    // There is a beat.
    input  logic                   valid_i,
    // The beat is taken.
    output logic                   ready_o,
    // Data.
    output logic [W-1:0]           data_o,
    // Bytes in the beat, with those of the request before.
    output logic [$clog2(W/8):0]   bytes_o,
    // Bytes of the request before at the front of the first beat; stable from the first beat to the last.
    output logic [$clog2(W/8)-1:0] skip_o,
    // First beat of a payload.
    output logic                   first_o,
    // Last beat of a payload.
    output logic                   last_o,
    // There is a beat.
    output logic                   valid_o,
    // The beat is taken.
    input  logic                   ready_i
);

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "payload_cutter: W is the number of bits of a beat; it must be 64, 128 or 256")

  localparam int N = W / 8;
  localparam int BITS = $clog2(N);

  logic [12:0]     left_q;
  logic            begun_q;
  logic [12:0]     reach;
  logic            move;

  // Lanes from the front of the beat to the end of the payload.
  assign reach   = begun_q ? left_q : request_reach_i;
  assign last_o  = reach <= 13'(N);
  assign bytes_o = last_o ? reach[BITS:0] : (BITS + 1)'(N);
  assign data_o  = data_i;
  assign skip_o  = request_skip_i;
  assign first_o = !begun_q;
  assign valid_o = valid_i && request_valid_i;
  assign move    = valid_o && ready_i;
  assign ready_o = request_valid_i && ready_i && (!last_o || reach == 13'(N) || request_last_i);
  assign request_ready_o = valid_i && ready_i && last_o;

  always_ff @(posedge clk_i) begin
    if (move) begin
      begun_q <= !last_o;
      left_q  <= reach - 13'(N);
    end
    if (rst_i) begun_q <= 1'b0;
  end

`ifdef FORMAL
  `include "payload_cutter.svh"
`endif

endmodule
