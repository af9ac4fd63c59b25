// Sorts received packets of 64-bit beats: completions, register accesses, writes of peers, and requests that no part serves. A posted packet
// or completion is received whatever the rest of the engine waits for (PCIe Base 2.4.1): a write of a peer, or to the user's registers, waits at
// most ACCEPT_CYCLES for space, and is dropped then; a non-posted request begins only where its answer can begin.

`include "require.svh"

module dma_receive #(
    // Whether a part takes writes of peers; otherwise they are unsupported.
    parameter int PEER_WRITES = 1,
    // Number of cycles that a beat of a write waits for space, 1 to 65535. After a wait of this length, writes of this kind without space are
    // dropped at once, until one is taken.
    parameter int ACCEPT_CYCLES = 512
) (
    // Clock.
    input  logic         clk_i,
    // Synchronous reset: no packet is in progress.
    input  logic         rst_i,
    // Data of a received packet.
    input  logic [63:0]  data_i,
    // First beat of a packet.
    input  logic         first_i,
    // Last beat of a packet.
    input  logic         last_i,
    // Bytes in the beat.
    input  logic [3:0]   bytes_i,
    // The BAR that a memory request hits.
    input  logic [2:0]   bar_i,
    // Label of the packet, with its first beat.
    input  logic [15:0]  label_i,
    // There is a beat.
    input  logic         valid_i,
    // The beat is taken.
    output logic         ready_o,
    // A non-posted request may begin in the next cycle. Once high, it stays high until a non-posted request has begun.
    output logic         np_ok_o,

    // Data of a completion.
    output logic [63:0]  completion_data_o,
    // Bytes in the beat.
    output logic [3:0]   completion_bytes_o,
    // First beat of a completion.
    output logic         completion_first_o,
    // Last beat of a completion.
    output logic         completion_last_o,
    // Bits 7 to 0 of the completion's tag, with the first beat.
    output logic [7:0]   completion_tag_o,
    // There is a beat of a completion.
    output logic         completion_valid_o,
    // The beat is taken.
    input  logic         completion_ready_i,

    // Offset in BAR 2 of a word to write.
    output logic [17:3]  write_word_o,
    // The word.
    output logic [63:0]  write_data_o,
    // Bytes of the word to write.
    output logic [7:0]   write_lanes_o,
    // There is a word to write.
    output logic         write_valid_o,
    // The word is taken.
    input  logic         write_ready_i,
    // It is the last word of its packet.
    output logic         write_last_o,
    // The packet that ends with this word has another length than its header says: it starts no transfer.
    output logic         write_cut_o,

    // A request that needs a completion: the first 16 bytes of its header, byte 0 in bits 127:120.
    output logic [127:0] request_header_o,
    // The request reads BAR 2; otherwise it is unsupported.
    output logic         request_good_o,
    // There is such a request; it is taken at once.
    output logic         request_valid_o,
    // The next request can be taken. Once high, it stays high until there is a request.
    input  logic         request_ready_i,

    // Data that a peer writes, from lane 0 on.
    output logic [63:0]  peer_data_o,
    // Number of bytes.
    output logic [3:0]   peer_bytes_o,
    // First bytes of a packet.
    output logic         peer_first_o,
    // Last bytes of a packet.
    output logic         peer_last_o,
    // There is data of a peer.
    output logic         peer_valid_o,
    // The data is taken.
    input  logic         peer_ready_i,

    // The number of bytes of the peer's write, with all of its data.
    output logic [12:0]  peer_size_o,
    // The label of the peer's write, with all of its data.
    output logic [15:0]  peer_label_o,
    // A write of a peer has lost data, because there was no space for it. A pulse.
    output logic         dropped_o,
    // A packet ends whose payload has another length than its header says. A pulse.
    output logic         malformed_o,
    // A packet with poisoned data has begun. A pulse.
    output logic         poisoned_o,
    // A request that no part serves has begun. A pulse.
    output logic         unsupported_o,
    // A completion of a locked read has begun; the engine never requests locked reads. A pulse.
    output logic         unexpected_o,
    // A packet was received with an error. A pulse; a register, as are kind and header.
    output logic         error_o,
    // The error, of peerlane_pkg::ERROR.
    output logic [2:0]   error_kind_o,
    // The header of the last packet with an error, byte 0 in bits 127:120.
    output logic [127:0] error_header_o,
    // A packet is in progress.
    output logic         busy_o
);

  localparam logic [2:0] REGISTERS = 3'd2;
  localparam logic [2:0] PEERS = 3'd0;

  `REQUIRE(gen_accept, ACCEPT_CYCLES >= 1 && ACCEPT_CYCLES <= 65535, "dma_engine: ACCEPT_CYCLES is the time that a write of a peer waits for space; it must be 1 to 65535")

  typedef enum logic [2:0] {
    DROP,
    COMPLETION,
    WRITE,
    PEER,
    REQUEST
  } destination_t;

  // One beat waits, so that the header is whole before its payload moves.
  logic [63:0]  data_q;
  logic         first_q;
  logic         last_q;
  logic [3:0]   bytes_q;
  logic         valid_q;
  logic         second_q;
  logic [2:0]   bar_q;
  logic [15:0]  first_label_q;
  logic         moves;

  // The packet whose beats are in `data_q` and in the shifter.
  destination_t to_q;
  destination_t to;
  logic         good_q;
  logic [127:0] header_q;
  logic [127:0] header;
  logic         wide_q;
  logic         wide;
  logic [1:0]   offset_q;
  logic [1:0]   offset;
  // Lanes from the front of the beat to the end of the payload; 0 after its end.
  logic [12:0]  reach_q;
  logic [12:0]  size_q;
  logic [12:0]  size;
  logic [15:0]  label_q;
  logic         fresh_q;
  logic [17:2]  word_q;
  logic [17:3]  row_q;
  logic         single_q;
  logic [3:0]   first_be_q;
  logic [3:0]   last_be_q;

  // Fields of a header.
  logic [7:0]   kind;
  logic [10:0]  dwords;
  logic [3:0]   first_be;
  logic [3:0]   last_be;
  logic [3:0]   end_be;
  logic [2:0]   over;
  logic         is_memory;
  logic         is_locked;
  logic         has_data;
  logic         poisoned;
  logic         fits;
  logic [17:0]  at;
  logic [18:0]  reach;

  // A header is whole with its second beat, while the first one is in `data_q`; at other times nothing looks at its fields.
  always_comb begin
    if (valid_q && first_q) begin
      header    = peerlane_pkg::wire_order({data_i, data_q});
      kind      = header[peerlane_pkg::TLP_KIND+:8];
      wide      = (kind & peerlane_pkg::TLP_WIDE) != '0;
      has_data  = (kind & peerlane_pkg::TLP_DATA) != '0;
      dwords    = {header[peerlane_pkg::REQUEST_DWORDS+:10] == '0, header[peerlane_pkg::REQUEST_DWORDS+:10]};
      first_be  = header[peerlane_pkg::REQUEST_FIRST_BE+:4];
      last_be   = header[peerlane_pkg::REQUEST_LAST_BE+:4];
      end_be    = dwords == 11'd1 ? first_be : last_be;
      poisoned  = header[peerlane_pkg::TLP_POISONED];
      is_memory = (kind | peerlane_pkg::TLP_WIDE | peerlane_pkg::TLP_DATA) == peerlane_pkg::TLP_MEMORY_WRITE_WIDE;
      // Bytes of the first dword before the first enabled one, and of the last dword after the last enabled one.
      offset    = first_be[0] ? 2'd0 : first_be[1] ? 2'd1 : first_be[2] ? 2'd2 : first_be[3] ? 2'd3 : 2'd0;
      over      = end_be[3] ? 3'd0 : end_be[2] ? 3'd1 : end_be[1] ? 3'd2 : end_be[0] ? 3'd3 : 3'd4;
      size      = {dwords, 2'b0} - {11'b0, offset} - {10'b0, over};
      // BAR 2 is aligned to its size, so the low bits of an address are the offset; the request must end within it.
      at        = wide ? {header[peerlane_pkg::WIDE_ADDRESS+:16], 2'b0} : {header[peerlane_pkg::SHORT_ADDRESS+:16], 2'b0};
      reach     = {1'b0, at} + {6'b0, dwords, 2'b0};
      fits      = bar_q == REGISTERS && reach <= 19'(peerlane_pkg::DMA_SIZE);
      to        = DROP;
      if ((kind | peerlane_pkg::TLP_DATA) == peerlane_pkg::TLP_COMPLETION_DATA) to = COMPLETION;
      else if (is_memory && has_data) begin
        if (!poisoned && size != '0 && fits) to = WRITE;
        else if (!poisoned && size != '0 && bar_q == PEERS && PEER_WRITES != 0) to = PEER;
      end else if ((kind & peerlane_pkg::TLP_MESSAGE_MASK) != peerlane_pkg::TLP_MESSAGE) to = REQUEST;
    end else begin
      header    = '0;
      kind      = '0;
      wide      = '0;
      has_data  = '0;
      dwords    = '0;
      first_be  = '0;
      last_be   = '0;
      end_be    = '0;
      poisoned  = '0;
      is_memory = '0;
      offset    = '0;
      over      = '0;
      size      = '0;
      at        = '0;
      reach     = '0;
      fits      = '0;
      to        = DROP;
    end
  end

  // The first beat of a completion leaves before its header is complete, because the type field is enough to choose the output. A header is
  // never in one beat.
  logic [7:0]   early_kind;
  logic         starts_completion;
  logic         starts_request;
  logic         is_payload;
  logic         feed;
  logic         feed_last;
  logic [2:0]   skip;
  logic [2:0]   lead;
  logic         accepts;
  logic [63:0]  out_data;
  logic [3:0]   out_bytes;
  logic         out_first;
  logic         out_last;
  logic         out_valid;
  logic         out_ready;

  assign early_kind        = data_q[7:0];
  assign starts_completion = !last_q && (early_kind | peerlane_pkg::TLP_DATA) == peerlane_pkg::TLP_COMPLETION_DATA;
  assign is_locked         = (early_kind | peerlane_pkg::TLP_DATA) == peerlane_pkg::TLP_COMPLETION_LOCKED_DATA;
  assign starts_request    = (early_kind | peerlane_pkg::TLP_WIDE) != peerlane_pkg::TLP_MEMORY_WRITE_WIDE
      && (early_kind | peerlane_pkg::TLP_DATA) != peerlane_pkg::TLP_COMPLETION_DATA
      && !is_locked
      && (early_kind & peerlane_pkg::TLP_MESSAGE_MASK) != peerlane_pkg::TLP_MESSAGE;

  // Number of dwords of the packet from this beat on, as its header says; the beats must agree with it.
  logic [10:0]  left_q;
  logic         agrees;
  logic         is_cut;
  logic         cut_q;

  assign agrees = left_q <= 11'd2 && bytes_q == {1'b0, left_q[0], 2'b0} + {left_q[1], 3'b0};
  assign is_cut = !last_q || !agrees;

  // The payload begins in the second beat of a short header, and in the third of a wide one.
  assign is_payload = !first_q && (!second_q || !wide_q);
  assign feed       = valid_q && is_payload && (to_q == WRITE || to_q == PEER) && reach_q != '0 && !(second_q && bytes_q <= 4'd4);
  assign skip       = {!wide_q, 2'b0} + (to_q == PEER ? {1'b0, offset_q} : 3'd0);
  assign lead       = to_q == WRITE ? {word_q[2], 2'b0} : 3'd0;
  assign feed_last  = reach_q <= 13'd8 || last_q;

  byte_shifter #(
      .W(64)
  ) shifter (
      .clk_i,
      .rst_i,
      .skip_i (skip),
      .lead_i (lead),
      .data_i (data_q),
      .bytes_i(!feed_last ? 4'd8 : reach_q < {9'b0, bytes_q} ? reach_q[3:0] : bytes_q),
      .first_i(fresh_q),
      .last_i (feed_last),
      .valid_i(feed),
      .ready_o(accepts),
      .data_o (out_data),
      .bytes_o(out_bytes),
      .first_o(out_first),
      .last_o (out_last),
      .valid_o(out_valid),
      .ready_i(out_ready)
  );

  // A write that has waited for ACCEPT_CYCLES is dropped. Later writes of its kind that would wait are dropped, too, until one is taken again.
  logic         is_peer;
  logic         taken;
  logic         drops;
  logic         full;
  logic [1:0]   full_q;
  logic         lost_q;
  logic [15:0]  waited_q;

  assign is_peer   = out_valid && to_q == PEER;
  assign taken     = to_q == WRITE ? write_ready_i : peer_ready_i;
  assign full      = to_q == WRITE ? full_q[1] : full_q[0];
  assign drops     = lost_q || (full && !taken);
  assign out_ready = taken || drops;
  assign dropped_o = out_valid && drops && !lost_q;

  always_ff @(posedge clk_i) begin
    waited_q <= out_valid && !out_ready ? waited_q + 1'b1 : '0;
    if (out_valid) begin
      if (!out_ready && waited_q == 16'(ACCEPT_CYCLES - 1)) full_q[to_q == WRITE] <= 1'b1;
      if (out_ready && !drops) full_q[to_q == WRITE] <= 1'b0;
      if (out_ready) lost_q <= drops && !out_last;
    end
    if (rst_i) begin
      waited_q <= '0;
      full_q   <= '0;
      lost_q   <= 1'b0;
    end
  end

  // A beat moves on when its destination takes it; the first one when the packet before has left the shifter.
  always_comb begin
    if (!valid_q) moves = 1'b1;
    else if (first_q) moves = (valid_i || last_q) && (!out_valid || out_ready) && (!starts_completion || completion_ready_i);
    else if (feed) moves = accepts;
    else if (to_q == COMPLETION) moves = completion_ready_i;
    else moves = 1'b1;
  end
  assign ready_o = moves;

  assign completion_data_o  = data_q;
  assign completion_bytes_o = bytes_q;
  assign completion_first_o = first_q;
  assign completion_tag_o   = header[peerlane_pkg::COMPLETION_TAG+:8];
  assign completion_last_o  = last_q;
  assign completion_valid_o = valid_q && (first_q ? starts_completion && valid_i && (!out_valid || out_ready) : to_q == COMPLETION);

  // A request is taken when its header is complete. No request begins while another one is here, or is answered.
  assign request_header_o = header_q;
  assign request_good_o   = good_q;
  assign request_valid_o  = valid_q && to_q == REQUEST && second_q && !first_q && !(last_q && !agrees);
  assign np_ok_o          = request_ready_i && !(valid_q && (first_q ? starts_request : second_q && to_q == REQUEST));

  // Words of registers, with the byte enables of the first and of the last dword. No glitch of the lanes wakes a simulator's list.
  logic [3:0] low;
  logic [3:0] high;
  assign low           = !out_first ? (out_last && !single_q && out_bytes <= 4'd4 ? last_be_q : 4'hf) : word_q[2] ? 4'h0 : first_be_q;
  assign high          = out_last && out_bytes <= 4'd4 ? 4'h0 : out_first && word_q[2] ? first_be_q : out_last && !single_q ? last_be_q : 4'hf;
  assign write_lanes_o = write_valid_o ? {high, low} : 8'h00;
  assign write_word_o  = out_first ? word_q[17:3] : row_q;
  assign write_data_o  = out_data;
  assign write_valid_o = out_valid && to_q == WRITE && !lost_q;
  assign write_last_o  = out_last;
  assign write_cut_o   = out_valid && (cut_q || (feed && feed_last && is_cut));

  assign peer_data_o  = out_data;
  assign peer_bytes_o = out_bytes;
  assign peer_first_o = out_first;
  assign peer_last_o  = out_last;
  assign peer_valid_o = is_peer && !lost_q;
  assign peer_size_o  = size_q;
  assign peer_label_o = label_q;

  always_comb begin
    poisoned_o    = 1'b0;
    unsupported_o = 1'b0;
    if (valid_q && first_q && !last_q && moves) begin
      poisoned_o = has_data && poisoned;
      if (to == REQUEST && !is_locked) begin
        if (!is_memory || !fits) unsupported_o = 1'b1;
      end else if (to == DROP && is_memory && has_data && !poisoned && size != '0) begin
        unsupported_o = 1'b1;
      end
    end
  end

  // Beats of a packet that had begun before the reset are dropped without an error.
  logic known_q;
  assign malformed_o  = valid_q && moves && last_q && (first_q || (known_q && !agrees));
  assign unexpected_o = valid_q && first_q && !last_q && moves && is_locked;
  assign busy_o       = valid_q || out_valid;

  // One error of a packet is reported: a wrong length before others (PCIe Base 6.2.3.2.3). An error that the first beat shows is reported when
  // the header is in its register; then the packet before has left.
  logic         early_q;
  logic [2:0]   early_kind_q;
  logic         error_q;
  logic [2:0]   error_kind_q;
  logic [127:0] error_header_q;
  logic         late;
  assign late           = malformed_o && !first_q;
  assign error_o        = error_q;
  assign error_kind_o   = error_kind_q;
  assign error_header_o = error_header_q;

  always_ff @(posedge clk_i) begin
    early_q <= poisoned_o || unsupported_o || unexpected_o || (malformed_o && first_q);
    if (malformed_o) early_kind_q <= peerlane_pkg::ERROR_MALFORMED_TLP;
    else if (unexpected_o) early_kind_q <= peerlane_pkg::ERROR_UNEXPECTED_COMPLETION;
    else if (unsupported_o) early_kind_q <= peerlane_pkg::ERROR_UNSUPPORTED_REQUEST;
    else if (poisoned_o) early_kind_q <= peerlane_pkg::ERROR_POISONED_TLP;
    error_q <= dropped_o || late || early_q;
    if (dropped_o || late || early_q) begin
      error_kind_q   <= dropped_o ? peerlane_pkg::ERROR_COMPLETER_ABORT : late ? peerlane_pkg::ERROR_MALFORMED_TLP : early_kind_q;
      error_header_q <= header_q;
    end
    if (rst_i) begin
      early_q <= 1'b0;
      error_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (moves) begin
      data_q   <= data_i;
      first_q  <= first_i;
      last_q   <= last_i;
      bytes_q  <= bytes_i;
      valid_q  <= valid_i;
      second_q <= valid_q && first_q;
      if (first_i) bar_q <= bar_i;
      if (first_i) first_label_q <= label_i;
    end
    if (moves && valid_q && first_q) begin
      to_q       <= last_q || is_locked ? DROP : to;
      good_q     <= is_memory && !has_data && fits;
      header_q   <= header;
      wide_q     <= wide;
      offset_q   <= offset;
      reach_q    <= {dwords, 2'b0} - (to == PEER ? {10'b0, over} : 13'd0) + (wide ? 13'd0 : 13'd4);
      size_q     <= size;
      label_q    <= first_label_q;
      cut_q      <= 1'b0;
      fresh_q    <= 1'b1;
      known_q    <= 1'b1;
      word_q     <= at[17:2];
      single_q   <= dwords == 11'd1;
      first_be_q <= first_be;
      last_be_q  <= last_be;
    end else if (feed && accepts) begin
      reach_q <= feed_last ? '0 : reach_q - 13'd8;
      fresh_q <= 1'b0;
      cut_q   <= feed_last && is_cut;
    end
    if (moves && valid_q) begin
      if (first_q) left_q <= (has_data ? dwords : 11'd0) + (wide ? 11'd2 : 11'd1);
      else left_q <= left_q <= 11'd2 ? '0 : left_q - 11'd2;
    end
    if (write_valid_o && write_ready_i) row_q <= write_word_o + 1'b1;
    if (rst_i) begin
      valid_q <= 1'b0;
      to_q    <= DROP;
      reach_q <= '0;
      known_q <= 1'b0;
    end
  end

  `STREAM(completions, 64 + 4, {completion_data_o, completion_bytes_o}, completion_first_o, completion_last_o, completion_valid_o, completion_ready_i)

`ifdef FORMAL
  `include "dma_receive.svh"
`endif

endmodule
