// The lists of the write and the read unit in host memory, with the reassembly of their completions. Bit or part 0 of a port is of
// the write unit, 1 of the read unit.

module dma_fetch #(
    // Bytes of a request, a power of two, 16 to 4096.
    parameter int FETCH = 512,
    // Tag of the write unit's requests, an even number; the read unit's is the next one.
    parameter int FIRST_TAG = 16,
    // Cycles after which a request without its completions has failed.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock.
    input  logic         clk_i,
    // Synchronous reset: no list is in progress.
    input  logic         rst_i,
    // Requester ID.
    input  logic [15:0]  function_id_i,
    // Max_Read_Request_Size, as in Device Control.
    input  logic [2:0]   max_read_request_i,
    // A transfer begins.
    input  logic [1:0]   start_i,
    // No further range is wanted.
    input  logic [1:0]   stop_i,
    // Address of the list, without its low four bits, which are ignored.
    input  logic [119:0] list_address_i,
    // Number of its descriptors.
    input  logic [127:0] count_i,

    // First address of the next range.
    output logic [127:0] address_o,
    // Number of bytes of the range, at least 1.
    output logic [63:0]  length_o,
    // There is a range.
    output logic [1:0]   range_valid_o,
    // The range is taken.
    input  logic [1:0]   range_ready_i,
    // The list has no further range.
    output logic [1:0]   end_o,
    // Why the list ended early, three bits of peerlane_pkg::RESULT for each.
    output logic [5:0]   result_o,

    // Data of a request.
    output logic [127:0] data_o,
    // Bytes in the beat.
    output logic [7:0]   bytes_o,
    // First beat of a request.
    output logic [1:0]   first_o,
    // Last beat of a request.
    output logic [1:0]   last_o,
    // There is a beat.
    output logic [1:0]   valid_o,
    // The beat is taken.
    input  logic [1:0]   ready_i,

    // Data of a completion with one of the two tags.
    input  logic [63:0]  completion_data_i,
    // Bytes in the beat.
    input  logic [3:0]   completion_bytes_i,
    // First beat of a completion.
    input  logic         completion_first_i,
    // Last beat of a completion.
    input  logic         completion_last_i,
    // There is a beat.
    input  logic         completion_valid_i,
    // The beat is taken.
    output logic         completion_ready_o,
    // A completion came that belongs to no request. A pulse.
    output logic         unexpected_o,
    // A completion came that does not fit its request. A pulse.
    output logic         malformed_o,
    // A completion came that belongs to no request, or does not fit it. A pulse.
    output logic         misfit_o,
    // The header of the last one, byte 0 in bits 127:120.
    output logic [127:0] misfit_header_o,
    // A request has timed out. A pulse.
    output logic [1:0]   timed_out_o,
    // A request that has left ends. A pulse.
    output logic [1:0]   ended_o
);

  localparam int SLOT_BYTES = FETCH > 128 ? FETCH : 128;
  // Lowest bit of the tag in the second beat of a completion.
  localparam int TAG_BIT = 8 * ((120 - peerlane_pkg::COMPLETION_TAG) / 8 - 8);

  logic [1:0]  open;
  logic [25:0] open_bytes;
  logic [5:0]  open_low;
  logic [1:0]  opens;
  logic [1:0]  held_q;
  logic        write_tag;
  logic [$clog2(SLOT_BYTES/8)-1:0] write_place;
  logic [63:0] write_data;
  logic [7:0]  write_lanes;
  logic        write;
  logic        end_tag;
  logic [2:0]  end_result;
  logic        ends;
  logic [1:0]  timed_out;
  logic [127:0] misfit_header;
  logic        second_q;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [12:0] end_bytes;
  logic        poisoned;
  /* verilator lint_on UNUSEDSIGNAL */

  for (genvar u = 0; u < 2; u = u + 1) begin : gen_list
    fetched_list #(
        .FETCH(FETCH),
        .TAG(FIRST_TAG + u),
        .TIMEOUT(TIMEOUT)
    ) list (
        .clk_i,
        .rst_i,
        .function_id_i,
        .max_read_request_i,
        .start_i       (start_i[u]),
        .stop_i        (stop_i[u]),
        .list_address_i(list_address_i[60*u+:60]),
        .count_i       (count_i[64*u+:64]),
        .address_o     (address_o[64*u+:64]),
        .length_o      (length_o[32*u+:32]),
        .range_valid_o (range_valid_o[u]),
        .range_ready_i (range_ready_i[u]),
        .end_o         (end_o[u]),
        .result_o      (result_o[3*u+:3]),
        .data_o        (data_o[64*u+:64]),
        .bytes_o       (bytes_o[4*u+:4]),
        .first_o       (first_o[u]),
        .last_o        (last_o[u]),
        .valid_o       (valid_o[u]),
        .ready_i       (ready_i[u]),
        .open_o        (open[u]),
        .open_bytes_o  (open_bytes[13*u+:13]),
        .open_low_o    (open_low[3*u+:3]),
        .write_place_i (9'(write_place)),
        .write_data_i  (write_data),
        .write_lanes_i (write_lanes),
        .write_i       (write && write_tag == 1'(u)),
        .end_result_i  (end_result),
        .end_i         (ends && end_tag == 1'(u)),
        .timed_out_o   (timed_out[u]),
        .ended_o       (ended_o[u])
    );
  end

  // Of two requests that open at once, the second one is noted a cycle later: its completion comes later still.
  assign opens = open | held_q;
  logic [12:0] held_bytes_q;
  logic [2:0]  held_low_q;

  always_ff @(posedge clk_i) begin
    if (open[0] && open[1]) held_bytes_q <= open_bytes[25:13];
    if (open[0] && open[1]) held_low_q <= open_low[5:3];
    held_q <= {open[0] && open[1], 1'b0};
    if (completion_valid_i && completion_ready_o) second_q <= completion_first_i;
    if (rst_i) begin
      held_q   <= '0;
      second_q <= 1'b0;
    end
  end

  completion_reassembly #(
      .W(64),
      .TAGS(2),
      .SLOT_BYTES(SLOT_BYTES)
  ) reassembly (
      .clk_i,
      .rst_i,
      .requester_i     (function_id_i),
      .traffic_class_i (3'd0),
      .open_tag_i      (!opens[0]),
      .open_bytes_i    (opens[0] ? open_bytes[12:0] : held_q[1] ? held_bytes_q : open_bytes[25:13]),
      .open_low_i      ({opens[0] ? open_low[2:0] : held_q[1] ? held_low_q : open_low[5:3], 4'b0}),
      .open_i          (opens != '0),
      .close_i         (timed_out),
      .data_i          (second_q ? completion_data_i ^ (64'(FIRST_TAG) << TAG_BIT) : completion_data_i),
      .bytes_i         (completion_bytes_i),
      .first_i         (completion_first_i),
      .last_i          (completion_last_i),
      .valid_i         (completion_valid_i),
      .ready_o         (completion_ready_o),
      .write_tag_o     (write_tag),
      .write_place_o   (write_place),
      .write_data_o    (write_data),
      .write_lanes_o   (write_lanes),
      .write_o         (write),
      .write_poisoned_o(poisoned),
      .end_tag_o       (end_tag),
      .end_bytes_o     (end_bytes),
      .end_result_o    (end_result),
      .end_o           (ends),
      .unexpected_o,
      .misfit_o,
      .misfit_header_o (misfit_header)
  );

  assign malformed_o = ends && end_result == peerlane_pkg::RESULT_MALFORMED;
  assign timed_out_o = timed_out;
  assign misfit_header_o = misfit_header ^ (128'(FIRST_TAG) << peerlane_pkg::COMPLETION_TAG);

endmodule
