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
    input  logic [7:0]  events_i,
    // Number of the counter to read.
    input  logic [3:0]  number_i,
    // The counter is read.
    input  logic        read_i,
    // The counter. Combinational.
    output logic [63:0] count_o
);

  localparam int COUNTERS = peerlane_pkg::DMA_COUNTERS_END;
  localparam int WIRE = peerlane_pkg::DMA_COUNTER_WIRE;

  `REQUIRE(gen_bits, BITS >= 14 && BITS <= 64, "dma_counters: BITS is the number of bits that count; it must be 14 to 64")

  localparam int EVENTS = COUNTERS - WIRE - 1;

  logic [BITS-1:0]          tlps_q;
  logic [BITS-1:0]          payload_bytes_q;
  logic [BITS-1:0]          received_tlps_q;
  logic [BITS-1:0]          received_payload_bytes_q;
  logic [BITS-1:0]          wire_q;
  (* mem2reg *) logic [BITS-1:0] events_q[EVENTS];
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

  always_comb begin
    count_o = '0;
    if (read_i) begin
      case (number_i)
        4'(peerlane_pkg::DMA_COUNTER_TLPS): count_o = 64'(tlps_q);
        4'(peerlane_pkg::DMA_COUNTER_PAYLOAD_BYTES): count_o = 64'(payload_bytes_q);
        4'(peerlane_pkg::DMA_COUNTER_RECEIVED_TLPS): count_o = 64'(received_tlps_q);
        4'(peerlane_pkg::DMA_COUNTER_RECEIVED_PAYLOAD_BYTES): count_o = 64'(received_payload_bytes_q);
        4'(WIRE): count_o = 64'(wire_q);
        default: for (int k = 0; k < EVENTS; k = k + 1) if (number_i == 4'(WIRE + 1 + k)) count_o = 64'(events_q[k]);
      endcase
    end
  end

  // What happens is counted a cycle later: header, handshake and sum are not in one path.
  logic        sent_q;
  logic        received_q;
  logic        waits_q;
  logic [7:0]  happened_q;
  logic [12:0] sent_bytes_q;
  logic [12:0] received_bytes_q;

  always_ff @(posedge clk_i) begin
    sent_q           <= sent;
    received_q       <= received;
    waits_q          <= tx_valid_i && !tx_ready_i;
    happened_q       <= events_i;
    sent_bytes_q     <= sent ? sent_bytes : '0;
    received_bytes_q <= received ? received_bytes : '0;
    if (sent_q) tlps_q <= tlps_q + 1'b1;
    if (sent_bytes_q != '0) payload_bytes_q <= payload_bytes_q + BITS'(sent_bytes_q);
    if (received_q) received_tlps_q <= received_tlps_q + 1'b1;
    if (received_bytes_q != '0) received_payload_bytes_q <= received_payload_bytes_q + BITS'(received_bytes_q);
    if (waits_q) wire_q <= wire_q + 1'b1;
    if (rst_i) begin
      sent_q                   <= 1'b0;
      received_q               <= 1'b0;
      waits_q                  <= 1'b0;
      happened_q               <= '0;
      sent_bytes_q             <= '0;
      received_bytes_q         <= '0;
      tlps_q                   <= '0;
      payload_bytes_q          <= '0;
      received_tlps_q          <= '0;
      received_payload_bytes_q <= '0;
      wire_q                   <= '0;
    end
  end

  // Loops that are not unrolled cost a simulation nothing in a cycle without an event.
  always_ff @(posedge clk_i) begin
    /* verilator unroll_disable */
    if (rst_i || happened_q != '0) for (int k = 0; k < EVENTS; k = k + 1) begin
      if (rst_i) events_q[k] <= '0;
      else if (happened_q[k]) events_q[k] <= events_q[k] + 1'b1;
    end
  end

  logic unused;
  assign unused = &{1'b0, tx_data_i[23:18], tx_data_i[15:8], rx_data_i[23:18], rx_data_i[15:8]};

endmodule
