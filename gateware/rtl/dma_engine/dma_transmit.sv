// Joins the streams to the link: completions first, the others in turn; without Bus Master Enable only completions begin.

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
    // Label of the packet, in the cycle in which the beat is taken.
    output logic [15:0]         label_o,
    // The beat is taken.
    input  logic                ready_i,
    // An idle cycle is due.
    output logic                pauses_o
);

  `REQUIRE(gen_idle, IDLE_CYCLES >= 0 && IDLE_CYCLES <= 1000, "dma_engine: IDLE_CYCLES is the number of idle cycles between packets; it must be 0 to 1000")

  logic             offers;
  logic             pauses;
  logic [PORTS-1:0] open;
  logic [PORTS-1:0] offered_q;

  // Without Bus Master Enable no request begins; one that was offered goes on.
  assign open = valid_i & (offered_q | (bus_master_i ? '1 : PORTS'(1)));

  stream_arbiter #(
      .W(64),
      .PORTS(PORTS),
      .FIXED(1)
  ) sends (
      .clk_i,
      .rst_i,
      .data_i,
      .bytes_i,
      .first_i,
      .last_i,
      .valid_i(open),
      .ready_o,
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o(offers),
      .ready_i(ready_i && !pauses)
  );

  assign valid_o  = offers && !pauses;
  assign pauses_o = pauses;

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

  always_comb begin
    label_o = '0;
    for (int p = 0; p < PORTS; p = p + 1) if (ready_o[p]) label_o = label_o | label_i[16*p+:16];
  end

  always_ff @(posedge clk_i) begin
    for (int p = 0; p < PORTS; p = p + 1) begin
      if (open[p]) offered_q[p] <= !(ready_o[p] && last_i[p]);
    end
    if (rst_i) offered_q <= '0;
  end

endmodule
