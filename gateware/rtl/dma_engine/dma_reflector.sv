// Sends each write of a peer back to one address, with its size, data and label. A write begins only when there is space for all of it.

`include "require.svh"

module dma_reflector #(
    // Bytes of the FIFO for data, a power of two, at least the largest payload.
    parameter int FIFO_BYTES = 4096
) (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: nothing is held.
    input  logic        rst_i,
    // Requester ID.
    input  logic [15:0] function_id_i,
    // Largest payload in bytes.
    input  logic [12:0] payload_i,
    // The address to send to.
    input  logic [63:0] reply_i,
    // Data that a peer writes, from lane 0 on.
    input  logic [63:0] peer_data_i,
    // Number of bytes.
    input  logic [3:0]  peer_bytes_i,
    // First bytes of a packet.
    input  logic        peer_first_i,
    // Last bytes of a packet.
    input  logic        peer_last_i,
    // Upper limit of the packet's bytes, from its header.
    input  logic [12:0] peer_size_i,
    // Label of the packet.
    input  logic [15:0] peer_label_i,
    // There is data of a peer.
    input  logic        peer_valid_i,
    // The data is taken.
    output logic        peer_ready_o,
    // Data of a packet.
    output logic [63:0] data_o,
    // Bytes in the beat.
    output logic [3:0]  bytes_o,
    // First beat of a packet.
    output logic        first_o,
    // Last beat of a packet.
    output logic        last_o,
    // There is a beat.
    output logic        valid_o,
    // Label of the packet.
    output logic [15:0] label_o,
    // The beat is taken.
    input  logic        ready_i,
    // A write is to be sent back.
    output logic        busy_o
);

  `REQUIRE(gen_fifo, FIFO_BYTES >= peerlane_pkg::MOST_PAYLOAD, "dma_engine: a reflector takes each write of a peer whole; with USER = 3, FIFO_BYTES must be 4096, the largest payload")

  // The writes to send back: their sizes and labels, and their data.
  logic [28:0]                 next;
  logic                        next_valid;
  logic                        next_ready;
  logic                        next_taken;
  logic                        space;
  logic                        fits;
  logic                        takes;
  logic [12:0]                 came_q;
  logic [12:0]                 came;
  logic [63:0]                 back_data;
  logic [$clog2(FIFO_BYTES):0] back_level;
  logic [3:0]                  back_pop;
  logic [15:0]                 label_q;
  logic                        started_q;
  logic                        label_taken_q;
  logic                        working;
  logic                        ended;
  logic [5:0]                  queued;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [31:0]                 back_timer;
  logic                        holds;
  /* verilator lint_on UNUSEDSIGNAL */

  fifo #(
      .WIDTH(29),
      .DEPTH(32)
  ) sizes (
      .clk_i,
      .rst_i,
      .data_i ({peer_label_i, came}),
      .valid_i(peer_valid_i && peer_last_i && takes),
      .ready_o(space),
      .data_o (next),
      .valid_o(next_valid),
      .ready_i(next_taken),
      .level_o(queued)
  );

  byte_fifo #(
      .BYTES(FIFO_BYTES)
  ) data (
      .clk_i,
      .rst_i,
      .data_i (peer_data_i),
      .bytes_i(peer_bytes_i),
      .valid_i(peer_valid_i && takes),
      .ready_o(fits),
      .data_o (back_data),
      .level_o(back_level),
      .pop_i  (back_pop)
  );

  dma_sender back (
      .clk_i,
      .rst_i,
      .function_id_i,
      .payload_i,
      .traffic_class_i(3'd0),
      .start_i        (next_valid && !started_q),
      .address_i      (reply_i),
      .length_i       ({19'b0, next[12:0]}),
      .range_valid_i  (next_valid && started_q && !label_taken_q),
      .range_ready_o  (next_ready),
      .range_end_i    (label_taken_q),
      .data_i         (back_data),
      .level_i        (13'(back_level)),
      .pop_o          (back_pop),
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o,
      .ready_i,
      .leaving_i      (1'b0),
      .busy_o         (working),
      .holds_o        (holds),
      .done_o         (ended),
      .timer_o        (back_timer)
  );

  assign next_taken   = next_valid && started_q && !label_taken_q && next_ready;
  // A write that has begun does not wait: the FIFO has space for it, in pieces of eight bytes, and the queue has space for its entry.
  assign takes        = fits && (!peer_first_i || (space && peer_size_i <= 13'(FIFO_BYTES) - 13'({back_level[$clog2(FIFO_BYTES):3], 3'b0}) - (back_level[2:0] != '0 ? 13'd8 : 13'd0)));
  assign came         = (peer_first_i ? '0 : came_q) + {9'b0, peer_bytes_i};
  assign peer_ready_o = takes;
  assign label_o      = label_q;
  // A write that is still inside the queue counts: the clock must not stop before it comes out.
  assign busy_o       = working || next_valid || queued != '0;

  always_ff @(posedge clk_i) begin
    if (next_valid && !started_q) begin
      started_q     <= 1'b1;
      label_taken_q <= 1'b0;
    end
    if (next_taken) begin
      label_q       <= next[28:13];
      label_taken_q <= 1'b1;
    end
    if (ended) started_q <= 1'b0;
    if (peer_valid_i && takes) came_q <= came;
    if (rst_i) begin
      started_q     <= 1'b0;
      label_taken_q <= 1'b0;
    end
  end

endmodule
