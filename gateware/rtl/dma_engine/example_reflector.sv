// A reflector: commands of its own send each write of a peer back to one address, with its size, data and label. A write is taken whole, or not
// at all. Transfers that the host starts send the words of a source.

`include "require.svh"

module example_reflector #(
    // Bytes of the FIFO for data, a power of two, at least the largest payload.
    parameter int FIFO_BYTES = 4096
) (
    // Clock of all ports: the engine's.
    input  logic        clk_i,
    // Synchronous reset: nothing is held.
    input  logic        rst_i,
    // The address to send to.
    input  logic [63:0] reply_i,
    // RX is taken at once.
    output logic        rx_tready,
    // EP_RX, with the label in bits 15:0 of `tuser`, and the most bytes of the packet in bits 28:16.
    input  logic [63:0] ep_rx_tdata,
    input  logic [7:0]  ep_rx_tkeep,
    input  logic        ep_rx_tlast,
    input  logic [28:0] ep_rx_tuser,
    input  logic        ep_rx_tvalid,
    output logic        ep_rx_tready,
    // TX.
    output logic [63:0] tx_tdata,
    output logic        tx_tvalid,
    input  logic        tx_tready,
    // EP_TX.
    output logic [63:0] ep_tx_tdata,
    output logic        ep_tx_tvalid,
    input  logic        ep_tx_tready,
    // EP_TX_CMD.
    output logic [63:0] ep_tx_cmd_address_o,
    output logic [31:0] ep_tx_cmd_length_o,
    output logic [15:0] ep_tx_cmd_label_o,
    output logic        ep_tx_cmd_valid_o,
    input  logic        ep_tx_cmd_ready_i,
    // A command has EP_TX.
    input  logic        ep_tx_commanded_i,
    // A transfer of the host begins, from TX, from EP_TX. Pulses.
    input  logic        tx_start_i,
    input  logic        ep_tx_start_i,
    // The first words of the source.
    input  logic [63:0] tx_pattern_i,
    input  logic [63:0] ep_tx_pattern_i,
    // A write is to be sent back.
    output logic        active_o
);

  localparam int WORDS = FIFO_BYTES / 8;
  // Bits of `packet_t`.
  localparam int PACKET = 29;

  typedef struct packed {
    logic [12:0] size;
    logic [15:0] label;
  } packet_t;

  `REQUIRE(gen_fifo, FIFO_BYTES >= peerlane_pkg::MOST_PAYLOAD, "dma_engine: a reflector takes each write of a peer whole; with USER = 3, FIFO_BYTES must be 4096, the largest payload")

  // The writes to send back: their sizes and labels, and their words.
  packet_t                arriving;
  packet_t                packet;
  packet_t                next;
  logic                   begun_q;
  logic [12:0]            came_q;
  logic [12:0]            size;
  logic                   takes;
  logic                   space;
  logic                   fits;
  logic [5:0]             queued;
  logic [$clog2(WORDS):0] words;
  logic [63:0]            back_data;
  logic                   back_valid;
  logic [63:0]            source_data;
  logic                   source_valid;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [12:0]            most;
  /* verilator lint_on UNUSEDSIGNAL */

  function automatic logic [12:0] count(input logic [7:0] lanes);
    count = '0;
    for (int k = 0; k < 8; k = k + 1) count = count + {12'b0, lanes[k]};
  endfunction

  assign arriving     = ep_rx_tuser;
  assign packet.size  = size;
  assign packet.label = arriving.label;

  fifo #(
      .WIDTH(PACKET),
      .DEPTH(32)
  ) packets (
      .clk_i,
      .rst_i,
      .data_i (packet),
      .valid_i(ep_rx_tvalid && ep_rx_tlast && takes),
      .ready_o(space),
      .data_o (next),
      .valid_o(ep_tx_cmd_valid_o),
      .ready_i(ep_tx_cmd_ready_i),
      .level_o(queued)
  );

  fifo #(
      .WIDTH(64),
      .DEPTH(WORDS)
  ) data (
      .clk_i,
      .rst_i,
      .data_i (ep_rx_tdata),
      .valid_i(ep_rx_tvalid && takes),
      .ready_o(fits),
      .data_o (back_data),
      .valid_o(back_valid),
      .ready_i(ep_tx_tready && ep_tx_commanded_i),
      .level_o(words)
  );

  pattern_source tx (
      .clk_i,
      .start_i(tx_start_i),
      .first_i(tx_pattern_i),
      .tdata  (tx_tdata),
      .tvalid (tx_tvalid),
      .tready (tx_tready)
  );

  pattern_source ep_tx (
      .clk_i,
      .start_i(ep_tx_start_i),
      .first_i(ep_tx_pattern_i),
      .tdata  (source_data),
      .tvalid (source_valid),
      .tready (ep_tx_tready && !ep_tx_commanded_i)
  );

  // A write that has begun does not wait: both FIFOs have space for all of it.
  assign most                = arriving.size + 13'd7;
  assign takes               = fits && (begun_q || (space && {1'b0, most[12:3]} + 11'(words) <= 11'(WORDS)));
  assign size                = (begun_q ? came_q : '0) + count(ep_rx_tkeep);
  assign ep_rx_tready        = takes;
  assign rx_tready           = 1'b1;
  assign ep_tx_tdata         = ep_tx_commanded_i ? back_data : source_data;
  assign ep_tx_tvalid        = ep_tx_commanded_i ? back_valid : source_valid;
  assign ep_tx_cmd_address_o = reply_i;
  assign ep_tx_cmd_length_o  = {19'b0, next.size};
  assign ep_tx_cmd_label_o   = next.label;
  // A write that is still inside the queue counts: the clock must not stop before it comes out.
  assign active_o            = ep_tx_cmd_valid_o || queued != '0;

  always_ff @(posedge clk_i) begin
    if (ep_rx_tvalid && takes) begin
      came_q  <= size;
      begun_q <= !ep_rx_tlast;
    end
    if (rst_i) begun_q <= 1'b0;
  end

endmodule
