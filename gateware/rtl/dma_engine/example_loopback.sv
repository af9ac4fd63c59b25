// A loopback: what was read from host memory is written to host memory.

module example_loopback (
    // RX.
    input  logic [63:0] rx_tdata,
    input  logic [7:0]  rx_tkeep,
    input  logic        rx_tvalid,
    output logic        rx_tready,
    // TX.
    output logic [63:0] tx_tdata,
    output logic [7:0]  tx_tkeep,
    output logic        tx_tvalid,
    input  logic        tx_tready
);

  assign tx_tdata  = rx_tdata;
  assign tx_tkeep  = rx_tkeep;
  assign tx_tvalid = rx_tvalid;
  assign rx_tready = tx_tready;

endmodule
