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
  // The bits of lanes that have a byte of this beat, and of those that have any byte.
  logic [W-1:0]    fresh;
  logic [W-1:0]    kept;
  logic [W-1:0]    lanes;
  logic            fits;
  logic            flushing;
  logic            move;

  // Not in the block below: a condition before it would lengthen the path through the data, and tools then copy the lanes to shorten it.
  assign shift    = lead_i - skip_i;
  assign flushing = flush_q != '0;

  // At rest nothing moves in here.
  always_comb begin
    if (valid_i || flushing) begin
      // The first beat has nothing for the beat that leaves: its bytes wait for the next one.
      primes = first_i && skip_i > lead_i;
      fill   = {1'b0, bytes_i} + {2'b0, shift} - (primes ? (BITS + 2)'(N) : '0);
      fits   = fill <= (BITS + 2)'(N);
      half   = flushing ? half_q : shift[BITS-1];
    end else begin
      primes = 1'b0;
      fill   = '0;
      fits   = 1'b0;
      half   = 1'b0;
    end
  end

  always_comb begin
    part = data_i;
    for (int b = 0; b < BITS - 1; b = b + 1) begin
      if (shift[b]) part = (part << (8 << b)) | (part >> (W - (8 << b)));
    end
  end

  // A lane chooses among four bytes, which is one LUT for each bit. Zeros come last: a register that follows has a reset for them.
  always_comb begin
    fresh  = '0;
    kept   = '0;
    lanes  = '0;
    if (valid_o) begin
      fresh = {W{1'b1}} << {shift, 3'b0};
      if (primes && last_i) fresh = '1;
      if (flushing) fresh = '0;
      kept = ~({W{1'b1}} << {bytes_o, 3'b0});
      if (first_o) kept = kept & ({W{1'b1}} << {lead_i, 3'b0});
      if (half) lanes = (fresh & {part[W/2-1:0], part[W-1:W/2]}) | (~fresh & {part_q[W/2-1:0], part_q[W-1:W/2]});
      else lanes = (fresh & part) | (~fresh & part_q);
    end
  end

  assign data_o = lanes & kept;

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
    else if (flushing && ready_i) flush_q <= '0;
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
