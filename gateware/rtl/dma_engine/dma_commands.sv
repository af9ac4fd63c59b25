// EP_TX_CMD: writes the bytes of EP_TX to a peer, one command after the other. The peer unit and the commands take turns at EP_TX.

module dma_commands (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: no command is in progress.
    input  logic        rst_i,
    // Requester ID.
    input  logic [15:0] function_id_i,
    // Largest payload in bytes.
    input  logic [12:0] payload_i,
    // First address of the next command.
    input  logic [63:0] address_i,
    // Number of its bytes.
    input  logic [31:0] length_i,
    // Label of its packets.
    input  logic [15:0] label_i,
    // There is a command.
    input  logic        valid_i,
    // The command is taken.
    output logic        ready_o,
    // The peer unit is working, or begins: no command begins.
    input  logic        peer_busy_i,
    // The next bytes, from lane 0 on.
    input  logic [63:0] data_i,
    // Number of bytes that are available.
    input  logic [12:0] level_i,
    // Number of bytes to remove at the next edge.
    output logic [3:0]  pop_o,
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
    // A beat that was taken has not left the engine.
    input  logic        leaving_i,
    // A command begins. A pulse.
    output logic        start_o,
    // A command has EP_TX.
    output logic        busy_o,
    // A command has ended: its last beat has left.
    output logic        done_valid_o,
    // No packet was sent, because its range ends beyond 64 bits of address.
    output logic        done_error_o,
    // The end is taken.
    input  logic        done_ready_i,
    // A command waits, is in progress, or its end is not taken.
    output logic        active_o
);

  logic        started_q;
  logic        taken_q;
  logic        empty_q;
  logic        fails_q;
  logic        ending_q;
  logic        error_q;
  logic [15:0] label_q;
  logic        range_valid;
  logic        range_ready;
  logic        ended;
  logic [32:0] reach;
  /* verilator lint_off UNUSEDSIGNAL */
  logic        working;
  logic        holds;
  logic [31:0] timer;
  /* verilator lint_on UNUSEDSIGNAL */

  assign start_o      = valid_i && !started_q && !peer_busy_i;
  assign busy_o       = started_q;
  assign range_valid  = valid_i && started_q && !taken_q && !empty_q && !fails_q;
  assign ready_o      = started_q && !taken_q && (empty_q || fails_q || range_ready);
  assign label_o      = label_q;
  assign done_valid_o = ending_q && !leaving_i;
  assign done_error_o = error_q;
  assign active_o     = valid_i || started_q || ending_q;

  // A range reaches beyond 64 bits from its last part alone, and may end exactly at the last address.
  assign reach = {1'b0, address_i[31:0]} + {1'b0, length_i};

  // A command may begin, but does not end before the end of the one before it is taken.
  dma_sender sender (
      .clk_i,
      .rst_i,
      .function_id_i,
      .payload_i,
      .traffic_class_i(3'd0),
      .start_i        (start_o),
      .address_i,
      .length_i,
      .range_valid_i  (range_valid),
      .range_ready_o  (range_ready),
      .range_end_i    (taken_q),
      .data_i,
      .level_i,
      .pop_o,
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o,
      .ready_i,
      .leaving_i      (ending_q),
      .busy_o         (working),
      .holds_o        (holds),
      .done_o         (ended),
      .timer_o        (timer)
  );

  always_ff @(posedge clk_i) begin
    if (start_o) begin
      started_q <= 1'b1;
      taken_q   <= 1'b0;
      empty_q   <= length_i == '0;
      fails_q   <= address_i[63:32] == '1 && reach[32] && reach[31:0] != '0;
    end
    if (valid_i && ready_o) begin
      label_q <= label_i;
      taken_q <= 1'b1;
    end
    if (done_valid_o && done_ready_i) ending_q <= 1'b0;
    if (ended) begin
      started_q <= 1'b0;
      ending_q  <= 1'b1;
      error_q   <= fails_q;
    end
    if (rst_i) begin
      started_q <= 1'b0;
      taken_q   <= 1'b0;
      ending_q  <= 1'b0;
    end
  end

endmodule
