// Cuts a range of addresses into requests: within the largest size (MPS or MRRS) and a 4 KiB page (PCIe Base 2.2.7). A request takes two
// cycles, its size and its step, and so do two beats of 64 bits, the fewest of any packet.

`include "require.svh"

module request_splitter #(
    // Bits of a length; 23 for up to 4 MiB.
    parameter int LENGTH_BITS = 23
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset: no range is in progress.
    input  logic                   rst_i,
    // Largest size in bytes, a multiple of 4, 4 to 4096.
    input  logic [12:0]            largest_i,
    // First address of the range; any byte. The range ends within 64 bits of address.
    input  logic [63:0]            address_i,
    // Number of bytes, at least 1.
    input  logic [LENGTH_BITS-1:0] length_i,
    // There is a range.
    input  logic                   valid_i,
    // The range is taken.
    output logic                   ready_o,
    // First address of the request.
    output logic [63:0]            address_o,
    // Number of bytes, 1 to 4096; a register.
    output logic [12:0]            bytes_o,
    // The last request of its range; a register.
    output logic                   last_o,
    // There is a request; a register.
    output logic                   valid_o,
    // The request is taken.
    input  logic                   ready_i,
    // The range is dropped, at the next edge; one that is taken at that edge, too.
    input  logic                   stop_i,
    // A range is in progress.
    output logic                   busy_o
);

  `REQUIRE(gen_length, LENGTH_BITS >= 13 && LENGTH_BITS <= 32, "request_splitter: LENGTH_BITS is the size of a length; it must be 13 to 32")

  localparam logic [12:0] PAGE = 13'(peerlane_pkg::PAGE);

  // The rest of the range, its next request, and whether that ends with the page.
  logic [63:0]            address_q;
  logic [LENGTH_BITS-1:0] left_q;
  logic                   busy_q;
  logic [12:0]            bytes_q;
  logic                   last_q;
  logic                   fills_q;
  logic                   valid_q;
  logic [12:0]            largest;
  logic [12:0]            page;
  logic [11:0]            reach;
  logic                   fills;
  logic                   in_largest;
  logic                   in_page;
  logic                   is_last;
  logic                   step;

  // An unaligned request has no more dwords than an aligned one. The three limits are compared with each other at once.
  assign largest    = largest_i - {11'b0, address_q[1:0]};
  assign page       = PAGE - {1'b0, address_q[11:0]};
  assign reach      = {1'b0, largest_i[12:2]} + {2'b0, address_q[11:2]};
  assign fills      = reach >= 12'(peerlane_pkg::PAGE / 4);
  assign in_largest = left_q <= {{LENGTH_BITS - 13{1'b0}}, largest};
  assign in_page    = left_q <= {{LENGTH_BITS - 13{1'b0}}, page};
  assign is_last    = fills ? in_page : in_largest;

  assign address_o = address_q;
  assign bytes_o   = bytes_q;
  assign last_o    = last_q;
  assign valid_o   = valid_q;
  assign busy_o    = busy_q;
  assign step      = valid_q && ready_i;
  assign ready_o   = !busy_q || (step && last_q);

  always_ff @(posedge clk_i) begin
    if (!valid_q) begin
      bytes_q <= is_last ? left_q[12:0] : fills ? page : largest;
      last_q  <= is_last;
      fills_q <= fills;
    end
    valid_q <= valid_q ? !ready_i : busy_q;
    if (ready_o) begin
      address_q <= address_i;
      left_q    <= length_i;
      busy_q    <= valid_i;
    end else if (step) begin
      // A request that does not end the range ends with the page, or before it.
      address_q <= {address_q[63:12] + {51'b0, fills_q}, address_q[11:0] + bytes_q[11:0]};
      left_q    <= left_q - {{LENGTH_BITS - 13{1'b0}}, bytes_q};
    end
    if (stop_i || rst_i) begin
      busy_q  <= 1'b0;
      valid_q <= 1'b0;
    end
  end

  `STAYS(offer, 64 + 13 + 1, {address_o, bytes_o, last_o}, valid_o, ready_i, stop_i)

`ifdef FORMAL
  `include "request_splitter.svh"
`endif

endmodule
