// Moves the bytes of each packet to other lanes: leaves out bytes at its front, and puts empty lanes before it.

`include "require.svh"

module byte_shifter #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset: no packet is in progress.
    input  logic                   rst_i,
    // Bytes to leave out at the front of the first beat, fewer than it has; stable from the first beat to the last.
    input  logic [$clog2(W/8)-1:0] skip_i,
    // Empty lanes at the front of the first beat that leaves; stable from the first beat to the last.
    input  logic [$clog2(W/8)-1:0] lead_i,
    // Data.
    input  logic [W-1:0]           data_i,
    // Bytes in the beat, with those to leave out.
    input  logic [$clog2(W/8):0]   bytes_i,
    // First beat of a packet.
    input  logic                   first_i,
    // Last beat of a packet.
    input  logic                   last_i,
    // There is a beat.
    input  logic                   valid_i,
    // The beat is taken.
    output logic                   ready_o,
    // Data; lanes without a byte are zero.
    output logic [W-1:0]           data_o,
    // Lanes up to the last byte, with the empty ones at the front.
    output logic [$clog2(W/8):0]   bytes_o,
    // First beat of a packet.
    output logic                   first_o,
    // Last beat of a packet.
    output logic                   last_o,
    // There is a beat.
    output logic                   valid_o,
    // The beat is taken.
    input  logic                   ready_i
);

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "byte_shifter: W is the number of bits of a beat; it must be 64, 128 or 256")

  localparam int N = W / 8;
  localparam int BITS = $clog2(N);

  // The rest of the beat before, at its lanes.
  logic [W-1:0]    rest_q;
  // Bytes of the packet that wait in `rest_q` after its last beat came.
  logic [BITS:0]   flush_q;
  logic            begun_q;
  logic [BITS-1:0] shift;
  logic            primes;
  logic [W-1:0]    masked;
  logic [W-1:0]    turned;
  logic [W-1:0]    mixed;
  logic [BITS+1:0] fill;
  logic            fits;
  logic            flushing;
  logic            move;

  assign shift = lead_i - skip_i;
  // The first beat has nothing for the beat that leaves: its bytes wait for the next one.
  assign primes   = first_i && skip_i > lead_i;
  assign flushing = flush_q != '0;
  assign fill     = {1'b0, bytes_i} + {2'b0, shift} - (primes ? (BITS + 2)'(N) : '0);
  assign fits     = fill <= (BITS + 2)'(N);

  always_comb begin
    for (int k = 0; k < N; k = k + 1) begin
      masked[8*k+:8] = (first_i && k[BITS-1:0] < skip_i) || k[BITS:0] >= bytes_i ? 8'b0 : data_i[8*k+:8];
    end
    turned = masked;
    for (int b = 0; b < BITS; b = b + 1) begin
      if (shift[b]) turned = (turned << (8 << b)) | (turned >> (W - (8 << b)));
    end
    for (int k = 0; k < N; k = k + 1) begin
      mixed[8*k+:8] = k[BITS-1:0] >= shift || (primes && last_i) ? turned[8*k+:8] : first_i ? 8'b0 : rest_q[8*k+:8];
    end
  end

  assign data_o  = flushing ? rest_q : mixed;
  assign bytes_o = flushing ? flush_q : last_i && fits ? fill[BITS:0] : (BITS + 1)'(N);
  assign first_o = !begun_q;
  assign last_o  = flushing || (last_i && fits);
  assign valid_o = flushing || (valid_i && (!primes || last_i));
  assign ready_o = !flushing && (ready_i || (primes && !last_i));
  assign move    = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (move) begin
      for (int k = 0; k < N; k = k + 1) begin
        rest_q[8*k+:8] <= k[BITS-1:0] < shift ? turned[8*k+:8] : 8'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) flush_q <= last_i && !fits ? fill[BITS:0] - (BITS + 1)'(N) : '0;
    else if (ready_i) flush_q <= '0;
    if (valid_o && ready_i) begun_q <= !last_o;
    if (rst_i) begin
      flush_q <= '0;
      begun_q <= 1'b0;
    end
  end

endmodule
