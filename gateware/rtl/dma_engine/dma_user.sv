// The user circuit with what it needs to take RX and EP_RX and to give TX and EP_TX: its sources, its FIFOs, or its reflector.

module dma_user #(
    // User circuit: 0 source and sink that never stall, 1 loopback, 2 interconnect matrix, 3 reflector.
    parameter int USER = 0,
    // Bytes of each of the four FIFOs, a power of two, 16 to 4096.
    parameter int FIFO_BYTES = 4096,
    // Cycles after which the peer timer no longer waits for the data of a peer.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock of all ports.
    input  logic         clk_i,
    // Synchronous reset.
    input  logic         rst_i,
    // Clock of the user circuit.
    input  logic         user_clk_i,
    // Reset of the user circuit, synchronous to its clock.
    input  logic         user_rst_i,
    // Requester ID of a reflector.
    input  logic [15:0]  function_id_i,
    // Largest payload of a reflector's packets in bytes.
    input  logic [12:0]  payload_i,
    // The address to which a reflector sends.
    input  logic [63:0]  reply_i,
    // The matrix is crossed.
    input  logic         crossed_i,
    // A transfer begins, from TX in bit 0, from EP_TX in bit 1.
    input  logic [1:0]   start_i,
    // First word of the source's data for TX in bits 63:0, for EP_TX in bits 127:64.
    input  logic [127:0] pattern_i,

    // RX: data that was read, from lane 0 on.
    input  logic [63:0]  rx_data_i,
    // Number of bytes.
    input  logic [3:0]   rx_bytes_i,
    // There is data.
    input  logic         rx_valid_i,
    // The data is taken.
    output logic         rx_ready_o,
    // Number of bytes in the FIFO of RX.
    output logic [12:0]  rx_level_o,

    // EP_RX: data that a peer writes, from lane 0 on.
    input  logic [63:0]  peer_data_i,
    // Number of bytes.
    input  logic [3:0]   peer_bytes_i,
    // First bytes of a packet.
    input  logic         peer_first_i,
    // Last bytes of a packet.
    input  logic         peer_last_i,
    // Number of bytes of the packet.
    input  logic [12:0]  peer_size_i,
    // Label of the packet.
    input  logic [15:0]  peer_label_i,
    // There is data of a peer.
    input  logic         peer_valid_i,
    // The data is taken.
    output logic         peer_ready_o,

    // The oldest bytes of TX in bits 63:0 and of EP_TX in bits 127:64.
    output logic [127:0] data_o,
    // Number of bytes of TX in bits 12:0, of EP_TX in bits 25:13.
    output logic [25:0]  level_o,
    // Number of bytes to remove from TX in bits 3:0, from EP_TX in bits 7:4.
    input  logic [7:0]   pop_i,

    // Data of a reflected packet.
    output logic [63:0]  back_data_o,
    // Bytes in the beat.
    output logic [3:0]   back_bytes_o,
    // First beat of a packet.
    output logic         back_first_o,
    // Last beat of a packet.
    output logic         back_last_o,
    // There is a beat.
    output logic         back_valid_o,
    // Label of the packet.
    output logic [15:0]  back_label_o,
    // The beat is taken.
    input  logic         back_ready_i,

    // The peer timer is to measure the next transfer from EP_TX. A pulse.
    input  logic         time_peer_i,
    // The peer timer has ended. A pulse.
    output logic         timed_o,
    // The cycles that it has measured; 0 if no data of a peer came.
    output logic [31:0]  cycles_o,

    // Bytes move, so the clocks are needed.
    output logic         moves_o,
    // A write is to be sent back, or the peer timer runs.
    output logic         busy_o
);

  localparam int SOURCE_SINK = 0;
  localparam int LOOPBACK = 1;
  localparam int REFLECTOR = 3;
  // Source and sink, and the reflector, never let a unit wait for data or space.
  localparam bit NEVER_STALLS = USER == SOURCE_SINK || USER == REFLECTOR;
  localparam logic [12:0] FULL = 13'(peerlane_pkg::MOST_PAYLOAD);

  logic reflects;
  logic times;
  assign busy_o = reflects || times;

  generate
    if (NEVER_STALLS) begin : gen_source
      for (genvar d = 0; d < 2; d = d + 1) begin : gen_direction
        pattern_source source (
            .clk_i,
            .start_i(pattern_i[64*d+:64]),
            .load_i (start_i[d]),
            .data_o (data_o[64*d+:64]),
            .pop_i  (pop_i[4*d+:4])
        );
        assign level_o[13*d+:13] = FULL;
      end
      assign rx_level_o = '0;
      assign rx_ready_o = 1'b1;
      assign moves_o    = 1'b0;
      logic unused_sink;
      assign unused_sink = &{1'b0, rx_data_i, rx_bytes_i, rx_valid_i, user_clk_i, user_rst_i, crossed_i};
    end else begin : gen_streams
      user_streams #(
          .LOOPBACK(USER == LOOPBACK ? 1 : 0),
          .FIFO_BYTES(FIFO_BYTES)
      ) streams (
          .clk_i,
          .rst_i,
          .user_clk_i,
          .user_rst_i,
          .crossed_i,
          .data_i    ({peer_data_i, rx_data_i}),
          .bytes_i   ({peer_bytes_i, rx_bytes_i}),
          .valid_i   ({peer_valid_i, rx_valid_i}),
          .ready_o   ({peer_ready_o, rx_ready_o}),
          .rx_level_o,
          .data_o,
          .level_o,
          .pop_i,
          .moves_o
      );
      logic unused_streams;
      assign unused_streams = &{1'b0, pattern_i, start_i};
    end

    if (USER == REFLECTOR) begin : gen_reflector
      dma_reflector #(
          .FIFO_BYTES(FIFO_BYTES)
      ) reflector (
          .clk_i,
          .rst_i,
          .function_id_i,
          .payload_i,
          .reply_i,
          .peer_data_i,
          .peer_bytes_i,
          .peer_first_i,
          .peer_last_i,
          .peer_size_i,
          .peer_label_i,
          .peer_valid_i,
          .peer_ready_o,
          .data_o (back_data_o),
          .bytes_o(back_bytes_o),
          .first_o(back_first_o),
          .last_o (back_last_o),
          .valid_o(back_valid_o),
          .label_o(back_label_o),
          .ready_i(back_ready_i),
          .busy_o (reflects)
      );
    end else begin : gen_no_reflector
      assign back_data_o  = '0;
      assign back_bytes_o = '0;
      assign back_first_o = 1'b0;
      assign back_last_o  = 1'b0;
      assign back_valid_o = 1'b0;
      assign back_label_o = '0;
      assign reflects     = 1'b0;
      logic unused_reflector;
      assign unused_reflector = &{
        1'b0, function_id_i, payload_i, reply_i, peer_first_i, peer_last_i, peer_size_i, peer_label_i, back_ready_i
      };
    end

    if (USER == SOURCE_SINK) begin : gen_sink
      assign peer_ready_o = 1'b1;
      peer_timer #(
          .TIMEOUT(TIMEOUT)
      ) timer (
          .clk_i,
          .rst_i,
          .arm_i    (time_peer_i),
          .start_i  (start_i[1]),
          .sends_i  (pop_i[7:4] != '0),
          .arrives_i(peer_valid_i),
          .done_o   (timed_o),
          .cycles_o,
          .busy_o   (times)
      );
      logic unused_sink;
      assign unused_sink = &{1'b0, peer_data_i, peer_bytes_i};
    end else begin : gen_no_timer
      assign timed_o  = 1'b0;
      assign cycles_o = '0;
      assign times    = 1'b0;
      logic unused_timer;
      assign unused_timer = &{1'b0, time_peer_i};
    end
  endgenerate

endmodule
