// Joins the streams to the link: completions first, the others in turn; without Bus Master Enable only completions begin. Each stream has a
// register, and the link a buffer of two beats: a packet that has begun goes on from there.

`include "require.svh"

module dma_transmit #(
    // Number of streams; port 0 has the completions.
    parameter int PORTS = 5,
    // Idle cycles between two packets, 0 to 1000.
    parameter int IDLE_CYCLES = 0
) (
    // Clock.
    input  logic                clk_i,
    // Synchronous reset: no packet is in progress.
    input  logic                rst_i,
    // Bus Master Enable.
    input  logic                bus_master_i,
    // No packet begins; one that has begun goes on. A reset must follow, because beats that wait may be lost.
    input  logic                stop_i,
    // Data of each port.
    input  logic [PORTS*64-1:0] data_i,
    // Bytes in the beat of each port.
    input  logic [PORTS*4-1:0]  bytes_i,
    // First beat of a packet, of each port.
    input  logic [PORTS-1:0]    first_i,
    // Last beat of a packet, of each port.
    input  logic [PORTS-1:0]    last_i,
    // There is a beat, of each port.
    input  logic [PORTS-1:0]    valid_i,
    // Label of the packets of each port.
    input  logic [PORTS*16-1:0] label_i,
    // The beat is taken, of each port.
    output logic [PORTS-1:0]    ready_o,
    // Data.
    output logic [63:0]         data_o,
    // Bytes in the beat.
    output logic [3:0]          bytes_o,
    // First beat of a packet.
    output logic                first_o,
    // Last beat of a packet.
    output logic                last_o,
    // There is a beat.
    output logic                valid_o,
    // Label of the packet.
    output logic [15:0]         label_o,
    // The beat is taken.
    input  logic                ready_i,
    // A beat of the port is here.
    output logic [PORTS-1:0]    holds_o,
    // A packet has begun, and has not left whole.
    output logic                sending_o,
    // A beat is here, or an idle cycle is due.
    output logic                busy_o
);

  `REQUIRE(gen_idle, IDLE_CYCLES >= 0 && IDLE_CYCLES <= 1000, "dma_engine: IDLE_CYCLES is the number of idle cycles between packets; it must be 0 to 1000")

  // A beat with its label: data, bytes, first, last, label.
  localparam int BEAT = 64 + 4 + 2 + 16;

  logic [PORTS*64-1:0] data_q;
  logic [PORTS*4-1:0]  bytes_q;
  logic [PORTS-1:0]    first_q;
  logic [PORTS-1:0]    last_q;
  logic [PORTS-1:0]    valid_q;
  logic [PORTS*16-1:0] label_q;
  logic [PORTS-1:0]    moves;
  logic [PORTS-1:0]    open;
  logic [PORTS-1:0]    offered_q;
  logic [PORTS-1:0]    begun_q;
  logic [63:0]         data;
  logic [3:0]          bytes;
  logic                first;
  logic                last;
  logic [15:0]         label;
  logic                offers;
  logic                space;
  logic [PORTS-1:0]    from;
  logic                waits;
  logic                pauses;

  assign ready_o = ~valid_q | moves;

  always_ff @(posedge clk_i) begin
    for (int p = 0; p < PORTS; p = p + 1) begin
      if (ready_o[p] && valid_i[p]) begin
        data_q[64*p+:64]  <= data_i[64*p+:64];
        bytes_q[4*p+:4]   <= bytes_i[4*p+:4];
        first_q[p]        <= first_i[p];
        last_q[p]         <= last_i[p];
        label_q[16*p+:16] <= label_i[16*p+:16];
      end
      if (ready_o[p]) valid_q[p] <= valid_i[p];
    end
    if (rst_i) valid_q <= '0;
  end

  // Without Bus Master Enable no request begins; one that was offered goes on.
  assign open = valid_q & (stop_i ? begun_q : offered_q | (bus_master_i ? '1 : PORTS'(1)));

  stream_arbiter #(
      .W(64),
      .PORTS(PORTS),
      .FIXED(1)
  ) sends (
      .clk_i,
      .rst_i,
      .data_i (data_q),
      .bytes_i(bytes_q),
      .first_i(first_q),
      .last_i (last_q),
      .valid_i(open),
      .ready_o(moves),
      .data_o (data),
      .bytes_o(bytes),
      .first_o(first),
      .last_o (last),
      .valid_o(offers),
      .ready_i(space)
  );

  always_comb begin
    label = '0;
    for (int p = 0; p < PORTS; p = p + 1) if (moves[p]) label = label | label_q[16*p+:16];
  end

  skid_buffer #(
      .WIDTH(BEAT + PORTS)
  ) out (
      .clk_i,
      .rst_i,
      .data_i ({moves, label, last, first, bytes, data}),
      .valid_i(offers),
      .ready_o(space),
      .data_o ({from, label_o, last_o, first_o, bytes_o, data_o}),
      .valid_o(waits),
      .ready_i(ready_i && !pauses)
  );

  assign valid_o   = waits && !pauses;
  assign sending_o = begun_q != '0 || waits;
  assign busy_o    = valid_q != '0 || waits || pauses;

  // The beats of each port in the buffer.
  logic [2*PORTS-1:0] count_q;
  always_comb begin
    for (int p = 0; p < PORTS; p = p + 1) holds_o[p] = valid_q[p] || count_q[2*p+:2] != '0;
  end
  always_ff @(posedge clk_i) begin
    for (int p = 0; p < PORTS; p = p + 1) begin
      if ((open[p] && moves[p]) != (valid_o && ready_i && from[p])) begin
        count_q[2*p+:2] <= open[p] && moves[p] ? count_q[2*p+:2] + 2'd1 : count_q[2*p+:2] - 2'd1;
      end
    end
    if (rst_i) count_q <= '0;
  end

  generate
    if (IDLE_CYCLES == 0) begin : gen_no_pause
      assign pauses = 1'b0;
    end else begin : gen_pause
      logic [9:0] pause_q;
      assign pauses = pause_q != '0;
      always_ff @(posedge clk_i) begin
        if (valid_o && ready_i && last_o) pause_q <= 10'(IDLE_CYCLES);
        else if (pauses) pause_q <= pause_q - 1'b1;
        if (rst_i) pause_q <= '0;
      end
    end
  endgenerate

  always_ff @(posedge clk_i) begin
    for (int p = 0; p < PORTS; p = p + 1) begin
      if (open[p]) offered_q[p] <= !(moves[p] && last_q[p]);
      if (open[p] && moves[p]) begun_q[p] <= !last_q[p];
    end
    if (rst_i) begin
      offered_q <= '0;
      begun_q   <= '0;
    end
  end

  for (genvar p = 0; p < PORTS; p = p + 1) begin : gen_rules
    `RULE(!(valid_o && ready_i && from[p]) || count_q[2*p+:2] != '0 || stop_i, "more beats of a port leave than are here")
    `STREAM(packets, 64 + 4, {data_i[64*p+:64], bytes_i[4*p+:4]}, first_i[p], last_i[p], valid_i[p], ready_o[p])
  end
  `STREAM(link, 64 + 4 + 16, {data_o, bytes_o, label_o}, first_o, last_o, valid_o, ready_i)

endmodule
