// Collects the errors that the parts of the engine detect, and reports one in each cycle, that of the receiver first.

`include "require.svh"

module dma_errors (
    // Clock.
    input  logic         clk_i,
    // Synchronous reset.
    input  logic         rst_i,
    // The function is being reset: errors are not reported.
    input  logic         stop_i,
    // The receiver has dropped a packet. A pulse; kind and header stay for a cycle.
    input  logic         received_i,
    // Why, of peerlane_pkg::ERROR.
    input  logic [2:0]   received_kind_i,
    // The header of the packet, byte 0 in bits 127:120.
    input  logic [127:0] received_header_i,
    // A completion for the read unit, or for the lists, does not belong to its requests. Pulses; the header stays until the next pulse.
    input  logic [1:0]   unexpected_i,
    // The headers of both.
    input  logic [255:0] unexpected_header_i,
    // A request of the read unit has timed out. A pulse, only with `timed_out_ready_o`.
    input  logic         timed_out_i,
    // Its tag.
    input  logic [7:0]   tag_i,
    // A time-out can be reported.
    output logic         timed_out_ready_o,
    // A request of the write unit's or of the read unit's list has timed out. Pulses.
    input  logic [1:0]   list_timed_out_i,
    // The tags of the lists.
    input  logic [15:0]  list_tags_i,
    // An error is reported.
    output logic         valid_o,
    // Its kind, of peerlane_pkg::ERROR.
    output logic [2:0]   kind_o,
    // The header of its packet in the order of the wire, byte k in bits 8k and up. For a time-out only the tag counts.
    output logic [127:0] header_o,
    // An error waits.
    output logic         busy_o
);

  // A bit for each source: completions of the read unit and of the lists, requests of both lists, and of the read unit.
  logic [4:0]   waits_q;
  logic [4:0]   next;
  logic [7:0]   tag_q;
  logic [127:0] header;

  assign next              = received_i ? '0 : waits_q & (~waits_q + 1'b1);
  assign busy_o            = waits_q != '0;
  assign timed_out_ready_o = !waits_q[4];
  assign valid_o           = (received_i || waits_q != '0) && !stop_i;

  always_comb begin
    kind_o = peerlane_pkg::ERROR_COMPLETION_TIMEOUT;
    header = '0;
    header[peerlane_pkg::REQUEST_TAG+:8] = next[4] ? tag_q : next[3] ? list_tags_i[15:8] : list_tags_i[7:0];
    if (received_i) begin
      kind_o = received_kind_i;
      header = received_header_i;
    end else if (next[1:0] != '0) begin
      kind_o = peerlane_pkg::ERROR_UNEXPECTED_COMPLETION;
      header = next[0] ? unexpected_header_i[127:0] : unexpected_header_i[255:128];
    end
    header_o = valid_o ? peerlane_pkg::wire_order(header) : '0;
  end

  always_ff @(posedge clk_i) begin
    waits_q <= (waits_q & ~next) | {timed_out_i, list_timed_out_i, unexpected_i};
    if (timed_out_i) tag_q <= tag_i;
    if (rst_i) waits_q <= '0;
  end

  `RULE(!timed_out_i || timed_out_ready_o, "a time-out is reported while another one waits")

endmodule
