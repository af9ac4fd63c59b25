// The interconnect matrix: RX feeds TX and EP_RX feeds EP_TX; crossed, RX feeds EP_TX and EP_RX feeds TX.

module example_matrix (
    // Clock of the streams.
    input  logic        clk_i,
    // The matrix is crossed. From another clock.
    input  logic        crossed_i,
    // RX.
    input  logic [63:0] rx_tdata,
    input  logic [7:0]  rx_tkeep,
    input  logic        rx_tvalid,
    output logic        rx_tready,
    // EP_RX.
    input  logic [63:0] ep_rx_tdata,
    input  logic [7:0]  ep_rx_tkeep,
    input  logic        ep_rx_tvalid,
    output logic        ep_rx_tready,
    // TX.
    output logic [63:0] tx_tdata,
    output logic [7:0]  tx_tkeep,
    output logic        tx_tvalid,
    input  logic        tx_tready,
    // EP_TX.
    output logic [63:0] ep_tx_tdata,
    output logic [7:0]  ep_tx_tkeep,
    output logic        ep_tx_tvalid,
    input  logic        ep_tx_tready
);

  (* ASYNC_REG = "TRUE" *) logic [1:0] crossed_q;
  logic crossed;

  always_ff @(posedge clk_i) crossed_q <= {crossed_q[0], crossed_i};
  assign crossed = crossed_q[1];

  assign tx_tdata     = crossed ? ep_rx_tdata : rx_tdata;
  assign tx_tkeep     = crossed ? ep_rx_tkeep : rx_tkeep;
  assign tx_tvalid    = crossed ? ep_rx_tvalid : rx_tvalid;
  assign ep_tx_tdata  = crossed ? rx_tdata : ep_rx_tdata;
  assign ep_tx_tkeep  = crossed ? rx_tkeep : ep_rx_tkeep;
  assign ep_tx_tvalid = crossed ? rx_tvalid : ep_rx_tvalid;
  assign rx_tready    = crossed ? ep_tx_tready : tx_tready;
  assign ep_rx_tready = crossed ? tx_tready : ep_tx_tready;

endmodule
