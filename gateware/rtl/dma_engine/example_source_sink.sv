// A source that never stalls, and a sink. The source gives 64-bit words, each the one before plus a constant, from a first word at the beginning
// of each transfer. A timer measures from the first word that a peer is sent to the first word that a peer writes after it.

module example_source_sink #(
    // Cycles after which the timer no longer waits for the data of a peer.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock of all ports: the engine's.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // RX is taken at once.
    output logic        rx_tready,
    // A peer writes.
    input  logic        ep_rx_tvalid,
    // EP_RX is taken at once.
    output logic        ep_rx_tready,
    // TX.
    output logic [63:0] tx_tdata,
    output logic        tx_tvalid,
    input  logic        tx_tready,
    // EP_TX.
    output logic [63:0] ep_tx_tdata,
    output logic        ep_tx_tvalid,
    input  logic        ep_tx_tready,
    // A transfer begins, from TX, from EP_TX. Pulses.
    input  logic        tx_start_i,
    input  logic        ep_tx_start_i,
    // The first words.
    input  logic [63:0] tx_pattern_i,
    input  logic [63:0] ep_tx_pattern_i,
    // The next transfer from EP_TX is to be timed. A pulse.
    input  logic        time_peer_i,
    // The time is known, or waited for no longer. A pulse.
    output logic        timed_o,
    // The cycles; 0 if no data of a peer came.
    output logic [31:0] round_trip_o,
    // The timer runs.
    output logic        active_o
);

  assign rx_tready    = 1'b1;
  assign ep_rx_tready = 1'b1;

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
      .tdata  (ep_tx_tdata),
      .tvalid (ep_tx_tvalid),
      .tready (ep_tx_tready)
  );

  peer_timer #(
      .TIMEOUT(TIMEOUT)
  ) timer (
      .clk_i,
      .rst_i,
      .arm_i    (time_peer_i),
      .start_i  (ep_tx_start_i),
      .sends_i  (ep_tx_tready),
      .arrives_i(ep_rx_tvalid),
      .done_o   (timed_o),
      .cycles_o (round_trip_o),
      .busy_o   (active_o)
  );

endmodule
