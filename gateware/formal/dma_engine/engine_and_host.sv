// The engine as a whole, from reset, with a host that keeps to the rules: it writes a list of two descriptors for each unit that it uses,
// begins its transfer, all without a pause, and then completes the reads that are in flight at any time, in any order and in any pieces.
// Everything is judged at the ports.

module engine_and_host #(
    // The units that the host uses: bit 0 the write unit, bit 1 the read unit, bit 2 the peer unit. In part 2 any of them.
    parameter int USED = 1,
    // The part that is judged: 0 the whole; 1 the lists, up to the ranges that they give to the units; 2 units and link, with ranges as
    // part 1 has them.
    parameter int PART = 0
) (
    // Clock.
    input logic clk_i
);

  localparam int UNITS = 3;
  localparam int WRITE = 0;
  localparam int READ = 1;
  localparam int PEER = 2;
  localparam int LISTS = 1;
  localparam int LINK = 2;
  // Beats of the longest packet to the engine.
  localparam int BEATS = 5;
  // Cycles within which a unit ends when nothing moves at the ports any more.
  localparam int CALM = 20;

  logic reset_q;
  initial reset_q = 1'b1;
  always_ff @(posedge clk_i) reset_q <= 1'b0;

  // The ports, and what does not change.
  (* anyconst *) logic [15:0] function_id;
  (* anyseq *) logic bus_master;
  (* anyseq *) logic tx_ready;
  (* anyseq *) logic irq_ready;
  logic        rx_valid;
  logic        rx_ready;
  logic [63:0] rx_data;
  logic        rx_first;
  logic        rx_last;
  logic [3:0]  rx_bytes;
  logic        tx_valid;
  logic [63:0] tx_data;
  logic        tx_first;
  logic        tx_last;
  logic [3:0]  tx_bytes;
  logic [15:0] tx_label;
  logic        irq_valid;
  logic [10:0] irq_vector;
  logic        active;

  // A user's logic that never stalls, and gives any data.
  dma_engine #(
      .FIFOS      (0),
      .COMMANDS   (0),
      .USER_REGISTERS(0),
      .DESCRIPTORS(2),
      .TAGS       (2),
      .SLOT_BYTES (128)
  ) engine (
      .clk_i,
      .rst_i             (reset_q),
      .user_clk_i        (clk_i),
      .user_rst_i        (reset_q),
      .function_id_i     (function_id),
      .max_payload_i     (3'd0),
      .max_read_request_i(3'd0),
      .bus_master_i      (bus_master),
      .ext_tag_i         (1'b0),
      .flr_i             (1'b0),
      .rx_valid_i        (rx_valid),
      .rx_ready_o        (rx_ready),
      .rx_data_i         (rx_data),
      .rx_first_i        (rx_first),
      .rx_last_i         (rx_last),
      .rx_bytes_i        (rx_bytes),
      .rx_label_i        (16'd0),
      .rx_bar_i          (3'd2),
      .tx_valid_o        (tx_valid),
      .tx_ready_i        (tx_ready),
      .tx_data_o         (tx_data),
      .tx_first_o        (tx_first),
      .tx_last_o         (tx_last),
      .tx_bytes_o        (tx_bytes),
      .tx_label_o        (tx_label),
      .irq_valid_o       (irq_valid),
      .irq_ready_i       (irq_ready),
      .irq_vector_o      (irq_vector),
      .active_o          (active),
      .m_axis_rx_tready   (1'b1),
      .m_axis_ep_rx_tready(1'b1),
      .s_axis_tx_tvalid   (1'b1),
      .s_axis_ep_tx_tvalid(1'b1),
      .m_apb_pready       (1'b1),
      .user_irq_valid_i   (1'b0),
      .timed_i            (1'b0),
      .user_active_i      (1'b0)
  );

  // What the host sends next, if anything, and its parameters.
  localparam logic [1:0] DESCRIPTOR = 2'd0;
  localparam logic [1:0] GO = 2'd1;
  localparam logic [1:0] COMPLETION = 2'd2;
  (* anyseq *) logic [6:0] place;
  (* anyseq *) logic [3:0] length_less;
  (* anyseq *) logic [1:0] count;
  (* anyseq *) logic [4:0] most;
  (* anyseq *) logic tag;
  (* anyseq *) logic [4:0] carried;
  (* anyseq *) logic [2:0] status;
  (* anyseq *) logic completes;
  (* anyseq *) logic pauses_after;

  // The set-up, in steps: two descriptors and the begin of the write unit, then of the read unit, then the command of the peer unit.
  localparam logic [2:0] STEPS = 3'd7;
  (* anyconst *) logic [2:0] any_units;
  logic [2:0] used;
  logic [2:0] step_q;
  logic [2:0] step;
  logic [1:0] kind;
  logic [1:0] unit;
  logic       begins;
  logic       pauses;
  assign used = PART == LINK ? any_units : 3'(USED);
  always_comb begin
    step = step_q;
    if (!used[WRITE] && step < 3'd3) step = 3'd3;
    if (!used[READ] && step >= 3'd3 && step < 3'd6) step = 3'd6;
    if (!used[PEER] && step == 3'd6) step = STEPS;
  end
  assign kind   = step == STEPS ? COMPLETION : step == 3'd2 || step >= 3'd5 ? GO : DESCRIPTOR;
  assign unit   = step < 3'd3 ? 2'(WRITE) : step < 3'd6 ? 2'(READ) : 2'(PEER);
  assign begins = step != STEPS || completes;
  assign pauses = step_q == STEPS && pauses_after;

  // The packet that is being sent.
  logic [64*BEATS-1:0] packet_q;
  logic [5:0]          bytes_q;
  logic                sending_q;
  logic                front_q;
  logic                offered_q;
  logic                completes_q;
  logic                ends_q;
  logic                end_tag_q;
  logic                moves;

  // Requests in flight: their bytes that are still to come, and the place of the next one in its page.
  logic [1:0]       flight_q;
  logic [1:0][4:0]  left_q;
  logic [1:0][11:0] next_q;

  // What the host asked of each unit, and what the engine did: bytes in all, and the place of the next byte, with those from there to the
  // end of its descriptor.
  logic [1:0][1:0]        listed_q;
  logic [1:0][1:0][12:0]  place_q;
  logic [1:0][1:0][4:0]   length_q;
  logic [UNITS-1:0]       begun_q;
  logic [UNITS-1:0]       told_q;
  logic [UNITS-1:0][6:0]  asked_q;
  logic [UNITS-1:0][6:0]  moved_q;
  logic [UNITS-1:0][13:0] at_q;
  logic [UNITS-1:0][4:0]  until_q;
  logic [UNITS-1:0]       further_q;
  logic                   failed_q;

  logic [63:0] address;
  logic [4:0]  length;
  logic [31:0] payload;
  logic [159:0] data;
  logic        starts;
  logic        list;
  logic [12:0] wanted;
  logic [6:0]  until_line;
  logic        succeeds;
  logic [127:0] header;
  logic [127:0] packed_header;
  logic [191:0] body;
  logic [5:0]  body_bytes;
  logic [4:0]  dwords;
  logic [6:0]  total;

  // Addresses in the first and the last 32 bytes of two pages, ranges of up to 16 bytes, payloads of up to 31, and the smallest MPS and MRRS,
  // which are larger than these: the proofs of the units have the others.
  assign address    = {51'b0, place[6], {7{place[5]}}, place[4:0]};
  assign length     = {1'b0, length_less} + 5'd1;
  assign payload    = {27'b0, most};
  assign data       = '0;
  assign list       = unit[0];
  assign starts     = begins && !sending_q && !reset_q;
  assign until_line = 7'd64 - {1'b0, next_q[tag][5:0]};
  assign succeeds   = status == peerlane_pkg::STATUS_SUCCESSFUL;
  assign dwords     = (carried + {3'b0, next_q[tag][1:0]} + 5'd3) >> 2;

  // The descriptors of a transfer: those of the list from its first one on, or the one of the peer unit.
  always_comb begin
    total = '0;
    for (int k = 0; k < 2; k = k + 1) begin
      if (unit == 2'(PEER) ? k == 0 : 2'(k) < count) begin
        total = total + {2'b0, unit == 2'(PEER) ? length : length_q[list][k]};
      end
    end
  end

  always_comb begin
    assume (count <= 2'd2);
    if (starts && kind == COMPLETION) begin
      assume (flight_q[tag]);
      assume (succeeds || status == peerlane_pkg::STATUS_UNSUPPORTED || status == peerlane_pkg::STATUS_ABORT);
      // A request is completed in pieces that end at multiples of 64 bytes (PCIe Base 2.3.1.1).
      assume (carried == left_q[tag] || carried < left_q[tag] && {2'b0, carried} == until_line);
    end
  end

  // The packet.
  always_comb begin
    header     = '0;
    body       = '0;
    body_bytes = 6'd16;
    header[peerlane_pkg::TLP_KIND+:8] = peerlane_pkg::TLP_MEMORY_WRITE;
    header[peerlane_pkg::REQUEST_DWORDS+:10] = 10'd4;
    header[peerlane_pkg::REQUEST_FIRST_BE+:4] = 4'hf;
    header[peerlane_pkg::REQUEST_LAST_BE+:4] = 4'hf;
    if (kind == DESCRIPTOR) begin
      header[peerlane_pkg::SHORT_ADDRESS+:16] = (list ? peerlane_pkg::DMA_READ_LIST[17:2] : peerlane_pkg::DMA_WRITE_LIST[17:2]) | {13'b0, listed_q[list][0], 2'b0};
      body = {64'b0, 59'b0, length, address};
    end else if (kind == GO && unit != 2'(PEER)) begin
      header[peerlane_pkg::SHORT_ADDRESS+:16] = (list ? peerlane_pkg::DMA_READ[17:2] : peerlane_pkg::DMA_WRITE[17:2]) | {10'b0, peerlane_pkg::DMA_LENGTH[5:0]} >> 2;
      body = {64'b0, 30'b0, unit, payload, 62'b0, count};
    end else if (kind == GO) begin
      header[peerlane_pkg::REQUEST_DWORDS+:10] = 10'd6;
      header[peerlane_pkg::SHORT_ADDRESS+:16] = peerlane_pkg::DMA_PEER[17:2];
      body       = {30'b0, unit, payload, 59'b0, length, address};
      body_bytes = 6'd24;
    end else begin
      header = '0;
      header[peerlane_pkg::TLP_KIND+:8] = succeeds ? peerlane_pkg::TLP_COMPLETION_DATA : peerlane_pkg::TLP_COMPLETION;
      header[peerlane_pkg::COMPLETION_DWORDS+:10] = succeeds ? {5'b0, dwords} : '0;
      header[peerlane_pkg::COMPLETION_STATUS+:3] = status;
      header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12] = {7'b0, left_q[tag]};
      header[peerlane_pkg::COMPLETION_REQUESTER+:16] = function_id;
      header[peerlane_pkg::COMPLETION_TAG+:8] = {7'b0, tag};
      header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:7] = succeeds ? next_q[tag][6:0] : '0;
      body       = {32'b0, data};
      body_bytes = succeeds ? {1'b0, dwords} << 2 : '0;
    end
  end
  assign packed_header = peerlane_pkg::wire_order(header);

  assign rx_valid = sending_q && (offered_q || !pauses);
  assign rx_data  = packet_q[63:0];
  assign rx_first = front_q;
  assign rx_last  = bytes_q <= 6'd8;
  assign rx_bytes = rx_last ? bytes_q[3:0] : 4'd8;
  assign moves    = rx_valid && rx_ready;

  // What the engine sends.
  logic [63:0]  early_q;
  logic         second_q;
  logic         inside_q;
  logic [12:0]  rest_q;
  logic [12:0]  size;
  logic         leaves;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] sent;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [127:0] sent_first;
  logic [7:0]   sent_kind;
  logic         wide;
  logic [63:0]  sent_address;
  logic [10:0]  sent_dwords;
  logic [1:0]   skipped;
  logic [1:0]   over;
  logic [3:0]   first_be;
  logic [3:0]   last_be;
  logic [12:0]  sent_bytes;
  logic [1:0]   by;
  logic         reads;
  logic         writes;
  logic [4:0]   left;
  assign leaves     = tx_valid && tx_ready;
  assign sent_first = peerlane_pkg::wire_order({64'b0, tx_data});
  assign size       = (sent_first[peerlane_pkg::TLP_KIND+5] ? 13'd16 : 13'd12)
      + (sent_first[peerlane_pkg::TLP_KIND+6] ? {1'b0, sent_first[peerlane_pkg::REQUEST_DWORDS+:10], 2'b0} : 13'd0);
  assign sent        = peerlane_pkg::wire_order({tx_data, early_q});
  assign sent_kind   = sent[peerlane_pkg::TLP_KIND+:8];
  assign wide        = (sent_kind & peerlane_pkg::TLP_WIDE) != '0;
  assign sent_dwords = {1'b0, sent[peerlane_pkg::REQUEST_DWORDS+:10]};
  assign first_be    = sent[peerlane_pkg::REQUEST_FIRST_BE+:4];
  assign last_be     = sent_dwords == 11'd1 ? first_be : sent[peerlane_pkg::REQUEST_LAST_BE+:4];
  assign skipped     = first_be[0] ? 2'd0 : first_be[1] ? 2'd1 : first_be[2] ? 2'd2 : 2'd3;
  assign over        = last_be[3] ? 2'd0 : last_be[2] ? 2'd1 : last_be[1] ? 2'd2 : 2'd3;
  assign sent_bytes  = {sent_dwords, 2'b0} - {11'b0, skipped} - {11'b0, over};
  assign sent_address = (wide ? {sent[peerlane_pkg::WIDE_ADDRESS+:62], 2'b0} : {32'b0, sent[peerlane_pkg::SHORT_ADDRESS+:30], 2'b0}) + {62'b0, skipped};
  assign reads       = leaves && second_q && (sent_kind & ~peerlane_pkg::TLP_WIDE) == peerlane_pkg::TLP_MEMORY_READ;
  assign writes      = leaves && second_q && (sent_kind & ~peerlane_pkg::TLP_WIDE) == peerlane_pkg::TLP_MEMORY_WRITE;
  assign by          = tx_label[1:0];
  assign left        = until_q[by] - sent_bytes[4:0];
  assign wanted      = 13'd4096 - {1'b0, sent_address[11:0]};

  // Cycles without anything at the ports that could keep a unit from its end.
  logic [4:0] calm_q;
  logic       calm;
  assign calm = !tx_valid && !sending_q && !starts && bus_master && irq_ready;

  always_ff @(posedge clk_i) begin
    offered_q <= rx_valid && !rx_ready;
    calm_q    <= !calm ? '0 : calm_q == '1 ? calm_q : calm_q + 1'b1;
    if (starts) begin
      if (step != STEPS) step_q <= step + 1'b1;
      sending_q   <= 1'b1;
      front_q     <= 1'b1;
      packet_q    <= {32'b0, body, packed_header[95:0]};
      bytes_q     <= body_bytes + 6'd12;
      completes_q <= kind == COMPLETION;
      ends_q      <= kind == COMPLETION && (!succeeds || carried == left_q[tag]);
      end_tag_q   <= tag;
      if (kind == DESCRIPTOR) begin
        listed_q[list]                    <= listed_q[list] + 1'b1;
        place_q[list][listed_q[list][0]]  <= address[12:0];
        length_q[list][listed_q[list][0]] <= length;
      end
      if (kind == GO) begin
        begun_q[unit]   <= 1'b1;
        asked_q[unit]   <= total;
        at_q[unit]      <= {1'b0, unit == 2'(PEER) ? address[12:0] : place_q[list][0]};
        until_q[unit]   <= unit == 2'(PEER) ? length : count != 2'd0 ? length_q[list][0] : '0;
        further_q[unit] <= unit != 2'(PEER) && count == 2'd2;
      end
      if (kind == COMPLETION) begin
        left_q[tag] <= left_q[tag] - carried;
        next_q[tag] <= next_q[tag] + {7'b0, carried};
        if (!succeeds) failed_q <= 1'b1;
      end
    end
    if (moves) begin
      front_q  <= 1'b0;
      packet_q <= packet_q >> 64;
      bytes_q  <= bytes_q - 6'd8;
      if (rx_last) sending_q <= 1'b0;
      if (rx_last && completes_q && ends_q) flight_q[end_tag_q] <= 1'b0;
    end
    if (leaves) begin
      early_q  <= tx_data;
      second_q <= tx_first;
      inside_q <= !tx_last;
      rest_q   <= (tx_first ? size : rest_q) - 13'd8;
    end
    if (reads || writes) begin
      moved_q[by] <= moved_q[by] + sent_bytes[6:0];
      at_q[by]    <= at_q[by] + {1'b0, sent_bytes};
      until_q[by] <= left;
      if (left == '0 && further_q[by]) begin
        at_q[by]      <= {1'b0, place_q[by[0]][1]};
        until_q[by]   <= length_q[by[0]][1];
        further_q[by] <= 1'b0;
      end
    end
    if (reads) begin
      flight_q[sent[peerlane_pkg::REQUEST_TAG]] <= 1'b1;
      left_q[sent[peerlane_pkg::REQUEST_TAG]]   <= sent_bytes[4:0];
      next_q[sent[peerlane_pkg::REQUEST_TAG]]   <= sent_address[11:0];
    end
    if (irq_valid && irq_ready) told_q[irq_vector[1:0]] <= 1'b1;
    if (reset_q) begin
      step_q    <= '0;
      sending_q <= 1'b0;
      offered_q <= 1'b0;
      flight_q  <= '0;
      listed_q  <= '0;
      begun_q   <= '0;
      told_q    <= '0;
      asked_q   <= '0;
      moved_q   <= '0;
      until_q   <= '0;
      further_q <= '0;
      failed_q  <= 1'b0;
      second_q  <= 1'b0;
      inside_q  <= 1'b0;
      calm_q    <= '0;
    end
  end

  // Part 2 is a step of an induction: registers begin as anything, all properties are assumed in the first cycle and judged in the second.
  // A cycle of reset may be the first one.
  logic later_q;
  logic judged;
  initial later_q = 1'b0;
  always_ff @(posedge clk_i) later_q <= 1'b1;
  assign judged = !reset_q && (PART != LINK || later_q);

  // The ranges that the units are given, and their descriptors: what part 1 proves of them, part 2 assumes.
  (* hierconn *) logic [2:0]   \engine.range_valid ;
  (* hierconn *) logic [2:0]   \engine.range_ready ;
  (* hierconn *) logic [191:0] \engine.range_address ;
  (* hierconn *) logic [95:0]  \engine.range_length ;
  (* hierconn *) logic [2:0]   \engine.starts ;
  (* hierconn *) logic [95:0]  \engine.labels ;
  (* hierconn *) logic         \engine.answer_valid ;
  logic [UNITS*26-1:0] wanted_place;
  logic [UNITS*10-1:0] wanted_size;
  logic [UNITS*2-1:0]  wanted_count;
  logic [UNITS*2-1:0]  taken_count;
  logic [UNITS-1:0]    was_started;
  logic [UNITS-1:0]    is_descriptor;
  logic [UNITS-1:0]    is_first_start;

  for (genvar u = 0; u < UNITS; u = u + 1) begin : gen_wanted
    logic [12:0] place;
    logic [4:0]  size;
    logic [1:0]  count_q;
    logic [1:0]  taken_q;
    logic        started_q;
    if (u == PEER) begin : gen_command
      logic [12:0] place_of_q;
      logic [4:0]  size_of_q;
      always_ff @(posedge clk_i) begin
        if (starts && kind == GO && unit == 2'(PEER)) place_of_q <= address[12:0];
        if (starts && kind == GO && unit == 2'(PEER)) size_of_q <= length;
      end
      assign wanted_place[26*u+:26] = {13'd0, place_of_q};
      assign wanted_size[10*u+:10]  = {5'd0, size_of_q};
    end else begin : gen_list
      assign wanted_place[26*u+:26] = {place_q[u][1], place_q[u][0]};
      assign wanted_size[10*u+:10]  = {length_q[u][1], length_q[u][0]};
    end
    assign wanted_count[2*u+:2] = count_q;
    assign taken_count[2*u+:2]  = taken_q;
    assign was_started[u]       = started_q;
    assign place                = wanted_place[26*u+13*taken_q[0]+:13];
    assign size                 = wanted_size[10*u+5*taken_q[0]+:5];
    always_ff @(posedge clk_i) begin
      if (starts && kind == GO && unit == 2'(u)) count_q <= u == PEER ? 2'd1 : count;
      if (\engine.range_valid [u] && \engine.range_ready [u]) taken_q <= taken_q + 1'b1;
      if (\engine.starts [u]) started_q <= 1'b1;
      if (reset_q) begin
        count_q   <= '0;
        taken_q   <= '0;
        started_q <= 1'b0;
      end
    end
    assign is_descriptor[u] = !(\engine.range_valid [u] && \engine.range_ready [u]) || taken_q < count_q && size != '0
        && \engine.range_address [64*u+:64] == {51'b0, place} && \engine.range_length [32*u+:32] == {27'b0, size};
    assign is_first_start[u] = !\engine.starts [u] || !started_q && \engine.labels [32*u+:2] == 2'(u);
  end

  if (PART == LINK) begin : gen_given
    always_comb if (!reset_q) begin
      assume (is_descriptor == '1);
      assume (is_first_start == '1);
      assume (!\engine.answer_valid );
    end
  end else begin : gen_lists
    always_comb if (!reset_q) begin
      a_range_is_the_next_descriptor: assert (is_descriptor == '1);
      a_unit_starts_once_with_its_label: assert (is_first_start == '1);
      no_register_is_answered: assert (!\engine.answer_valid );
    end
  end

  // The bytes of the descriptors, in their order: each once, and no other.
  logic is_next;
  logic is_of_a_writer;
  logic is_in_its_page;
  assign is_next        = sent_address == {50'b0, at_q[by]} && sent_bytes <= {8'b0, until_q[by]};
  assign is_of_a_writer = by == 2'(WRITE) || by == 2'(PEER);
  assign is_in_its_page = sent_bytes <= wanted;

  if (PART != LISTS) begin : gen_bytes
    always_comb if (judged) begin
      nothing_is_written_past_a_descriptor: assert (!writes || is_next);
      nothing_is_read_past_a_descriptor: assert (!reads || is_next);
      a_write_is_of_a_unit_that_writes: assert (!writes || is_of_a_writer);
      a_request_stays_in_its_page: assert (!(reads || writes) || is_in_its_page);
    end
  end

  if (PART == 0) begin : gen_whole
    always_comb if (!reset_q) begin
      a_read_is_of_the_read_unit: assert (!reads || by == 2'(READ) && sent[peerlane_pkg::REQUEST_TAG+:8] < 8'd2);
      a_packet_is_as_long_as_its_header_says: assert (!leaves || tx_first != inside_q && tx_last == ((tx_first ? size : rest_q) <= 13'd8));
      no_tag_is_twice_in_flight: assert (!reads || !flight_q[sent[peerlane_pkg::REQUEST_TAG]]);
      at_the_end_every_read_is_complete: assert (!(irq_valid && irq_vector == 11'(READ)) || flight_q == '0);
      at_the_end_everything_was_moved:
      assert (!irq_valid || irq_vector >= 11'(UNITS) || failed_q && irq_vector == 11'(READ)
          || moved_q[irq_vector[1:0]] == asked_q[irq_vector[1:0]]);
      no_completion_is_lost: assert (calm_q < 5'(CALM) || !begun_q[READ] || flight_q != '0 || told_q[READ]);
      every_write_ends: assert (calm_q < 5'(CALM) || (begun_q & ~told_q & 3'b101) == '0);
      both_tags_are_in_flight: cover (!USED[READ] || flight_q == '1);
      reads_end: cover (!USED[READ] || told_q[READ] && moved_q[READ] == 7'd18 && !failed_q);
      writes_end: cover (!USED[WRITE] || told_q[WRITE] && moved_q[WRITE] == 7'd18);
      commands_end: cover (!USED[PEER] || told_q[PEER] && moved_q[PEER] == 7'd7);
    end
  end

  `include "engine_and_host.svh"

endmodule
