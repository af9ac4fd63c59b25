// A unit that writes its data to ranges of addresses with posted writes of 64-bit beats, without idle beats between packets.

`include "require.svh"

module dma_sender (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: no transfer is in progress.
    input  logic        rst_i,
    // Requester ID.
    input  logic [15:0] function_id_i,
    // Largest payload in bytes, a multiple of 4, 4 to 4096.
    input  logic [12:0] payload_i,
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
    // The next bytes of the data, from lane 0 on.
    input  logic [63:0] data_i,
    // Number of bytes that are available; a packet begins when all its data is.
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
    // The beat is taken.
    input  logic        ready_i,
    // A beat that was taken has not left the engine.
    input  logic        leaving_i,
    // A transfer is in progress.
    output logic        busy_o,
    // A range that was taken, or a packet of it, has not left whole.
    output logic        holds_o,
    // The transfer has ended: its last beat has left. A pulse.
    output logic        done_o,
    // Cycles from the first beat of the transfer to the last, both included.
    output logic [31:0] timer_o
);

  // The next request of the range, and the packet that is next or in progress.
  logic [63:0]  next_address;
  logic [12:0]  next_bytes;
  logic         next;
  logic         cutting;
  logic         cutter_ready;
  /* verilator lint_off UNUSEDSIGNAL */
  logic         next_last;
  logic [10:0]  dwords;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [1:0]   offset_q;
  logic [12:0]  size_q;
  logic         packet_q;
  logic         begun_q;
  logic [12:0]  left_q;
  logic         within_q;
  logic         busy_q;
  logic         ticking_q;
  logic [31:0]  cycles_q;
  logic [31:0]  timer_q;

  logic         free;
  logic         loads;
  logic         leaves;
  logic         goes;
  logic [127:0] header;
  logic         wide;
  logic [2:0]   lead;
  logic [12:0]  left;
  logic [3:0]   lanes;
  logic [3:0]   count;
  logic         piece_last;
  logic         piece_ready;
  logic [63:0]  piece;
  logic         moves;

  request_splitter #(
      .LENGTH_BITS(32)
  ) splitter (
      .clk_i,
      .rst_i,
      .largest_i(payload_i),
      .address_i,
      .length_i,
      .valid_i  (range_valid_i && busy_q),
      .ready_o  (cutter_ready),
      .address_o(next_address),
      .bytes_o  (next_bytes),
      .last_o   (next_last),
      .valid_o  (next),
      .ready_i  (free),
      .stop_i   (1'b0),
      .busy_o   (cutting)
  );

  assign range_ready_o = busy_q && cutter_ready;
  assign free          = !packet_q || leaves;
  assign loads         = next && free;

  always_ff @(posedge clk_i) begin
    if (loads) begin
      offset_q <= next_address[1:0];
      size_q   <= next_bytes;
    end
    if (loads) packet_q <= 1'b1;
    else if (leaves) packet_q <= 1'b0;
    if (rst_i) packet_q <= 1'b0;
  end

  request_header builder (
      .clk_i,
      .load_i         (loads),
      .write_i        (1'b1),
      .address_i      (next_address),
      .bytes_i        (next_bytes),
      .requester_i    (function_id_i),
      .tag_i          (10'd0),
      .traffic_class_i,
      .ordering_i     (2'd0),
      .header_o       (header),
      .wide_o         (wide),
      .dwords_o       (dwords)
  );

  // The first piece of a payload fills the lanes after the header; the others are whole beats.
  assign goes       = packet_q && (begun_q || level_i >= size_q);
  always_comb begin
    if (goes) begin
      lead       = within_q ? 3'd0 : {!wide, offset_q};
      left       = within_q ? left_q : size_q;
      lanes      = 4'd8 - {1'b0, lead};
      piece_last = left <= {9'b0, lanes};
      count      = piece_last ? left[3:0] : lanes;
      piece      = (data_i & ~({64{1'b1}} << {count, 3'b0})) << {lead, 3'b0};
    end else begin
      lead       = '0;
      left       = '0;
      lanes      = '0;
      piece_last = 1'b0;
      count      = '0;
      piece      = '0;
    end
  end

  assign moves = goes && piece_ready;
  assign pop_o = moves ? count : 4'd0;

  tlp_assembler #(
      .W(64)
  ) assembler (
      .clk_i,
      .rst_i,
      .header_i      (header),
      .wide_i        (wide),
      .dwords_i      ({1'b1, dwords[9:0]}),  // a write has data
      .header_valid_i(goes),
      .header_ready_o(leaves),
      .data_i        (piece),
      .last_i        (piece_last),
      .valid_i       (goes),
      .ready_o       (piece_ready),
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o,
      .ready_i
  );

  assign busy_o  = busy_q;
  assign holds_o = cutting || packet_q;
  assign done_o  = busy_q && !start_i && !holds_o && !leaving_i && range_end_i && !range_valid_i;
  assign timer_o = timer_q;

  always_ff @(posedge clk_i) begin
    if (moves) begin
      left_q   <= left - {9'b0, count};
      within_q <= !piece_last;
    end
    begun_q  <= goes && !leaves;
    cycles_q <= ticking_q ? cycles_q + 1'b1 : 32'd1;
    if (valid_o && ready_i && !ticking_q) begin
      ticking_q <= 1'b1;
      cycles_q  <= 32'd2;
    end
    if (leaves) timer_q <= ticking_q ? cycles_q : 32'd1;
    if (done_o) begin
      busy_q    <= 1'b0;
      ticking_q <= 1'b0;
    end
    if (start_i) begin
      busy_q  <= 1'b1;
      timer_q <= '0;
    end
    if (rst_i) begin
      within_q  <= 1'b0;
      begun_q   <= 1'b0;
      busy_q    <= 1'b0;
      ticking_q <= 1'b0;
    end
  end

  `RULE(13'(pop_o) <= level_i, "more bytes are removed than there are")
  `STREAM(packets, 64 + 4, {data_o, bytes_o}, first_o, last_o, valid_o, ready_i)

`ifdef FORMAL
  `include "dma_sender.svh"
`endif

endmodule
