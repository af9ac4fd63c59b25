// The streams RX, EP_RX, TX and EP_TX, each with a FIFO of bytes and a crossing to the clock of the user circuit, and that circuit.

`include "require.svh"

module user_streams #(
    // RX feeds TX, and EP_RX is not taken; otherwise the interconnect matrix.
    parameter int LOOPBACK = 1,
    // Bytes of each of the four FIFOs, a power of two, 16 to 4096.
    parameter int FIFO_BYTES = 4096
) (
    // Clock of all ports.
    input  logic         clk_i,
    // Synchronous reset: the FIFOs are empty.
    input  logic         rst_i,
    // Clock of the user circuit.
    input  logic         user_clk_i,
    // Reset of the user circuit, synchronous to its clock.
    input  logic         user_rst_i,
    // The matrix is crossed.
    input  logic         crossed_i,
    // Bytes of RX in bits 63:0 and of EP_RX in bits 127:64, each from its lane 0 on.
    input  logic [127:0] data_i,
    // Number of bytes of RX in bits 3:0, of EP_RX in bits 7:4.
    input  logic [7:0]   bytes_i,
    // There are bytes of RX in bit 0, of EP_RX in bit 1.
    input  logic [1:0]   valid_i,
    // The bytes are taken.
    output logic [1:0]   ready_o,
    // Number of bytes in the FIFO of RX.
    output logic [12:0]  rx_level_o,
    // The oldest bytes of TX in bits 63:0 and of EP_TX in bits 127:64.
    output logic [127:0] data_o,
    // Number of bytes in the FIFO of TX in bits 12:0, of EP_TX in bits 25:13.
    output logic [25:0]  level_o,
    // Number of bytes to remove from TX in bits 3:0, from EP_TX in bits 7:4.
    input  logic [7:0]   pop_i,
    // Bytes move, so the clocks are needed.
    output logic         moves_o
);

  localparam int LEVEL = $clog2(FIFO_BYTES) + 1;

  `REQUIRE(gen_fifo, FIFO_BYTES >= 16 && FIFO_BYTES <= 4096, "user_streams: FIFO_BYTES is the size of a FIFO; it must be 16 to 4096")

  logic [2*68-1:0]    user_in;
  logic [1:0]         user_in_valid;
  logic [1:0]         user_in_ready;
  logic [2*68-1:0]    user_out;
  logic [1:0]         user_out_valid;
  logic [1:0]         user_out_ready;
  logic [1:0]         moved;
  logic [2*LEVEL-1:0] in_level;

  assign rx_level_o = 13'(in_level[LEVEL-1:0]);
  assign moves_o    = moved != '0;

  for (genvar d = 0; d < 2; d = d + 1) begin : gen_direction
    logic [LEVEL-1:0] out_level;
    logic [63:0]      from_data;
    logic [3:0]       from_bytes;
    logic             from_ready;
    logic [67:0]      to_word;
    logic             to_valid;
    logic             to_ready;

    byte_fifo #(
        .BYTES(FIFO_BYTES)
    ) in (
        .clk_i,
        .rst_i,
        .data_i (data_i[64*d+:64]),
        .bytes_i(bytes_i[4*d+:4]),
        .valid_i(valid_i[d]),
        .ready_o(ready_o[d]),
        .data_o (from_data),
        .level_o(in_level[LEVEL*d+:LEVEL]),
        .pop_i  (from_ready ? from_bytes : 4'd0)
    );

    assign from_bytes = in_level[LEVEL*d+:LEVEL] > LEVEL'(8) ? 4'd8 : in_level[LEVEL*d+:4];

    fifo_cdc #(
        .WIDTH(68),
        .DEPTH(16)
    ) to_user (
        .write_clk_i(clk_i),
        .write_rst_i(rst_i),
        .data_i     ({from_bytes, from_data}),
        .valid_i    (from_bytes != '0),
        .ready_o    (from_ready),
        .read_clk_i (user_clk_i),
        .read_rst_i (user_rst_i),
        .data_o     (user_in[68*d+:68]),
        .valid_o    (user_in_valid[d]),
        .ready_i    (user_in_ready[d])
    );

    fifo_cdc #(
        .WIDTH(68),
        .DEPTH(16)
    ) from_user (
        .write_clk_i(user_clk_i),
        .write_rst_i(user_rst_i),
        .data_i     (user_out[68*d+:68]),
        .valid_i    (user_out_valid[d]),
        .ready_o    (user_out_ready[d]),
        .read_clk_i (clk_i),
        .read_rst_i (rst_i),
        .data_o     (to_word),
        .valid_o    (to_valid),
        .ready_i    (to_ready)
    );

    byte_fifo #(
        .BYTES(FIFO_BYTES)
    ) out (
        .clk_i,
        .rst_i,
        .data_i (to_word[63:0]),
        .bytes_i(to_word[67:64]),
        .valid_i(to_valid),
        .ready_o(to_ready),
        .data_o (data_o[64*d+:64]),
        .level_o(out_level),
        .pop_i  (pop_i[4*d+:4])
    );

    assign level_o[13*d+:13] = 13'(out_level);
    assign moved[d] = (from_ready && from_bytes != '0) || (to_valid && to_ready) || valid_i[d];
  end

  user_circuit #(
      .LOOPBACK(LOOPBACK)
  ) user (
      .clk_i        (user_clk_i),
      .crossed_i,
      .rx_data_i    (user_in[68*0+:68]),
      .rx_valid_i   (user_in_valid[0]),
      .rx_ready_o   (user_in_ready[0]),
      .ep_rx_data_i (user_in[68*1+:68]),
      .ep_rx_valid_i(user_in_valid[1]),
      .ep_rx_ready_o(user_in_ready[1]),
      .tx_data_o    (user_out[68*0+:68]),
      .tx_valid_o   (user_out_valid[0]),
      .tx_ready_i   (user_out_ready[0]),
      .ep_tx_data_o (user_out[68*1+:68]),
      .ep_tx_valid_o(user_out_valid[1]),
      .ep_tx_ready_i(user_out_ready[1])
  );

endmodule
