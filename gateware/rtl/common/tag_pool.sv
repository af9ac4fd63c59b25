// The tags of outstanding requests: no tag is given out again before it came back.

`include "require.svh"

module tag_pool #(
    // Number of tags, 2 to 1024.
    parameter int TAGS = 32
) (
    // Clock.
    input  logic                    clk_i,
    // Synchronous reset: every tag is free.
    input  logic                    rst_i,
    // The tags that may be given out.
    input  logic [TAGS-1:0]         usable_i,
    // A free tag; a register. Tags take turns, so that a tag rests as long as possible.
    output logic [$clog2(TAGS)-1:0] tag_o,
    // There is a free tag, which may be given out.
    output logic                    valid_o,
    // The tag is taken at the next edge.
    input  logic                    take_i,
    // The tag that comes back.
    input  logic [$clog2(TAGS)-1:0] free_tag_i,
    // A tag comes back. One that is not out changes nothing.
    input  logic                    free_i,
    // The tags that are out.
    output logic [TAGS-1:0]         out_o
);

  `REQUIRE(gen_tags, TAGS >= 2 && TAGS <= 1024, "tag_pool: TAGS is the number of tags; it must be 2 to 1024")

  localparam int BITS = TAGS < 2 ? 1 : $clog2(TAGS);

  // The tags that are out, and the one that is on offer.
  logic [TAGS-1:0] out_q;
  logic [TAGS-1:0] offer_q;
  logic [BITS-1:0] tag_q;
  logic [TAGS-1:0] grant;
  logic [BITS-1:0] number;
  logic            next;

  // The tags whose number has bit `b`.
  function automatic logic [TAGS-1:0] with_bit(input logic [4:0] b);
    for (int k = 0; k < TAGS; k = k + 1) with_bit[k] = k[b];
  endfunction

  assign tag_o   = tag_q;
  assign valid_o = (offer_q & usable_i) != '0;
  assign out_o   = out_q;
  assign next    = !valid_o || take_i;

  arbiter #(
      .PORTS(TAGS),
      .FIXED(0)
  ) turns (
      .clk_i,
      .rst_i,
      .request_i(~(out_q | offer_q) & usable_i),
      .grant_o  (grant),
      .take_i   (next)
  );

  always_comb begin
    number = '0;
    for (int b = 0; b < BITS; b = b + 1) number[b] = (grant & with_bit(5'(b))) != '0;
  end

  always_ff @(posedge clk_i) begin
    if (next || free_i) begin
      if (next) begin
        offer_q <= grant;
        tag_q   <= number;
      end
      if (take_i) out_q <= out_q | offer_q;
      if (free_i && out_q[free_tag_i]) out_q[free_tag_i] <= 1'b0;
    end
    if (rst_i) begin
      out_q   <= '0;
      offer_q <= '0;
      tag_q   <= '0;
    end
  end

`ifdef FORMAL
  `include "tag_pool.svh"
`endif

endmodule
