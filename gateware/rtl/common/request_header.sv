// The header of a memory request (PCIe Base 2.2.7), in the order of a stream's lanes. What depends on the request is in registers.

module request_header (
    // Clock.
    input  logic         clk_i,
    // The request is taken; its header is there from the next edge on, until the next request is taken.
    input  logic         load_i,
    // A write; otherwise a read. Stable, as are class, ordering and requester.
    input  logic         write_i,
    // First address; any byte.
    input  logic [63:0]  address_i,
    // Number of bytes, 1 to 4096, within a 4 KiB page.
    input  logic [12:0]  bytes_i,
    // Requester ID.
    input  logic [15:0]  requester_i,
    // Tag, up to 10 bits; 0 in a write.
    input  logic [9:0]   tag_i,
    // Traffic class.
    input  logic [2:0]   traffic_class_i,
    // Relaxed ordering in bit 1, no snoop in bit 0.
    input  logic [1:0]   ordering_i,
    // Byte k of the header in bits 8k+7 to 8k; a header of 12 bytes has zeros after it.
    output logic [127:0] header_o,
    // The header has 16 bytes; otherwise 12.
    output logic         wide_o,
    // Dwords of the request, 1 to 1024.
    output logic [10:0]  dwords_o
);

  logic [63:2]  address_q;
  logic         wide_q;
  logic [10:0]  dwords_q;
  logic [3:0]   first_be_q;
  logic [3:0]   last_be_q;
  logic [9:0]   tag_q;
  logic [127:0] header;
  logic [12:0]  reach;
  logic         is_single;
  logic [3:0]   above;
  logic [3:0]   below;

  assign wide_o    = wide_q;
  assign dwords_o  = dwords_q;
  assign reach     = bytes_i + {11'b0, address_i[1:0]} + 13'd3;
  assign is_single = reach[12:3] == '0;
  // Bytes of the first dword from the address on; bytes of the last dword up to the end.
  assign above = 4'hf << address_i[1:0];
  assign below = 4'hf >> (2'd3 - reach[1:0]);

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      address_q  <= address_i[63:2];
      wide_q     <= address_i[63:32] != '0;
      dwords_q   <= reach[12:2];
      first_be_q <= is_single ? above & below : above;
      last_be_q  <= is_single ? 4'h0 : below;
      tag_q      <= tag_i;
    end
  end

  always_comb begin
    header = '0;
    header[peerlane_pkg::TLP_KIND+:8] = (write_i ? peerlane_pkg::TLP_MEMORY_WRITE : peerlane_pkg::TLP_MEMORY_READ)
        | (wide_q ? peerlane_pkg::TLP_WIDE : 8'b0);
    header[peerlane_pkg::TLP_TRAFFIC_CLASS+:3] = traffic_class_i;
    header[peerlane_pkg::TLP_ORDERING+:2] = ordering_i;
    header[peerlane_pkg::REQUEST_DWORDS+:10] = dwords_q[9:0];
    header[peerlane_pkg::REQUEST_REQUESTER+:16] = requester_i;
    header[peerlane_pkg::REQUEST_TAG_9] = tag_q[9];
    header[peerlane_pkg::REQUEST_TAG_8] = tag_q[8];
    header[peerlane_pkg::REQUEST_TAG+:8] = tag_q[7:0];
    header[peerlane_pkg::REQUEST_FIRST_BE+:4] = first_be_q;
    header[peerlane_pkg::REQUEST_LAST_BE+:4] = last_be_q;
    if (wide_q) header[peerlane_pkg::WIDE_ADDRESS+:62] = address_q;
    else header[peerlane_pkg::SHORT_ADDRESS+:30] = address_q[31:2];
  end

  assign header_o = peerlane_pkg::wire_order(header);

`ifdef FORMAL
  `include "request_header.svh"
`endif

endmodule
