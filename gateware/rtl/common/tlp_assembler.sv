// Puts a header before a payload whose bytes stand at their lanes already, and fills the last dword with zeros.

`include "require.svh"

module tlp_assembler #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64
) (
    // Clock.
    input  logic                 clk_i,
    // Synchronous reset: no packet is in progress.
    input  logic                 rst_i,
    // The header in the order of lanes; zeros after its end.
    input  logic [127:0]         header_i,
    // The header has 16 bytes; otherwise 12.
    input  logic                 wide_i,
    // Dwords of payload, 0 to 1024.
    input  logic [10:0]          dwords_i,
    // There is a header; it stays until its packet is out.
    input  logic                 header_valid_i,
    // The packet is out.
    output logic                 header_ready_o,
    // Payload, whose first lane is the size of the header modulo W / 8, more by the bytes of its first dword that are not enabled;
    // lanes without a byte are zero.
    input  logic [W-1:0]         data_i,
    // Last beat of the payload.
    input  logic                 last_i,
    // There is a beat of payload.
    input  logic                 valid_i,
    // The beat is taken.
    output logic                 ready_o,
    // Data.
    output logic [W-1:0]         data_o,
    // Bytes in the beat.
    output logic [$clog2(W/8):0] bytes_o,
    // First beat of the packet.
    output logic                 first_o,
    // Last beat of the packet.
    output logic                 last_o,
    // There is a beat.
    output logic                 valid_o,
    // The beat is taken.
    input  logic                 ready_i
);

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "tlp_assembler: W is the number of bits of a beat; it must be 64, 128 or 256")

  localparam int N = W / 8;
  localparam int BITS = $clog2(N);
  localparam int LANES = W < 128 ? 128 : W;

  // The beat, up to the first one after the header.
  logic [1:0]          at_q;
  logic [2:0]          beats;
  logic [LANES-1:0]    header;
  logic [W-1:0]        front;
  logic                needs;
  logic                ends;
  logic [BITS-3:0]     over;

  always_comb begin
    header = '0;
    header[127:0] = header_i;
  end

  // Whether the beat has lanes after the header, and whether the header ends in it.
  assign beats = {1'b0, at_q} + 3'd1;

  always_comb begin
    needs = 1'b0;
    ends  = 1'b0;
    over  = '0;
    front = '0;
    if (header_valid_i) begin
      needs = dwords_i != '0 && beats > (wide_i ? 3'(peerlane_pkg::HEADER_WIDE / N) : 3'(peerlane_pkg::HEADER_SHORT / N));
      ends  = beats > (wide_i ? 3'((peerlane_pkg::HEADER_WIDE - 1) / N) : 3'((peerlane_pkg::HEADER_SHORT - 1) / N));
      // Dwords of the packet in its last beat; 0 for all.
      over  = dwords_i[BITS-3:0] + (wide_i ? (BITS - 2)'(peerlane_pkg::HEADER_WIDE / 4) : (BITS - 2)'(peerlane_pkg::HEADER_SHORT / 4));
      if (W == 64 && at_q == 2'd1) front = header[LANES-1-:W];
      else if (at_q == 2'd0) front = header[W-1:0];
    end
  end

  // Not in the block above: Icarus wakes a block again when it reads an output that it writes.
  assign data_o = front | (needs ? data_i : '0);

  assign first_o = at_q == 2'd0;
  assign last_o  = dwords_i == '0 ? ends : needs && last_i;
  assign bytes_o = last_o && over != '0 ? {1'b0, over, 2'b0} : (BITS + 1)'(N);
  assign valid_o = header_valid_i && (!needs || valid_i);
  assign ready_o = header_valid_i && needs && ready_i;
  assign header_ready_o = valid_o && ready_i && last_o;

  always_ff @(posedge clk_i) begin
    if (valid_o && ready_i) at_q <= last_o ? 2'd0 : at_q == 2'd2 ? 2'd2 : at_q + 2'd1;
    if (rst_i) at_q <= 2'd0;
  end

`ifdef FORMAL
  `include "tlp_assembler.svh"
`endif

endmodule
