// The user circuit between the four FIFOs: a loopback, or the interconnect matrix.

module user_circuit #(
    // RX feeds TX, and EP_RX is not taken; otherwise the matrix, where EP_RX feeds EP_TX, or both feed the other output.
    parameter int LOOPBACK = 1
) (
    // Clock of the user circuit.
    input  logic        clk_i,
    // The matrix is crossed: RX feeds EP_TX, and EP_RX feeds TX. From another clock.
    input  logic        crossed_i,
    // Words of 1 to 8 bytes, from lane 0 on, with their number in bits 67:64: data from host memory.
    input  logic [67:0] rx_data_i,
    // There is such a word.
    input  logic        rx_valid_i,
    // The word is taken.
    output logic        rx_ready_o,
    // Data from peers.
    input  logic [67:0] ep_rx_data_i,
    // There is such a word.
    input  logic        ep_rx_valid_i,
    // The word is taken.
    output logic        ep_rx_ready_o,
    // Data to host memory.
    output logic [67:0] tx_data_o,
    // There is such a word.
    output logic        tx_valid_o,
    // The word is taken.
    input  logic        tx_ready_i,
    // Data to peers.
    output logic [67:0] ep_tx_data_o,
    // There is such a word.
    output logic        ep_tx_valid_o,
    // The word is taken.
    input  logic        ep_tx_ready_i
);

  (* ASYNC_REG = "TRUE" *) logic [1:0] crossed_q;
  logic crossed;

  always_ff @(posedge clk_i) crossed_q <= {crossed_q[0], crossed_i};

  assign crossed = LOOPBACK == 0 && crossed_q[1];

  assign tx_data_o     = crossed ? ep_rx_data_i : rx_data_i;
  assign tx_valid_o    = crossed ? ep_rx_valid_i : rx_valid_i;
  assign rx_ready_o    = crossed ? ep_tx_ready_i : tx_ready_i;
  assign ep_tx_data_o  = crossed ? rx_data_i : ep_rx_data_i;
  assign ep_tx_valid_o = LOOPBACK == 0 && (crossed ? rx_valid_i : ep_rx_valid_i);
  assign ep_rx_ready_o = LOOPBACK == 0 && (crossed ? tx_ready_i : ep_tx_ready_i);

endmodule
