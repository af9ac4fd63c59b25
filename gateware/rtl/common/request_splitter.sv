// Cuts a range of addresses into requests: within the largest size (MPS or MRRS) and a 4 KiB page (PCIe Base 2.2.7).

`include "require.svh"

module request_splitter #(
    // Bits of a length; 23 for up to 4 MiB.
    parameter int LENGTH_BITS = 23
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset: no range is in progress.
    input  logic                   rst_i,
    // Largest size, encoded as in Device Control: 0 for 128 bytes, 5 for 4096.
    input  logic [2:0]             largest_i,
    // First address of the range; any byte.
    input  logic [63:0]            address_i,
    // Number of bytes, at least 1.
    input  logic [LENGTH_BITS-1:0] length_i,
    // There is a range.
    input  logic                   valid_i,
    // The range is taken.
    output logic                   ready_o,
    // First address of the request.
    output logic [63:0]            address_o,
    // Number of bytes, 1 to 4096.
    output logic [12:0]            bytes_o,
    // The last request of its range.
    output logic                   last_o,
    // There is a request.
    output logic                   valid_o,
    // The request is taken.
    input  logic                   ready_i,
    // The requests in progress end with the next one that is offered: the rest of the range is dropped.
    input  logic                   stop_i
);

  `REQUIRE(gen_length, LENGTH_BITS >= 13 && LENGTH_BITS <= 32, "request_splitter: LENGTH_BITS is the size of a length; it must be 13 to 32")

  localparam logic [12:0] LEAST = 13'(peerlane_pkg::LEAST_PAYLOAD);
  localparam logic [12:0] PAGE = 13'(peerlane_pkg::PAGE);

  logic [63:0]            address_q;
  logic [LENGTH_BITS-1:0] left_q;
  logic                   valid_q;
  logic [12:0]            largest;
  logic [12:0]            page;
  logic [12:0]            most;
  logic                   step;

  // An unaligned request has no more dwords than an aligned one.
  assign largest = (LEAST << (largest_i > 3'd5 ? 3'd5 : largest_i)) - {11'b0, address_q[1:0]};
  assign page    = PAGE - {1'b0, address_q[11:0]};
  assign most    = largest < page ? largest : page;
  assign last_o  = left_q <= {{LENGTH_BITS - 13{1'b0}}, most};
  assign bytes_o = last_o ? left_q[12:0] : most;

  assign address_o = address_q;
  assign valid_o   = valid_q;
  assign step      = valid_q && ready_i;
  assign ready_o   = !valid_q || (step && (last_o || stop_i));

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      address_q <= address_i;
      left_q    <= length_i;
      valid_q   <= valid_i;
    end else if (step) begin
      address_q <= address_q + {51'b0, bytes_o};
      left_q    <= left_q - {{LENGTH_BITS - 13{1'b0}}, bytes_o};
    end
    if (rst_i) valid_q <= 1'b0;
  end

endmodule
