// Answers requests: reads of registers with data, in parts that end at multiples of MPS, and all others with Unsupported Request.

`include "require.svh"

module dma_completer (
    // Clock.
    input  logic         clk_i,
    // Synchronous reset: no request is in progress.
    input  logic         rst_i,
    // Completer ID.
    input  logic [15:0]  function_id_i,
    // Max_Payload_Size, as in Device Control.
    input  logic [2:0]   max_payload_i,
    // The first 16 bytes of the request's header, byte 0 in bits 127:120.
    input  logic [127:0] request_header_i,
    // The request reads registers.
    input  logic         request_good_i,
    // There is a request.
    input  logic         request_valid_i,
    // The next request can be taken; it is then taken in the cycle in which it is valid.
    output logic         request_ready_o,
    // The word to read.
    output logic [17:3]  word_o,
    // The word is read at the next edge; without it the data stays as it is.
    output logic         read_o,
    // The request begins with the upper half of the word that is read.
    output logic         upper_o,
    // The halves of the word that the request needs.
    output logic [1:0]   halves_o,
    // The data of the word that was read last.
    input  logic [63:0]  word_data_i,
    // That data is there, from the cycle behind `read_o` on.
    input  logic         word_ready_i,
    // Data of a completion.
    output logic [63:0]  data_o,
    // Bytes in the beat.
    output logic [3:0]   bytes_o,
    // First beat of a completion.
    output logic         first_o,
    // Last beat of a completion.
    output logic         last_o,
    // There is a beat.
    output logic         valid_o,
    // The beat is taken.
    input  logic         ready_i,
    // A request is in progress.
    output logic         busy_o
);

  // Requester, tag, class and attributes go from the request to the completion as they are.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] request_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic         good_q;
  logic         locked_q;
  logic         busy_q;
  logic [17:2]  at_q;
  logic [10:0]  dwords_q;
  logic [12:0]  count_q;
  logic [1:0]   offset_q;

  logic         wide;
  logic [10:0]  asked;
  logic [3:0]   first_be;
  logic [3:1]   end_be;
  logic [1:0]   offset;
  logic [2:0]   over;
  logic [12:0]  size;
  logic [7:0]   kind;

  // Byte Count is what is left of a memory read, the operand of an AtomicOp, and 4 of every other request (PCIe Base 2.2.9).
  always_comb begin
    if (request_valid_i) begin
      kind     = request_header_i[peerlane_pkg::TLP_KIND+:8] & ~peerlane_pkg::TLP_WIDE;
      wide     = (request_header_i[peerlane_pkg::TLP_KIND+:8] & peerlane_pkg::TLP_WIDE) != '0;
      asked    = {request_header_i[peerlane_pkg::REQUEST_DWORDS+:10] == '0, request_header_i[peerlane_pkg::REQUEST_DWORDS+:10]};
      first_be = request_header_i[peerlane_pkg::REQUEST_FIRST_BE+:4];
      end_be   = asked == 11'd1 ? first_be[3:1] : request_header_i[peerlane_pkg::REQUEST_LAST_BE+1+:3];
      offset   = first_be[0] ? 2'd0 : first_be[1] ? 2'd1 : first_be[2] ? 2'd2 : first_be[3] ? 2'd3 : 2'd0;
      over     = end_be[3] ? 3'd0 : end_be[2] ? 3'd1 : end_be[1] ? 3'd2 : 3'd3;
      size     = 13'd4;
      // A read without an enabled byte counts as one byte (PCIe Base 2.3.1.1).
      if (kind == peerlane_pkg::TLP_MEMORY_READ || kind == peerlane_pkg::TLP_MEMORY_READ_LOCKED) begin
        size = asked == 11'd1 && first_be == '0 ? 13'd1 : {asked, 2'b0} - {11'b0, offset} - {10'b0, over};
      end
      if (kind == peerlane_pkg::TLP_FETCH_ADD || kind == peerlane_pkg::TLP_SWAP) size = {asked, 2'b0};
      if (kind == peerlane_pkg::TLP_COMPARE_AND_SWAP) size = {1'b0, asked, 1'b0};
    end else begin
      kind     = '0;
      wide     = '0;
      asked    = '0;
      first_be = '0;
      end_be   = '0;
      offset   = '0;
      over     = '0;
      size     = '0;
    end
  end

  // The part that is next, or in progress; a cycle after the request came, or the part before left, its size is known.
  logic         sized_q;
  logic [10:0]  part_q;
  logic         part_last_q;
  logic [12:0]  largest;
  logic [12:0]  room;
  logic [10:0]  part;
  logic         part_last;
  logic [127:0] header;
  logic [127:0] wired;
  logic         leaves;
  logic         piece_ready;

  assign largest   = 13'(peerlane_pkg::LEAST_PAYLOAD) << (max_payload_i > 3'd5 ? 3'd5 : max_payload_i);
  assign room      = largest - ({at_q[12:2], 2'b0} & (largest - 13'd1));
  assign part_last = dwords_q <= room[12:2];
  assign part      = !good_q ? 11'd0 : part_last ? dwords_q : room[12:2];

  // Nothing looks at the header before the size of its part is known.
  always_comb begin
    header = '0;
    if (sized_q) begin
      header[peerlane_pkg::TLP_KIND+:8] = good_q ? peerlane_pkg::TLP_COMPLETION_DATA
          : locked_q ? peerlane_pkg::TLP_COMPLETION_LOCKED : peerlane_pkg::TLP_COMPLETION;
      header[peerlane_pkg::TLP_TRAFFIC_CLASS+:3] = request_q[peerlane_pkg::TLP_TRAFFIC_CLASS+:3];
      header[peerlane_pkg::TLP_ORDERING+:2] = request_q[peerlane_pkg::TLP_ORDERING+:2];
      header[peerlane_pkg::TLP_ID_ORDERING] = request_q[peerlane_pkg::TLP_ID_ORDERING];
      header[peerlane_pkg::COMPLETION_TAG_9] = request_q[peerlane_pkg::REQUEST_TAG_9];
      header[peerlane_pkg::COMPLETION_TAG_8] = request_q[peerlane_pkg::REQUEST_TAG_8];
      header[peerlane_pkg::COMPLETION_DWORDS+:10] = part_q[9:0];
      header[peerlane_pkg::COMPLETION_COMPLETER+:16] = function_id_i;
      header[peerlane_pkg::COMPLETION_STATUS+:3] = good_q ? peerlane_pkg::STATUS_SUCCESSFUL : peerlane_pkg::STATUS_UNSUPPORTED;
      header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12] = count_q[11:0];
      header[peerlane_pkg::COMPLETION_REQUESTER+:16] = request_q[peerlane_pkg::REQUEST_REQUESTER+:16];
      header[peerlane_pkg::COMPLETION_TAG+:8] = request_q[peerlane_pkg::REQUEST_TAG+:8];
      header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:7] = good_q ? {at_q[6:2], offset_q} : 7'd0;
    end
  end

  always_comb begin
    wired = '0;
    if (sized_q) wired = peerlane_pkg::wire_order(header);
  end

  // Words come from the memory one at a time: asked, there, in a register, and out through the shifter.
  logic [17:3]  word_q;
  logic         reads_q;
  logic [63:0]  word_data_q;
  logic         word_valid_q;
  logic         fresh_q;
  // Dwords from the front of the word to the end of the part; 0 after its end.
  logic [11:0]  reach_q;
  logic         feed_last;
  logic         accepts;
  logic         feed;
  logic [63:0]  piece;
  logic [3:0]   piece_bytes;
  logic         piece_first;
  logic         piece_last;
  logic         piece_valid;

  assign word_o    = word_q;
  assign read_o    = sized_q && !reads_q && !word_valid_q && reach_q != '0;
  assign upper_o   = fresh_q && at_q[2];
  assign halves_o  = {reach_q >= 12'd2, !upper_o};
  assign feed_last = reach_q <= 12'd2;
  assign feed      = sized_q && word_valid_q && reach_q != '0;

  byte_shifter #(
      .W(64)
  ) shifter (
      .clk_i,
      .rst_i,
      .skip_i ({at_q[2], 2'b0}),
      .lead_i (3'(peerlane_pkg::HEADER_SHORT % 8)),
      .data_i (word_data_q),
      .bytes_i(feed_last ? {reach_q[1:0], 2'b0} : 4'd8),
      .first_i(fresh_q),
      .last_i (feed_last),
      .valid_i(feed),
      .ready_o(accepts),
      .data_o (piece),
      .bytes_o(piece_bytes),
      .first_o(piece_first),
      .last_o (piece_last),
      .valid_o(piece_valid),
      .ready_i(piece_ready)
  );

  tlp_assembler #(
      .W(64)
  ) assembler (
      .clk_i,
      .rst_i,
      .header_i      (wired),
      .wide_i        (1'b0),
      .dwords_i      (part_q),
      .header_valid_i(sized_q),
      .header_ready_o(leaves),
      .data_i        (piece),
      .last_i        (piece_last),
      .valid_i       (piece_valid),
      .ready_o       (piece_ready),
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o,
      .ready_i
  );

  assign request_ready_o = !busy_q;
  assign busy_o          = busy_q;

  always_ff @(posedge clk_i) begin
    reads_q      <= (read_o || (reads_q && !word_ready_i)) && !leaves;
    word_valid_q <= ((reads_q && word_ready_i) || (word_valid_q && !(feed && accepts))) && !leaves;
    if (reads_q && word_ready_i) word_data_q <= word_data_i;
    if (busy_q && !sized_q) begin
      part_q      <= part;
      part_last_q <= part_last;
      reach_q     <= good_q ? {1'b0, part} + {11'b0, at_q[2]} : '0;
      sized_q     <= 1'b1;
    end
    if (feed && accepts) begin
      word_q  <= word_q + 1'b1;
      reach_q <= feed_last ? '0 : reach_q - 12'd2;
      fresh_q <= 1'b0;
    end
    if (leaves) begin
      busy_q   <= good_q && !part_last_q;
      sized_q  <= 1'b0;
      at_q     <= at_q + {5'b0, part_q};
      dwords_q <= dwords_q - part_q;
      count_q  <= count_q - {part_q, 2'b0} + {11'b0, offset_q};
      offset_q <= '0;
      fresh_q  <= 1'b1;
      word_q   <= 15'((at_q + {5'b0, part_q}) >> 1);
    end
    if (!busy_q && request_valid_i) begin
      request_q <= request_header_i;
      good_q    <= request_good_i;
      locked_q  <= kind == peerlane_pkg::TLP_MEMORY_READ_LOCKED;
      busy_q    <= 1'b1;
      at_q      <= wide ? request_header_i[peerlane_pkg::WIDE_ADDRESS+:16] : request_header_i[peerlane_pkg::SHORT_ADDRESS+:16];
      word_q    <= wide ? request_header_i[peerlane_pkg::WIDE_ADDRESS+1+:15] : request_header_i[peerlane_pkg::SHORT_ADDRESS+1+:15];
      dwords_q  <= asked;
      count_q   <= size;
      offset_q  <= offset;
      fresh_q   <= 1'b1;
    end
    if (rst_i) begin
      busy_q       <= 1'b0;
      sized_q      <= 1'b0;
      reads_q      <= 1'b0;
      word_valid_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, piece_bytes, piece_first, room[1:0]};

  `RULE(!request_valid_i || request_ready_o, "a request comes while another one is in progress")
  `STREAM(completions, 64 + 4, {data_o, bytes_o}, first_o, last_o, valid_o, ready_i)

endmodule
