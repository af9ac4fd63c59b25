// Puts completions together by tag and byte count: writes their data to the places of their requests, and says how each request
// ended (PCIe Base 2.3.1.1, 2.3.2). It takes completions only; a stream is sorted before it. A beat is written three edges after it came:
// its header is taken apart, then compared with the request, and then its data goes through the shifter.

`include "require.svh"

module completion_reassembly #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64,
    // Number of tags, a power of two, 2 to 256.
    parameter int TAGS = 16,
    // Bytes of the largest request, a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 512
) (
    // Clock.
    input  logic                                clk_i,
    // Synchronous reset: no request is open.
    input  logic                                rst_i,
    // Requester ID of all requests.
    input  logic [15:0]                         requester_i,
    // Traffic class of all open requests.
    input  logic [2:0]                          traffic_class_i,
    // Tag of a new request.
    input  logic [$clog2(TAGS)-1:0]             open_tag_i,
    // Bytes of a new request, 1 to SLOT_BYTES.
    input  logic [12:0]                         open_bytes_i,
    // Bits 6 to 0 of the address of its first byte.
    input  logic [6:0]                          open_low_i,
    // There is a new request, at least a cycle before its first completion.
    input  logic                                open_i,
    // Requests that end without their completions, one bit for each tag. Completions that arrive for them later are unexpected.
    input  logic [TAGS-1:0]                     close_i,
    // Data of a completion.
    input  logic [W-1:0]                        data_i,
    // Bytes in the beat.
    input  logic [$clog2(W/8):0]                bytes_i,
    // First beat of a completion.
    input  logic                                first_i,
    // Last beat of a completion.
    input  logic                                last_i,
    // There is a beat.
    input  logic                                valid_i,
    // The beat is taken.
    output logic                                ready_o,
    // Tag of the data to write; a register, as are all outputs but `ready_o`.
    output logic [$clog2(TAGS)-1:0]             write_tag_o,
    // Place of the data from the beginning of its request, in beats.
    output logic [$clog2(SLOT_BYTES/(W/8))-1:0] write_place_o,
    // Data to write.
    output logic [W-1:0]                        write_data_o,
    // Lanes to write.
    output logic [W/8-1:0]                      write_lanes_o,
    // There is data to write.
    output logic                                write_o,
    // It is poisoned, or data of its request that came before was.
    output logic                                write_poisoned_o,
    // Tag of the request that ends.
    output logic [$clog2(TAGS)-1:0]             end_tag_o,
    // Bytes of the request; 0 where it ends with an error.
    output logic [12:0]                         end_bytes_o,
    // Its result, of peerlane_pkg::RESULT.
    output logic [2:0]                          end_result_o,
    // The request ends.
    output logic                                end_o,
    // A completion came that belongs to no open request; it is dropped.
    output logic                                unexpected_o,
    // A completion came that belongs to no open request, or does not fit it.
    output logic                                misfit_o,
    // The header of the last one, byte 0 in bits 127:120; a completion's has 12 bytes.
    output logic [127:0]                        misfit_header_o
);

  localparam int N = W / 8;
  localparam int BITS = $clog2(N);
  localparam int TAG_BITS = $clog2(TAGS);
  localparam int PLACE_BITS = $clog2(SLOT_BYTES / N);
  localparam int HEADER = peerlane_pkg::HEADER_SHORT;

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "completion_reassembly: W is the number of bits of a beat; it must be 64, 128 or 256")
  `REQUIRE(gen_tags, TAGS >= 2 && TAGS <= 256 && TAGS == 1 << TAG_BITS, "completion_reassembly: TAGS is the number of tags; it must be a power of two, 2 to 256")
  `REQUIRE(gen_bytes, SLOT_BYTES >= 128 && SLOT_BYTES <= 4096 && SLOT_BYTES == 1 << $clog2(SLOT_BYTES), "completion_reassembly: SLOT_BYTES is the largest request; it must be a power of two, 128 to 4096")

  // Open requests: bytes that came, bytes in all, and whether poisoned data came.
  logic [TAGS-1:0] open_q;
  logic [TAGS-1:0] poisoned_q;
  logic [12:0]     came_q[TAGS];
  logic [12:0]     total_q[TAGS];
  logic [6:0]      low_q[TAGS];

  // The header. With 64-bit beats, the first beat has eight bytes of it and nothing else.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0]    header;
  logic [127:0]    parsed_header;
  /* verilator lint_on UNUSEDSIGNAL */
  logic            at_header;
  logic            is_early;
  logic [7:0]      kind;
  logic [2:0]      status;
  logic [7:0]      tag_field;
  logic [1:0]      offset;
  logic [12:0]     byte_count;
  logic [12:0]     in_dwords;
  logic [W-1:0]    parsed_data_q;

  generate
    if (W == 64) begin : gen_narrow
      logic [63:0] early_q;
      logic        second_q;
      always_ff @(posedge clk_i) begin
        if (valid_i && ready_o) begin
          second_q <= first_i && !last_i;
          if (first_i) early_q <= data_i;
        end
        if (rst_i) second_q <= 1'b0;
      end
      assign header    = peerlane_pkg::wire_order({data_i[63:0], early_q});
      // The first beat of the next completion comes behind this one's second beat at the earliest.
      assign parsed_header = peerlane_pkg::wire_order({parsed_data_q[63:0], early_q});
      assign at_header = second_q;
      assign is_early  = first_i;
    end else begin : gen_wide
      assign header    = peerlane_pkg::wire_order(data_i[127:0]);
      assign parsed_header = peerlane_pkg::wire_order(parsed_data_q[127:0]);
      assign at_header = first_i;
      assign is_early  = 1'b0;
    end
  endgenerate

  assign kind       = header[peerlane_pkg::TLP_KIND+:8];
  assign status     = header[peerlane_pkg::COMPLETION_STATUS+:3];
  assign tag_field  = header[peerlane_pkg::COMPLETION_TAG+:8];
  assign offset     = header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:2];
  assign byte_count = {header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12] == '0, header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12]};
  assign in_dwords    = {header[peerlane_pkg::COMPLETION_DWORDS+:10] == '0, header[peerlane_pkg::COMPLETION_DWORDS+:10], 2'b0};

  // The beat, and the fields of its header if the header ends in it.
  logic            parsed_q;
  logic            parsed_header_q;
  logic [2:0]      status_q;
  logic            has_data_q;
  logic            exists_q;
  logic [TAG_BITS-1:0] parsed_tag_q;
  logic [6:0]      parsed_low_q;
  logic [1:0]      parsed_offset;
  logic            parsed_class_q;
  logic            parsed_last_q;
  logic [BITS:0]   parsed_bytes_q;
  logic [12:0]     byte_count_q;
  logic [12:0]     carried_q;
  logic            parsed_poisoned_q;
  logic [TAG_BITS-1:0] tag;
  logic [12:0]     came;
  logic [12:0]     left;
  logic [12:0]     length;
  logic            is_open;
  logic            is_whole;
  logic            fails;
  logic [2:0]      failure;
  logic            looks;

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      parsed_q        <= valid_i && !is_early;
      parsed_header_q <= at_header;
      if (valid_i) parsed_data_q <= data_i;
      parsed_last_q  <= last_i;
      parsed_bytes_q <= bytes_i;
      if (valid_i && at_header) begin
        status_q          <= status;
        has_data_q        <= (kind & peerlane_pkg::TLP_DATA) != '0;
        exists_q          <= {24'b0, tag_field} < TAGS && !header[peerlane_pkg::COMPLETION_TAG_8] && !header[peerlane_pkg::COMPLETION_TAG_9]
            && header[peerlane_pkg::COMPLETION_REQUESTER+:16] == requester_i;
        parsed_tag_q      <= tag_field[TAG_BITS-1:0];
        parsed_low_q      <= header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:7];
        parsed_class_q    <= header[peerlane_pkg::TLP_TRAFFIC_CLASS+:3] == traffic_class_i;
        byte_count_q      <= byte_count;
        carried_q         <= in_dwords - {11'b0, offset};
        parsed_poisoned_q <= header[peerlane_pkg::TLP_POISONED];
      end
    end
    if (rst_i) parsed_q <= 1'b0;
  end

  assign parsed_offset = parsed_low_q[1:0];
  assign tag      = parsed_tag_q;
  assign looks    = parsed_q && parsed_header_q && ready_o;
  assign is_open  = open_q[tag] && exists_q;
  assign came     = came_q[tag];
  assign left     = total_q[tag] - came;
  // A completion that fits has the last data of its request if it carries all bytes of its byte count.
  assign is_whole = carried_q >= byte_count_q;
  assign length   = is_whole ? byte_count_q : carried_q;

  // A status without data ends the request. A completion whose Byte Count, Lower Address, traffic class or length does not fit the request is
  // malformed, and ends the request, too (PCIe Base 2.3.2).
  always_comb begin
    fails   = 1'b1;
    failure = peerlane_pkg::RESULT_MALFORMED;
    if (status_q == peerlane_pkg::STATUS_ABORT) failure = peerlane_pkg::RESULT_ABORT;
    else if (status_q == peerlane_pkg::STATUS_RETRY) failure = peerlane_pkg::RESULT_RETRY;
    else if (status_q != peerlane_pkg::STATUS_SUCCESSFUL) failure = peerlane_pkg::RESULT_UNSUPPORTED;
    else if (has_data_q && parsed_class_q && byte_count_q == left && parsed_low_q == low_q[tag] + came[6:0] && (carried_q < byte_count_q + 13'd4)) fails = 1'b0;
  end

  // A completion that is not one of an open request, or does not fit it.
  logic            misfit_q;
  logic [95:0]     misfit_header_q;
  assign misfit_o        = misfit_q;
  assign misfit_header_o = {misfit_header_q, 32'b0};
  always_ff @(posedge clk_i) begin
    misfit_q <= looks && (!is_open || (fails && failure == peerlane_pkg::RESULT_MALFORMED)) && !rst_i;
    if (looks && (!is_open || fails)) misfit_header_q <= parsed_header[127:32];
  end

  // The beat, and the comparison of its completion with the request.
  logic [W-1:0]    known_data_q;
  logic            known_q;
  logic            known_header_q;
  logic            known_open_q;
  logic            known_fails_q;
  logic [2:0]      known_failure_q;
  logic [TAG_BITS-1:0] known_tag_q;
  logic [1:0]      known_offset_q;
  logic            known_last_q;
  logic [BITS:0]   known_bytes_q;
  logic [PLACE_BITS+BITS-1:0] known_came_q;
  logic [12:0]     known_total_q;
  logic [12:0]     known_reach_q;
  logic            known_whole_q;
  logic            known_poisoned_q;

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      known_q        <= parsed_q;
      known_header_q <= parsed_header_q;
      if (parsed_q) known_data_q <= parsed_data_q;
      known_last_q  <= parsed_last_q;
      known_bytes_q <= parsed_bytes_q;
      if (looks) begin
        known_open_q     <= is_open;
        known_fails_q    <= fails;
        known_failure_q  <= failure;
        known_tag_q      <= tag;
        known_offset_q   <= parsed_offset;
        known_came_q     <= came[PLACE_BITS+BITS-1:0];
        known_total_q    <= total_q[tag];
        known_reach_q    <= length + 13'(HEADER % N) + {11'b0, parsed_offset};
        known_whole_q    <= is_whole;
        known_poisoned_q <= poisoned_q[tag] || parsed_poisoned_q;
      end
    end
    if (rst_i) known_q <= 1'b0;
  end

  // The payload of a completion that is stored, from its header on.
  logic            storing_q;
  logic [TAG_BITS-1:0] tag_q;
  logic [1:0]      offset_q;
  logic [PLACE_BITS+BITS-1:0] came_before_q;
  logic [12:0]     total_here_q;
  logic [12:0]     left_q;
  logic            ends_q;
  logic            poisoned_here_q;
  logic [PLACE_BITS-1:0] place_q;
  logic            accepts;
  logic            stores;
  logic            feed;
  logic [12:0]     reach;
  logic [BITS:0]   bytes;
  logic            feed_last;
  logic            is_cut;
  logic            cut_q;
  logic [W-1:0]    out_data;
  logic [BITS:0]   out_bytes;
  logic            out_first;
  logic            out_last;
  logic            out_valid;
  logic            end_now;
  logic [N-1:0]    lanes;
  logic [PLACE_BITS-1:0] place;

  assign stores    = known_open_q && !known_fails_q;
  assign feed      = known_q && (known_header_q ? stores : storing_q);
  // Lanes from the front of the beat to the end of the data.
  assign reach     = known_header_q ? known_reach_q : left_q;
  assign feed_last = reach <= 13'(N) || known_last_q;
  assign bytes     = reach <= 13'(N) ? reach[BITS:0] : (BITS + 1)'(N);
  // The beats of a completion end before its length says so: the completion is malformed, and its request ends.
  assign is_cut    = feed && ready_o && known_last_q && reach > 13'(known_bytes_q);
  assign ready_o   = accepts;

  byte_shifter #(
      .W(W)
  ) shifter (
      .clk_i,
      .rst_i,
      .skip_i (BITS'(HEADER % N) + {{BITS - 2{1'b0}}, known_header_q ? known_offset_q : offset_q}),
      .lead_i (known_header_q ? known_came_q[BITS-1:0] : came_before_q[BITS-1:0]),
      .data_i (known_data_q),
      .bytes_i(bytes),
      .first_i(known_header_q),
      .last_i (feed_last),
      .valid_i(feed),
      .ready_o(accepts),
      .data_o (out_data),
      .bytes_o(out_bytes),
      .first_o(out_first),
      .last_o (out_last),
      .valid_o(out_valid),
      .ready_i(1'b1)
  );

  // In the cycle of the header what is noted of the completion is not in its registers yet.
  logic                here;
  logic [TAG_BITS-1:0] here_tag;
  logic [PLACE_BITS+BITS-1:0] here_came;
  logic [12:0]         here_total;
  logic                here_ends;
  logic                here_poisoned;
  assign here          = known_q && ready_o && known_header_q;
  assign here_tag      = here ? known_tag_q : tag_q;
  assign here_came     = here ? known_came_q : came_before_q;
  assign here_total    = here ? known_total_q : total_here_q;
  assign here_ends     = here ? known_whole_q : ends_q;
  assign here_poisoned = here ? known_poisoned_q : poisoned_here_q;

  always_comb begin
    for (int k = 0; k < N; k = k + 1) begin
      lanes[k] = k[BITS:0] < out_bytes && !(out_first && k[BITS-1:0] < here_came[BITS-1:0]);
    end
  end
  assign place   = out_first ? here_came[BITS+:PLACE_BITS] : place_q;
  assign end_now = here && known_open_q && known_fails_q;

  // Outputs, after one more edge.
  logic [TAG_BITS-1:0]       write_tag_q;
  logic [PLACE_BITS-1:0]     write_place_q;
  logic [W-1:0]              write_data_q;
  logic [N-1:0]              write_lanes_q;
  logic                      write_q;
  logic                      write_poisoned_q;
  logic [TAG_BITS-1:0]       end_tag_q;
  logic [12:0]               end_bytes_q;
  logic [2:0]                end_result_q;
  logic                      ended_q;
  logic                      unexpected_q;

  always_ff @(posedge clk_i) begin
    if (out_valid) begin
      write_place_q <= place;
      write_data_q  <= out_data;
      write_lanes_q <= lanes;
    end
    write_tag_q      <= here_tag;
    write_q          <= out_valid;
    write_poisoned_q <= here_poisoned;
    end_tag_q        <= here_tag;
    ended_q          <= end_now || is_cut || (out_valid && out_last && here_ends && (here || !cut_q));
    end_result_q     <= end_now ? known_failure_q : is_cut ? peerlane_pkg::RESULT_MALFORMED : here_poisoned ? peerlane_pkg::RESULT_POISONED : peerlane_pkg::RESULT_SUCCESSFUL;
    end_bytes_q      <= end_now || is_cut ? '0 : here_total;
    unexpected_q     <= here && !known_open_q;
    if (rst_i) begin
      write_q      <= 1'b0;
      ended_q      <= 1'b0;
      unexpected_q <= 1'b0;
    end
  end

  assign write_tag_o      = write_tag_q;
  assign write_place_o    = write_place_q;
  assign write_data_o     = write_data_q;
  assign write_lanes_o    = write_lanes_q;
  assign write_o          = write_q;
  assign write_poisoned_o = write_poisoned_q;
  assign end_tag_o        = end_tag_q;
  assign end_bytes_o      = end_bytes_q;
  assign end_result_o     = end_result_q;
  assign end_o            = ended_q;
  assign unexpected_o     = unexpected_q;

  always_ff @(posedge clk_i) begin
    if (open_i) begin
      came_q[open_tag_i]  <= '0;
      total_q[open_tag_i] <= open_bytes_i;
      low_q[open_tag_i]   <= open_low_i;
    end
    if (looks && is_open && !fails) came_q[tag] <= came + length;
  end

  always_ff @(posedge clk_i) begin
    if (here) begin
      storing_q       <= stores && !feed_last;
      tag_q           <= known_tag_q;
      offset_q        <= known_offset_q;
      came_before_q   <= known_came_q;
      total_here_q    <= known_total_q;
      ends_q          <= known_whole_q;
      poisoned_here_q <= known_poisoned_q;
    end else if (known_q && ready_o && feed_last) begin
      storing_q <= 1'b0;
    end
    if (is_cut) cut_q <= 1'b1;
    else if (here) cut_q <= 1'b0;
    if (feed && ready_o) left_q <= reach - 13'(N);
    if (out_valid) place_q <= place + 1'b1;
    if (open_i) begin
      open_q[open_tag_i]     <= 1'b1;
      poisoned_q[open_tag_i] <= 1'b0;
    end
    if (looks && is_open && !fails && parsed_poisoned_q) poisoned_q[tag] <= 1'b1;
    if (looks && is_open && (fails || is_whole)) open_q[tag] <= 1'b0;
    if (is_cut) open_q[here_tag] <= 1'b0;
    for (int k = 0; k < TAGS; k = k + 1) if (close_i[k]) open_q[k] <= 1'b0;
    if (rst_i) begin
      open_q    <= '0;
      storing_q <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "completion_reassembly.svh"
`endif

endmodule
