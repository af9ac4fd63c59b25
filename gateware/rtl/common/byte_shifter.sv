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

  // A beat turned by all of `shift` but its highest bit: the beat of now, and the one before. Lanes without a byte have any value.
  logic [W-1:0]    part;
  logic [W-1:0]    part_q;
  // The highest bit of `shift`, and that of the beat before.
  logic            half;
  logic            half_q;
  // Bytes of the packet that wait in `part_q` after its last beat came.
  logic [BITS:0]   flush_q;
  logic            begun_q;
  logic [BITS-1:0] shift;
  logic            primes;
  logic [BITS+1:0] fill;
  logic [N-1:0]    from_shift;
  logic [N-1:0]    from_lead;
  logic            fits;
  logic            flushing;
  logic            move;

  assign shift = lead_i - skip_i;
  // The first beat has nothing for the beat that leaves: its bytes wait for the next one.
  assign primes   = first_i && skip_i > lead_i;
  assign flushing = flush_q != '0;
  assign fill     = {1'b0, bytes_i} + {2'b0, shift} - (primes ? (BITS + 2)'(N) : '0);
  assign fits     = fill <= (BITS + 2)'(N);
  assign half     = flushing ? half_q : shift[BITS-1];
  // The lanes from `shift` and from `lead_i` on.
  assign from_shift = {N{1'b1}} << shift;
  assign from_lead  = {N{1'b1}} << lead_i;

  always_comb begin
    part = data_i;
    for (int b = 0; b < BITS - 1; b = b + 1) begin
      if (shift[b]) part = (part << (8 << b)) | (part >> (W - (8 << b)));
    end
  end

  // A lane chooses among four bytes, which is one LUT for each bit. Zeros come last: a register that follows has a reset for them.
  for (genvar k = 0; k < N; k = k + 1) begin : gen_lane
    localparam int TURNED = (k + N / 2) % N;
    logic       is_new;
    logic       is_empty;
    logic [7:0] lane;
    assign is_new   = !flushing && (from_shift[k] || (primes && last_i));
    assign is_empty = (first_o && !from_lead[k]) || k[BITS:0] >= bytes_o;
    assign lane     = is_new ? (half ? part[8*TURNED+:8] : part[8*k+:8]) : (half ? part_q[8*TURNED+:8] : part_q[8*k+:8]);
    assign data_o[8*k+:8] = is_empty ? 8'b0 : lane;
  end

  assign bytes_o = flushing ? flush_q : last_i && fits ? fill[BITS:0] : (BITS + 1)'(N);
  assign first_o = !begun_q;
  assign last_o  = flushing || (last_i && fits);
  assign valid_o = flushing || (valid_i && (!primes || last_i));
  assign ready_o = !flushing && (ready_i || (primes && !last_i));
  assign move    = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (move) begin
      part_q <= part;
      half_q <= shift[BITS-1];
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

`ifdef FORMAL
  `include "byte_shifter.svh"
`endif

endmodule
