// Holds each packet of a stream until the link has the credits for it (PCIe Base 2.6).

`include "require.svh"

module credit_gate #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64,
    // Bits of the header counters; 8 without scaled flow control.
    parameter int HEADER_BITS = 8,
    // Bits of the data counters; 12 without scaled flow control.
    parameter int DATA_BITS = 12
) (
    // Clock.
    input  logic                     clk_i,
    // Synchronous reset, while the link has no credits.
    input  logic                     rst_i,
    // CREDIT_LIMIT of headers: posted, non-posted and completion, posted in the lowest bits.
    input  logic [3*HEADER_BITS-1:0] header_limit_i,
    // CREDIT_LIMIT of data, in the same order.
    input  logic [3*DATA_BITS-1:0]   data_limit_i,
    // Classes whose headers have infinite credits, posted in bit 0.
    input  logic [2:0]               header_infinite_i,
    // Classes whose data has infinite credits.
    input  logic [2:0]               data_infinite_i,
    // Data.
    input  logic [W-1:0]             data_i,
    // Bytes in the beat.
    input  logic [$clog2(W/8):0]     bytes_i,
    // First beat of a packet.
    input  logic                     first_i,
    // Last beat of a packet.
    input  logic                     last_i,
    // There is a beat.
    input  logic                     valid_i,
    // The beat is taken.
    output logic                     ready_o,
    // Data.
    output logic [W-1:0]             data_o,
    // Bytes in the beat.
    output logic [$clog2(W/8):0]     bytes_o,
    // First beat of a packet.
    output logic                     first_o,
    // Last beat of a packet.
    output logic                     last_o,
    // There is a beat, and credits for its packet.
    output logic                     valid_o,
    // The beat is taken.
    input  logic                     ready_i,
    // A packet waits for credits: posted, non-posted or completion.
    output logic [2:0]               waits_o
);

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "credit_gate: W is the number of bits of a beat; it must be 64, 128 or 256")
  `REQUIRE(gen_data, DATA_BITS >= 10, "credit_gate: DATA_BITS is the size of the data counters; a packet takes up to 256 credits, so it must be at least 10")

  localparam int PER_CREDIT = peerlane_pkg::CREDIT / 4;

  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0]          header;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [7:0]            kind;
  logic [9:0]            length;
  logic [10:0]           dwords;
  logic [10:0]           credits;
  logic [DATA_BITS-1:0]  need;
  logic                  is_posted;
  logic                  is_completion;
  logic [2:0]            class_of;
  logic [2:0]            ok;
  logic                  pass;
  logic                  take;

  assign header  = peerlane_pkg::wire_order({64'b0, data_i[63:0]});
  assign kind    = header[peerlane_pkg::TLP_KIND+:8];
  assign length  = header[peerlane_pkg::REQUEST_DWORDS+:10];
  assign dwords  = {length == '0, length};
  assign credits = (dwords + 11'(PER_CREDIT - 1)) / 11'(PER_CREDIT);
  assign need    = (kind & peerlane_pkg::TLP_DATA) != '0 ? DATA_BITS'(credits) : '0;

  assign is_completion = (kind & ~peerlane_pkg::TLP_DATA) == peerlane_pkg::TLP_COMPLETION;
  assign is_posted     = (kind & ~peerlane_pkg::TLP_WIDE) == peerlane_pkg::TLP_MEMORY_WRITE
      || (kind & peerlane_pkg::TLP_MESSAGE_MASK) == peerlane_pkg::TLP_MESSAGE;
  assign class_of      = {is_completion, !is_posted && !is_completion, is_posted};

  for (genvar k = 0; k < 3; k = k + 1) begin : gen_class
    credit_counter #(
        .HEADER_BITS(HEADER_BITS),
        .DATA_BITS  (DATA_BITS)
    ) counter (
        .clk_i,
        .rst_i,
        .header_limit_i   (header_limit_i[k*HEADER_BITS+:HEADER_BITS]),
        .data_limit_i     (data_limit_i[k*DATA_BITS+:DATA_BITS]),
        .header_infinite_i(header_infinite_i[k]),
        .data_infinite_i  (data_infinite_i[k]),
        .need_i           (need),
        .ok_o             (ok[k]),
        .take_i           (take && class_of[k])
    );
  end

  assign pass    = !first_i || (ok & class_of) != '0;
  assign take    = valid_i && first_i && pass && ready_i;
  assign data_o  = data_i;
  assign bytes_o = bytes_i;
  assign first_o = first_i;
  assign last_o  = last_i;
  assign valid_o = valid_i && pass;
  assign ready_o = ready_i && pass;
  assign waits_o = valid_i && !pass ? class_of : '0;

`ifdef FORMAL
  `include "credit_gate.svh"
`endif

endmodule
