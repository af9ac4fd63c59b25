// The streams RX, EP_RX, TX and EP_TX, each with a FIFO and a crossing to the clock of the user's logic, where they are AXI4-Streams.

`include "require.svh"

module user_streams #(
    // Bytes of each of the four FIFOs, a power of two, 256 to 4096.
    parameter int FIFO_BYTES = 4096,
    // Whether there is EP_RX.
    parameter int PEER_WRITES = 1
) (
    // Clock of the engine.
    input  logic        clk_i,
    // Synchronous reset: the FIFOs are empty.
    input  logic        rst_i,
    // Clock of the user's logic.
    input  logic        user_clk_i,
    // Reset of the user's logic, synchronous to its clock.
    input  logic        user_rst_i,

    // RX: data that was read, from lane 0 on.
    input  logic [63:0] rx_data_i,
    // Number of bytes.
    input  logic [3:0]  rx_bytes_i,
    // There is data.
    input  logic        rx_valid_i,
    // The data is taken.
    output logic        rx_ready_o,
    // Number of bytes in the FIFO.
    output logic [12:0] rx_level_o,
    // A transfer has ended, all of its data was taken before. A pulse.
    input  logic        rx_end_i,

    // EP_RX: data that a peer writes, from lane 0 on.
    input  logic [63:0] peer_data_i,
    // Number of bytes: 8, or 1 to 8 where they are the last.
    input  logic [3:0]  peer_bytes_i,
    // First bytes of a packet.
    input  logic        peer_first_i,
    // Last bytes of a packet.
    input  logic        peer_last_i,
    // The most bytes that the packet has.
    input  logic [12:0] peer_size_i,
    // There is data of a peer.
    input  logic        peer_valid_i,
    // The data is taken: the first bytes only if the whole packet has space.
    output logic        peer_ready_o,

    // The oldest bytes of TX.
    output logic [63:0] tx_data_o,
    // Number of bytes in the FIFO of TX.
    output logic [12:0] tx_level_o,
    // Number of bytes to remove from TX.
    input  logic [3:0]  tx_pop_i,
    // The oldest bytes of EP_TX.
    output logic [63:0] ep_tx_data_o,
    // Number of bytes in the FIFO of EP_TX.
    output logic [12:0] ep_tx_level_o,
    // Number of bytes to remove from EP_TX.
    input  logic [3:0]  ep_tx_pop_i,

    // RX in the user's clock.
    output logic [63:0] m_axis_rx_tdata,
    output logic [7:0]  m_axis_rx_tkeep,
    output logic        m_axis_rx_tlast,
    output logic        m_axis_rx_tvalid,
    input  logic        m_axis_rx_tready,
    // EP_RX in the user's clock.
    output logic [63:0] m_axis_ep_rx_tdata,
    output logic [7:0]  m_axis_ep_rx_tkeep,
    output logic        m_axis_ep_rx_tlast,
    output logic        m_axis_ep_rx_tvalid,
    input  logic        m_axis_ep_rx_tready,
    // TX in the user's clock.
    input  logic [63:0] s_axis_tx_tdata,
    input  logic [7:0]  s_axis_tx_tkeep,
    input  logic        s_axis_tx_tvalid,
    output logic        s_axis_tx_tready,
    // EP_TX in the user's clock.
    input  logic [63:0] s_axis_ep_tx_tdata,
    input  logic [7:0]  s_axis_ep_tx_tkeep,
    input  logic        s_axis_ep_tx_tvalid,
    output logic        s_axis_ep_tx_tready,

    // Bytes move, so the clocks are needed.
    output logic        moves_o
);

  localparam int WORDS = FIFO_BYTES / 8;
  localparam int LEVEL = $clog2(FIFO_BYTES) + 1;
  // Bits of `in_word_t` and of `out_word_t`.
  localparam int IN = 69;
  localparam int OUT = 68;

  typedef struct packed {
    logic        last;
    logic [3:0]  bytes;
    logic [63:0] data;
  } in_word_t;

  typedef struct packed {
    logic [3:0]  bytes;
    logic [63:0] data;
  } out_word_t;

  `REQUIRE(gen_whole, PEER_WRITES == 0 || FIFO_BYTES >= peerlane_pkg::MOST_PAYLOAD, "dma_engine: EP_RX takes each write of a peer whole; with PEER_WRITES and FIFOS, FIFO_BYTES must be 4096, the largest payload")

  function automatic logic [7:0] keep(input logic [3:0] bytes);
    keep = ~(8'hff << bytes);
  endfunction

  function automatic logic [3:0] count(input logic [7:0] lanes);
    count = '0;
    for (int k = 0; k < 8; k = k + 1) count = count + {3'b0, lanes[k]};
  endfunction

  // RX: whole words, but for the last one of a transfer.
  in_word_t              packed_word;
  logic                  packed_valid;
  logic                  packed_ready;
  logic                  ending;
  in_word_t              rx_word;
  logic                  rx_valid;
  logic                  rx_ready;
  logic [$clog2(WORDS):0] rx_words;
  in_word_t              rx;

  user_packer packer (
      .clk_i,
      .rst_i,
      .data_i (rx_data_i),
      .bytes_i(rx_bytes_i),
      .valid_i(rx_valid_i),
      .ready_o(rx_ready_o),
      .end_i  (rx_end_i),
      .data_o (packed_word.data),
      .bytes_o(packed_word.bytes),
      .last_o (packed_word.last),
      .valid_o(packed_valid),
      .ready_i(packed_ready),
      .busy_o (ending)
  );

  fifo #(
      .WIDTH(IN),
      .DEPTH(WORDS)
  ) rx_fifo (
      .clk_i,
      .rst_i,
      .data_i (packed_word),
      .valid_i(packed_valid),
      .ready_o(packed_ready),
      .data_o (rx_word),
      .valid_o(rx_valid),
      .ready_i(rx_ready),
      .level_o(rx_words)
  );

  fifo_cdc #(
      .WIDTH(IN),
      .DEPTH(16)
  ) rx_crossing (
      .write_clk_i(clk_i),
      .write_rst_i(rst_i),
      .data_i     (rx_word),
      .valid_i    (rx_valid),
      .ready_o    (rx_ready),
      .read_clk_i (user_clk_i),
      .read_rst_i (user_rst_i),
      .data_o     (rx),
      .valid_o    (m_axis_rx_tvalid),
      .ready_i    (m_axis_rx_tready)
  );

  assign rx_level_o      = 13'({rx_words, 3'b0});
  assign m_axis_rx_tdata = rx.data;
  assign m_axis_rx_tkeep = keep(rx.bytes);
  assign m_axis_rx_tlast = rx.last;

  // EP_RX: a packet begins only where there is space for all of it.
  logic peer_moves;
  generate
    if (PEER_WRITES != 0) begin : gen_ep_rx
      in_word_t               peer;
      in_word_t               word;
      in_word_t               ep_rx;
      logic                   valid;
      logic                   ready;
      logic                   space;
      logic                   fits;
      logic [$clog2(WORDS):0] words;
      /* verilator lint_off UNUSEDSIGNAL */
      logic [12:0]            size;
      /* verilator lint_on UNUSEDSIGNAL */

      assign peer.last    = peer_last_i;
      assign peer.bytes   = peer_bytes_i;
      assign peer.data    = peer_data_i;
      assign size         = peer_size_i + 13'd7;
      assign fits         = {1'b0, size[12:3]} + 11'(words) <= 11'(WORDS);
      assign peer_ready_o = space && (!peer_first_i || fits);
      assign peer_moves   = peer_valid_i || (valid && ready);

      fifo #(
          .WIDTH(IN),
          .DEPTH(WORDS)
      ) ep_rx_fifo (
          .clk_i,
          .rst_i,
          .data_i (peer),
          .valid_i(peer_valid_i && peer_ready_o),
          .ready_o(space),
          .data_o (word),
          .valid_o(valid),
          .ready_i(ready),
          .level_o(words)
      );

      fifo_cdc #(
          .WIDTH(IN),
          .DEPTH(16)
      ) ep_rx_crossing (
          .write_clk_i(clk_i),
          .write_rst_i(rst_i),
          .data_i     (word),
          .valid_i    (valid),
          .ready_o    (ready),
          .read_clk_i (user_clk_i),
          .read_rst_i (user_rst_i),
          .data_o     (ep_rx),
          .valid_o    (m_axis_ep_rx_tvalid),
          .ready_i    (m_axis_ep_rx_tready)
      );

      assign m_axis_ep_rx_tdata = ep_rx.data;
      assign m_axis_ep_rx_tkeep = keep(ep_rx.bytes);
      assign m_axis_ep_rx_tlast = ep_rx.last;
    end else begin : gen_no_ep_rx
      assign peer_ready_o        = 1'b1;
      assign peer_moves          = 1'b0;
      assign m_axis_ep_rx_tdata  = '0;
      assign m_axis_ep_rx_tkeep  = '0;
      assign m_axis_ep_rx_tlast  = 1'b0;
      assign m_axis_ep_rx_tvalid = 1'b0;
      logic unused;
      assign unused = &{
        1'b0, peer_data_i, peer_bytes_i, peer_first_i, peer_last_i, peer_size_i, peer_valid_i, m_axis_ep_rx_tready
      };
    end
  endgenerate

  // TX and EP_TX: words of 1 to 8 bytes.
  logic [1:0]   user_ready;
  logic [127:0] out_data;
  logic [25:0]  out_level;
  logic [7:0]   out_pop;
  logic [1:0]   out_moves;

  assign s_axis_tx_tready    = user_ready[0];
  assign s_axis_ep_tx_tready = user_ready[1];
  assign tx_data_o           = out_data[63:0];
  assign tx_level_o          = out_level[12:0];
  assign ep_tx_data_o        = out_data[127:64];
  assign ep_tx_level_o       = out_level[25:13];
  assign out_pop             = {ep_tx_pop_i, tx_pop_i};

  for (genvar d = 0; d < 2; d = d + 1) begin : gen_out
    out_word_t        user_word;
    logic             user_valid;
    out_word_t        word;
    logic             valid;
    logic             ready;
    logic [LEVEL-1:0] level;

    assign user_word.data  = d == 0 ? s_axis_tx_tdata : s_axis_ep_tx_tdata;
    assign user_valid      = d == 0 ? s_axis_tx_tvalid : s_axis_ep_tx_tvalid;
    assign user_word.bytes = count(d == 0 ? s_axis_tx_tkeep : s_axis_ep_tx_tkeep);

    fifo_cdc #(
        .WIDTH(OUT),
        .DEPTH(16)
    ) crossing (
        .write_clk_i(user_clk_i),
        .write_rst_i(user_rst_i),
        .data_i     (user_word),
        .valid_i    (user_valid),
        .ready_o    (user_ready[d]),
        .read_clk_i (clk_i),
        .read_rst_i (rst_i),
        .data_o     (word),
        .valid_o    (valid),
        .ready_i    (ready)
    );

    byte_fifo #(
        .BYTES(FIFO_BYTES)
    ) bytes (
        .clk_i,
        .rst_i,
        .data_i (word.data),
        .bytes_i(word.bytes),
        .valid_i(valid),
        .ready_o(ready),
        .data_o (out_data[64*d+:64]),
        .level_o(level),
        .pop_i  (out_pop[4*d+:4])
    );

    assign out_level[13*d+:13] = 13'(level);
    assign out_moves[d]        = valid && ready;
  end

  assign moves_o = rx_valid_i || ending || (rx_valid && rx_ready) || peer_moves || out_moves != '0;

`ifndef YOSYS
  // The valid lanes of a word are the first ones.
  always @(posedge user_clk_i) begin
    assert (s_axis_tx_tvalid !== 1'b1 || (s_axis_tx_tkeep[0] && (s_axis_tx_tkeep & (s_axis_tx_tkeep + 1'b1)) == '0))
    else $error("dma_engine: s_axis_tx_tkeep must have its bits set from bit 0 on, without a gap");
    assert (s_axis_ep_tx_tvalid !== 1'b1 || (s_axis_ep_tx_tkeep[0] && (s_axis_ep_tx_tkeep & (s_axis_ep_tx_tkeep + 1'b1)) == '0))
    else $error("dma_engine: s_axis_ep_tx_tkeep must have its bits set from bit 0 on, without a gap");
  end
`endif

endmodule
