// Counters of 64 bits that registers read, from 0 at reset.

`include "require.svh"

module dma_counters #(
    // Bits that count; the others are 0. A counter goes on with 0 after its largest value.
    parameter int BITS = 48
) (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // A beat of a TLP is sent.
    input  logic        tx_valid_i,
    // The link takes the beat.
    input  logic        tx_ready_i,
    // First beat of a sent TLP.
    input  logic        tx_first_i,
    // The first four bytes of the beat.
    input  logic [31:0] tx_data_i,
    // A beat of a received TLP moves.
    input  logic        rx_move_i,
    // First beat of a received TLP.
    input  logic        rx_first_i,
    // The first four bytes of the beat.
    input  logic [31:0] rx_data_i,
    // Bit k counts for the counter DMA_COUNTER_WIRE + 1 + k.
    input  logic [6:0]  events_i,
    // Number of the counter to read.
    input  logic [3:0]  number_i,
    // The counter. Combinational.
    output logic [63:0] count_o
);

  localparam int COUNTERS = peerlane_pkg::DMA_COUNTERS_END;
  localparam int WIRE = peerlane_pkg::DMA_COUNTER_WIRE;

  `REQUIRE(gen_bits, BITS >= 14 && BITS <= 64, "dma_counters: BITS is the number of bits that count; it must be 14 to 64")

  (* mem2reg *) logic [BITS-1:0] counts_q[COUNTERS];
  logic                     sent;
  logic                     received;
  logic [12:0]              sent_bytes;
  logic [12:0]              received_bytes;

  // Bytes of payload of a packet whose header has this kind and length.
  function automatic logic [12:0] payload(input logic [7:0] kind, input logic [9:0] dwords);
    payload = (kind & peerlane_pkg::TLP_DATA) == '0 ? 13'd0 : {dwords == '0, dwords, 2'b0};
  endfunction

  assign sent           = tx_valid_i && tx_ready_i && tx_first_i;
  assign received       = rx_move_i && rx_first_i;
  assign sent_bytes     = payload(tx_data_i[7:0], {tx_data_i[17:16], tx_data_i[31:24]});
  assign received_bytes = payload(rx_data_i[7:0], {rx_data_i[17:16], rx_data_i[31:24]});

  assign count_o = int'(number_i) < COUNTERS ? 64'(counts_q[number_i]) : '0;

  // What happens is counted a cycle later: header, handshake and sum are not in one path.
  logic        sent_q;
  logic        received_q;
  logic        waits_q;
  logic [6:0]  events_q;
  logic [12:0] sent_bytes_q;
  logic [12:0] received_bytes_q;

  always_ff @(posedge clk_i) begin
    sent_q           <= sent;
    received_q       <= received;
    waits_q          <= tx_valid_i && !tx_ready_i;
    events_q         <= events_i;
    sent_bytes_q     <= sent ? sent_bytes : '0;
    received_bytes_q <= received ? received_bytes : '0;
    counts_q[peerlane_pkg::DMA_COUNTER_TLPS] <= counts_q[peerlane_pkg::DMA_COUNTER_TLPS] + BITS'(sent_q);
    counts_q[peerlane_pkg::DMA_COUNTER_PAYLOAD_BYTES] <= counts_q[peerlane_pkg::DMA_COUNTER_PAYLOAD_BYTES] + BITS'(sent_bytes_q);
    counts_q[peerlane_pkg::DMA_COUNTER_RECEIVED_TLPS] <= counts_q[peerlane_pkg::DMA_COUNTER_RECEIVED_TLPS] + BITS'(received_q);
    counts_q[peerlane_pkg::DMA_COUNTER_RECEIVED_PAYLOAD_BYTES] <= counts_q[peerlane_pkg::DMA_COUNTER_RECEIVED_PAYLOAD_BYTES] + BITS'(received_bytes_q);
    counts_q[WIRE] <= counts_q[WIRE] + BITS'(waits_q);
    for (int k = 0; k < COUNTERS - WIRE - 1; k = k + 1) begin
      if (events_q[k]) counts_q[WIRE+1+k] <= counts_q[WIRE+1+k] + 1'b1;
    end
    if (rst_i) begin
      for (int k = 0; k < COUNTERS; k = k + 1) counts_q[k] <= '0;
      sent_q           <= 1'b0;
      received_q       <= 1'b0;
      waits_q          <= 1'b0;
      events_q         <= '0;
      sent_bytes_q     <= '0;
      received_bytes_q <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, tx_data_i[23:18], tx_data_i[15:8], rx_data_i[23:18], rx_data_i[15:8]};

endmodule
