// The credits of one class of packets: CREDITS_CONSUMED against CREDIT_LIMIT, for headers and for data (PCIe Base 2.6.1.2).

`include "require.svh"

module credit_counter #(
    // Bits of the header counters; 8 without scaled flow control.
    parameter int HEADER_BITS = 8,
    // Bits of the data counters; 12 without scaled flow control.
    parameter int DATA_BITS = 12
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset, while the link has no credits: nothing is consumed.
    input  logic                   rst_i,
    // CREDIT_LIMIT of headers, of the last InitFC or UpdateFC. It only grows, modulo its size.
    input  logic [HEADER_BITS-1:0] header_limit_i,
    // CREDIT_LIMIT of data.
    input  logic [DATA_BITS-1:0]   data_limit_i,
    // Headers have infinite credits: InitFC advertised 0.
    input  logic                   header_infinite_i,
    // Data has infinite credits.
    input  logic                   data_infinite_i,
    // Data credits that the packet needs, less than half of the counter's range; it needs one for its header.
    input  logic [DATA_BITS-1:0]   need_i,
    // The packet may be sent.
    output logic                   ok_o,
    // The packet is sent: its credits are consumed at the next edge.
    input  logic                   take_i
);

  `REQUIRE(gen_header, HEADER_BITS >= 2, "credit_counter: HEADER_BITS is the size of the header counters; it must be at least 2")
  `REQUIRE(gen_data, DATA_BITS >= 2, "credit_counter: DATA_BITS is the size of the data counters; it must be at least 2")

  localparam logic [HEADER_BITS-1:0] HEADER_HALF = {1'b1, {HEADER_BITS - 1{1'b0}}};
  localparam logic [DATA_BITS-1:0] DATA_HALF = {1'b1, {DATA_BITS - 1{1'b0}}};

  logic [HEADER_BITS-1:0] header_q;
  logic [DATA_BITS-1:0]   data_q;
  logic [HEADER_BITS-1:0] header_d;
  logic [DATA_BITS-1:0]   data_d;
  logic [DATA_BITS-1:0]   data_left;
  logic                   header_ok;
  logic                   data_ok;

  assign header_d  = header_q + 1'b1;
  assign data_d    = data_q + need_i;
  assign header_ok = header_infinite_i || (header_limit_i - header_d) <= HEADER_HALF;
  // What the packet needs comes late: it is compared with what is left.
  assign data_left = data_limit_i - data_q;
  assign data_ok   = data_infinite_i || need_i == '0 || (data_left - need_i) <= DATA_HALF;
  assign ok_o      = header_ok && data_ok;

  always_ff @(posedge clk_i) begin
    if (take_i) begin
      header_q <= header_d;
      data_q   <= data_d;
    end
    if (rst_i) begin
      header_q <= '0;
      data_q   <= '0;
    end
  end

`ifdef FORMAL
  `include "credit_counter.svh"
`endif

endmodule
