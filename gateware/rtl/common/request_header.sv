// The header of a memory request (PCIe Base 2.2.7), in the order of a stream's lanes. Combinational.

module request_header (
    // A write; otherwise a read.
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

  logic [127:0] header;
  logic [12:0]  reach;
  logic [3:0]   above;
  logic [3:0]   below;

  assign wide_o   = address_i[63:32] != '0;
  assign reach    = bytes_i + {11'b0, address_i[1:0]} + 13'd3;
  assign dwords_o = reach[12:2];
  // Bytes of the first dword from the address on; bytes of the last dword up to the end.
  assign above = 4'hf << address_i[1:0];
  assign below = 4'hf >> (2'd3 - reach[1:0]);

  always_comb begin
    header = '0;
    header[peerlane_pkg::TLP_KIND+:8] = (write_i ? peerlane_pkg::TLP_MEMORY_WRITE : peerlane_pkg::TLP_MEMORY_READ)
        | (wide_o ? peerlane_pkg::TLP_WIDE : 8'b0);
    header[peerlane_pkg::TLP_TRAFFIC_CLASS+:3] = traffic_class_i;
    header[peerlane_pkg::TLP_ORDERING+:2] = ordering_i;
    header[peerlane_pkg::REQUEST_DWORDS+:10] = dwords_o[9:0];
    header[peerlane_pkg::REQUEST_REQUESTER+:16] = requester_i;
    header[peerlane_pkg::REQUEST_TAG_9] = tag_i[9];
    header[peerlane_pkg::REQUEST_TAG_8] = tag_i[8];
    header[peerlane_pkg::REQUEST_TAG+:8] = tag_i[7:0];
    header[peerlane_pkg::REQUEST_FIRST_BE+:4] = dwords_o == 11'd1 ? above & below : above;
    header[peerlane_pkg::REQUEST_LAST_BE+:4] = dwords_o == 11'd1 ? 4'h0 : below;
    if (wide_o) header[peerlane_pkg::WIDE_ADDRESS+:62] = address_i[63:2];
    else header[peerlane_pkg::SHORT_ADDRESS+:30] = address_i[31:2];
  end

  assign header_o = peerlane_pkg::wire_order(header);

endmodule
