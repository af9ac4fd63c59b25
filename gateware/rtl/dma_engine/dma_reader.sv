// The unit that reads ranges of host memory: requests within MRRS and the page, as many as there are tags and space for their data,
// which leaves in the order of the requests.

`include "require.svh"

module dma_reader #(
    // Most outstanding requests, a power of two, 2 to 64.
    parameter int TAGS = 16,
    // Whether the tags 30 and 31 are those of other requests.
    parameter int SHARED = 0,
    // Bytes of the largest request, a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 4096,
    // Bytes of the FIFO that takes the data; no more are requested than it has space for.
    parameter int FIFO_BYTES = 4096,
    // Cycles after which a request without its completions has failed.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: no transfer is in progress.
    input  logic        rst_i,
    // Requester ID.
    input  logic [15:0] function_id_i,
    // Max_Read_Request_Size, as in Device Control.
    input  logic [2:0]  max_read_request_i,
    // Extended Tag Field Enable; without it, only tags below 32 are used (PCIe Base 2.2.6.2).
    input  logic        ext_tag_i,
    // Traffic class.
    input  logic [2:0]  traffic_class_i,
    // A transfer begins; the unit must not be working.
    input  logic        start_i,
    // First address of a range.
    input  logic [63:0] address_i,
    // Number of bytes of the range, at least 1.
    input  logic [31:0] length_i,
    // There is a range.
    input  logic        range_valid_i,
    // The range is taken.
    output logic        range_ready_o,
    // No further range comes in this transfer.
    input  logic        range_end_i,
    // Bytes in the FIFO that takes the data.
    input  logic [12:0] level_i,
    // Data of a request.
    output logic [63:0] data_o,
    // Bytes in the beat.
    output logic [3:0]  bytes_o,
    // First beat of a request.
    output logic        first_o,
    // Last beat of a request.
    output logic        last_o,
    // There is a beat of a request.
    output logic        valid_o,
    // The beat is taken.
    input  logic        ready_i,
    // Data of a completion.
    input  logic [63:0] completion_data_i,
    // Bytes in the beat.
    input  logic [3:0]  completion_bytes_i,
    // First beat of a completion.
    input  logic        completion_first_i,
    // Last beat of a completion.
    input  logic        completion_last_i,
    // There is a beat of a completion.
    input  logic        completion_valid_i,
    // The beat is taken.
    output logic        completion_ready_o,
    // Data that was read, in order, from lane 0 on.
    output logic [63:0] read_data_o,
    // Number of bytes.
    output logic [3:0]  read_bytes_o,
    // There is data.
    output logic        read_valid_o,
    // The data is taken.
    input  logic        read_ready_i,
    // A transfer is in progress.
    output logic        busy_o,
    // A range that was taken, or a request of it, has not left whole.
    output logic        holds_o,
    // The transfer has ended: everything came, or failed. A pulse.
    output logic        done_o,
    // A request of the transfer has failed.
    output logic        failed_o,
    // Result of the request that failed first, of peerlane_pkg::RESULT.
    output logic [2:0]  result_o,
    // Cycles from the first request of the transfer to the end of its last completion, both included.
    output logic [31:0] timer_o,
    // A completion came that belongs to no request. A pulse.
    output logic        unexpected_o,
    // A completion came that does not fit its request. A pulse.
    output logic        malformed_o,
    // A completion came that belongs to no request, or does not fit it. A pulse.
    output logic        misfit_o,
    // The header of the last one, byte 0 in bits 127:120.
    output logic [127:0] misfit_header_o,
    // A request has timed out. A pulse.
    output logic        timed_out_o,
    // Its tag.
    output logic [7:0]  timed_out_tag_o,
    // A request may time out now; if not, it does later.
    input  logic        timed_out_ready_i,
    // A request that has left ends. A pulse.
    output logic        ended_o,
    // A request waits for a tag.
    output logic        tags_o,
    // A request waits for space for its data.
    output logic        outstanding_o
);

  localparam int BITS = $clog2(TAGS);

  `REQUIRE(gen_tags, TAGS >= 2 && TAGS <= 64 && TAGS == 1 << BITS, "dma_reader: TAGS is the number of outstanding requests; it must be a power of two, 2 to 64")
  `REQUIRE(gen_slot, SLOT_BYTES <= FIFO_BYTES, "dma_reader: SLOT_BYTES is the largest request; the FIFO must have space for it")
  `REQUIRE(gen_timeout, TIMEOUT >= 16, "dma_reader: TIMEOUT counts the cycles to wait for a completion; it must be at least 16")

  logic            busy_q;
  logic            ticking_q;
  logic [31:0]     cycles_q;
  logic [31:0]     timer_q;
  logic            failed_q;
  logic [2:0]      result_q;
  logic [12:0]     reserved_q;
  logic [BITS:0]   open_count_q;

  // The next request of the range; an error drops the others. One that is ready to leave has its tag, its slot and its space.
  logic            request_q;
  logic [BITS-1:0] tag_q;
  logic [12:0]     mrrs;
  logic [63:0]     next_address;
  logic [12:0]     take;
  logic            next;
  logic            cutting;
  logic            cutter_ready;
  logic [14:0]     room_q;
  logic            space;
  logic            loads;
  logic            leaves;
  logic [BITS-1:0] tag;
  logic            tag_valid;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [TAGS-1:0] out;
  logic            order_ready;
  logic            next_last;
  logic [10:0]     dwords;
  logic            needs;
  logic            back_first;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [127:0]    header;
  logic            wide;
  logic [BITS-1:0] free_tag;
  logic            free;

  assign mrrs    = 13'(peerlane_pkg::LEAST_PAYLOAD) << (max_read_request_i > 3'd5 ? 3'd5 : max_read_request_i);

  request_splitter #(
      .LENGTH_BITS(32)
  ) splitter (
      .clk_i,
      .rst_i,
      .largest_i(mrrs < 13'(SLOT_BYTES) ? mrrs : 13'(SLOT_BYTES)),
      .address_i,
      .length_i,
      .valid_i  (range_valid_i && busy_q),
      .ready_o  (cutter_ready),
      .address_o(next_address),
      .bytes_o  (take),
      .last_o   (next_last),
      .valid_o  (next),
      .ready_i  (tag_valid && (!request_q || leaves) && space),
      .stop_i   (failed_q && busy_q),
      .busy_o   (cutting)
  );

  // Of the space that is free, what data takes in this cycle is known in the next one: then the FIFO lets it wait. Requests are two cycles
  // apart, so what they take is known. More may be taken than there is: the number is negative then.
  assign space   = !room_q[14] && {1'b0, take} <= room_q[13:0];
  assign loads   = next && tag_valid && (!request_q || leaves) && space;
  assign tags_o  = next && !tag_valid;
  assign outstanding_o = next && tag_valid && !space;
  assign range_ready_o = busy_q && cutter_ready;

  always_ff @(posedge clk_i) begin
    room_q <= 15'(FIFO_BYTES) - {2'b0, level_i} - {2'b0, reserved_q};
    if (rst_i) room_q <= '0;
  end

  logic [TAGS-1:0] usable;
  always_comb begin
    for (int k = 0; k < TAGS; k = k + 1) usable[k] = k < 32 ? SHARED == 0 || k < 30 : ext_tag_i;
  end

  tag_pool #(
      .TAGS(TAGS)
  ) pool (
      .clk_i,
      .rst_i,
      .usable_i  (usable),
      .tag_o     (tag),
      .valid_o   (tag_valid),
      .take_i    (loads),
      .free_tag_i(free_tag),
      .free_i    (free),
      .out_o     (out)
  );

  request_header builder (
      .clk_i,
      .load_i         (loads),
      .write_i        (1'b0),
      .address_i      (next_address),
      .bytes_i        (take),
      .requester_i    (function_id_i),
      .tag_i          (10'(tag)),
      .traffic_class_i,
      .ordering_i     (2'd0),
      .header_o       (header),
      .wide_o         (wide),
      .dwords_o       (dwords)
  );

  tlp_assembler #(
      .W(64)
  ) assembler (
      .clk_i,
      .rst_i,
      .header_i      (header),
      .wide_i        (wide),
      .dwords_i      (11'd0),
      .header_valid_i(request_q),
      .header_ready_o(leaves),
      .data_i        (64'd0),
      .last_i        (1'b0),
      .valid_i       (1'b0),
      .ready_o       (needs),
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o,
      .ready_i
  );

  // Completions, and time-outs in their place. A late completion of a request that has timed out changes nothing.
  logic [BITS-1:0]                   write_tag;
  logic [$clog2(SLOT_BYTES/8)-1:0]   write_place;
  logic [63:0]                       write_data;
  logic [7:0]                        write_lanes;
  logic                              write;
  logic                              poisoned;
  logic [BITS-1:0]                   end_tag;
  logic [12:0]                       end_bytes;
  logic [2:0]                        end_result;
  logic                              ends;
  logic [TAGS-1:0]                   open_q;
  logic [TAGS-1:0]                   sent_q;
  logic [31:0]                       begun_q[TAGS];
  logic [31:0]                       now_q;
  logic [BITS-1:0]                   look_q;
  logic [31:0]                       since_q;
  logic                              since_sent_q;
  logic [BITS-1:0]                   since_tag_q;
  logic                              late_q;
  logic [BITS-1:0]                   late_tag_q;
  logic                              expires;
  logic                              lands;
  logic [2:0]                        back_result;
  logic                              back_last;
  logic [3:0]                        back_bytes;
  logic                              back_valid;

  completion_reassembly #(
      .W(64),
      .TAGS(TAGS),
      .SLOT_BYTES(SLOT_BYTES)
  ) reassembly (
      .clk_i,
      .rst_i,
      .requester_i     (function_id_i),
      .traffic_class_i,
      .open_tag_i      (tag),
      .open_bytes_i    (take),
      .open_low_i      (next_address[6:0]),
      .open_i          (loads),
      .close_i         (TAGS'(expires) << late_tag_q),
      .data_i          (completion_data_i),
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
      .misfit_header_o
  );

  // A stray completion may fit a request that has not left yet: it ends nothing, and the tag stays taken.
  assign lands   = ends && open_q[end_tag] && sent_q[end_tag];
  assign expires = !ends && late_q && open_q[late_tag_q] && sent_q[late_tag_q] && timed_out_ready_i;

  // One request that has left is looked at in a cycle, and is known to be late two cycles later: it takes longer to send another one with
  // its tag.
  always_ff @(posedge clk_i) begin
    since_q      <= now_q - begun_q[look_q];
    since_sent_q <= open_q[look_q] && sent_q[look_q];
    since_tag_q  <= look_q;
    late_q       <= since_sent_q && since_q >= 32'(TIMEOUT);
    late_tag_q   <= since_tag_q;
    if (rst_i) late_q <= 1'b0;
  end

  reorder_buffer #(
      .W(64),
      .SLOTS(TAGS),
      .SLOT_BYTES(SLOT_BYTES)
  ) reorder (
      .clk_i,
      .rst_i,
      .open_tag_i   (tag),
      .open_valid_i (loads),
      .open_ready_o (order_ready),
      .write_tag_i  (write_tag),
      .write_place_i(write_place),
      .write_data_i (write_data),
      .write_lanes_i(write_lanes),
      .write_i      (write && open_q[write_tag]),
      .write_ahead_i(!poisoned && sent_q[write_tag]),
      .end_tag_i    (expires ? late_tag_q : end_tag),
      .end_bytes_i  (expires ? '0 : end_bytes),
      .end_result_i (expires ? peerlane_pkg::RESULT_TIMEOUT : end_result),
      .end_i        (lands || expires),
      .data_o       (read_data_o),
      .bytes_o      (back_bytes),
      .first_o      (back_first),
      .last_o       (back_last),
      .result_o     (back_result),
      .valid_o      (back_valid),
      .ready_i      (read_ready_i),
      .free_tag_o   (free_tag),
      .free_o       (free)
  );

  // After an error no data follows: what lies behind the gap would stand at wrong places.
  logic good;
  assign good         = back_result == peerlane_pkg::RESULT_SUCCESSFUL && !failed_q;
  assign read_bytes_o = back_bytes;
  assign read_valid_o = back_valid && good && back_bytes != '0;
  assign timed_out_o  = expires;
  assign timed_out_tag_o = 8'(late_tag_q);
  assign ended_o      = lands || expires;
  assign malformed_o  = lands && end_result == peerlane_pkg::RESULT_MALFORMED;

  logic back_moves;
  logic [12:0] size_of_q[TAGS];
  assign back_moves = back_valid && read_ready_i;

  // Space is held until the data has come: then it waits in its own slot until the FIFO takes it, while the next request is out.
  logic [12:0] returned;
  assign returned = lands || expires ? size_of_q[expires ? late_tag_q : end_tag] : '0;

  assign busy_o   = busy_q;
  assign holds_o  = cutting || request_q;
  assign done_o   = busy_q && !start_i && !holds_o && open_count_q == '0 && range_end_i && !range_valid_i;
  assign failed_o = failed_q;
  assign result_o = result_q;
  assign timer_o  = timer_q;

  always_ff @(posedge clk_i) begin
    if (loads) size_of_q[tag] <= take;
    if (leaves && request_q) begun_q[tag_q] <= now_q;
  end

  always_ff @(posedge clk_i) begin
    now_q  <= now_q + 1'b1;
    look_q <= look_q + 1'b1;
    if (loads) begin
      tag_q <= tag;
    end
    if (loads) request_q <= 1'b1;
    else if (leaves) request_q <= 1'b0;
    // The time of a request counts from when it leaves, however long it waits for the link or for Bus Master Enable.
    if (leaves && request_q) sent_q[tag_q] <= 1'b1;
    if (loads) sent_q[tag] <= 1'b0;
    if (loads) open_q[tag] <= 1'b1;
    if (lands) open_q[end_tag] <= 1'b0;
    if (expires) open_q[late_tag_q] <= 1'b0;
    open_count_q <= open_count_q + (BITS + 1)'(loads) - (BITS + 1)'(back_moves && back_last);
    reserved_q   <= reserved_q + (loads ? take : 13'd0) - returned;
    if (back_moves && !failed_q && back_result != peerlane_pkg::RESULT_SUCCESSFUL) begin
      failed_q <= 1'b1;
      result_q <= back_result;
    end
    cycles_q <= cycles_q + 1'b1;
    if (valid_o && ready_i && !ticking_q) begin
      ticking_q <= 1'b1;
      cycles_q  <= 32'd2;
    end
    if (lands || expires) timer_q <= cycles_q;
    if (done_o) begin
      busy_q    <= 1'b0;
      ticking_q <= 1'b0;
    end
    if (start_i) begin
      busy_q   <= 1'b1;
      failed_q <= 1'b0;
      result_q <= peerlane_pkg::RESULT_SUCCESSFUL;
      timer_q  <= '0;
    end
    if (rst_i) begin
      request_q    <= 1'b0;
      busy_q       <= 1'b0;
      ticking_q    <= 1'b0;
      failed_q     <= 1'b0;
      open_q       <= '0;
      sent_q       <= '0;
      open_count_q <= '0;
      reserved_q   <= '0;
      now_q        <= '0;
      look_q       <= '0;
    end
  end

  `RULE(returned <= reserved_q + (loads ? take : 13'd0), "more space comes back than was held")
  `RULE(!(back_moves && back_last) || open_count_q != '0, "more requests end than are open")
  `RULE(open_count_q <= (BITS + 1)'(TAGS), "more requests are open than there are tags")
  `STREAM(requests, 64 + 4, {data_o, bytes_o}, first_o, last_o, valid_o, ready_i)

`ifdef FORMAL
  `include "dma_reader.svh"
`endif

endmodule
