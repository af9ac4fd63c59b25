// Makes memory writes of commands and their data: queue of commands, splitter, alignment of bytes, header, credits, stop at an error.

`include "require.svh"

module dma_write_path #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 256,
    // Bits of a length; 23 for up to 4 MiB.
    parameter int LENGTH_BITS = 23,
    // Commands that wait, a power of two.
    parameter int COMMANDS = 16,
    // Bits of the header counters; 8 without scaled flow control.
    parameter int HEADER_BITS = 8,
    // Bits of the data counters; 12 without scaled flow control.
    parameter int DATA_BITS = 12
) (
    // Clock.
    input  logic                   clk_i,
    // Synchronous reset, while the link is down.
    input  logic                   rst_i,
    // Bus Master Enable: no packet begins without it.
    input  logic                   enable_i,
    // Max_Payload_Size, encoded as in Device Control; it changes only while nothing is in progress.
    input  logic [2:0]             max_payload_i,
    // Requester ID.
    input  logic [15:0]            requester_i,
    // Traffic class.
    input  logic [2:0]             traffic_class_i,
    // Relaxed ordering in bit 1, no snoop in bit 0.
    input  logic [1:0]             ordering_i,
    // CREDIT_LIMIT of posted headers.
    input  logic [HEADER_BITS-1:0] header_limit_i,
    // CREDIT_LIMIT of posted data.
    input  logic [DATA_BITS-1:0]   data_limit_i,
    // Posted headers have infinite credits.
    input  logic                   header_infinite_i,
    // Posted data has infinite credits.
    input  logic                   data_infinite_i,
    // First address of a command; any byte.
    input  logic [63:0]            command_address_i,
    // Number of bytes of a command.
    input  logic [LENGTH_BITS-1:0] command_length_i,
    // There is a command.
    input  logic                   command_valid_i,
    // The command is taken.
    output logic                   command_ready_o,
    // Data of the commands, in their order: each from lane 0 of a new beat, all lanes full but in its last beat.
    input  logic [W-1:0]           data_i,
    // There is data.
    input  logic                   valid_i,
    // The data is taken.
    output logic                   ready_o,
    // Data of a packet.
    output logic [W-1:0]           data_o,
    // Bytes in the beat.
    output logic [$clog2(W/8):0]   bytes_o,
    // First beat of a packet.
    output logic                   first_o,
    // Last beat of a packet.
    output logic                   last_o,
    // There is a beat.
    output logic                   valid_o,
    // The beat is taken.
    input  logic                   ready_i,
    // The last packet of a command has gone to the output register.
    output logic                   done_o,
    // Why the path stopped, of peerlane_pkg::DMA_ERROR. While it is stopped, commands and data are taken and dropped.
    output logic [2:0]             error_o,
    // A command is in progress or waits.
    output logic                   busy_o,
    // Stop: a packet in progress is filled up with zeros, so that it stays whole.
    input  logic                   stop_i,
    // Go on after a stop; without effect while the path is busy.
    input  logic                   clear_i
);

  localparam int N = W / 8;
  localparam int BITS = $clog2(N);
  localparam int PER_CREDIT = peerlane_pkg::CREDIT / 4;

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "dma_write_path: W is the number of bits of a beat; it must be 64, 128 or 256")
  `REQUIRE(gen_data, DATA_BITS >= 10, "dma_write_path: DATA_BITS is the size of the data counters; a packet takes up to 256 credits, so it must be at least 10")

  logic [2:0] error_q;
  logic       stopped;
  assign error_o = error_q;
  assign stopped = error_q != peerlane_pkg::DMA_ERROR_NONE;

  // Commands.
  logic [63:0]            address;
  logic [LENGTH_BITS-1:0] length;
  logic                   command;
  logic                   command_taken;
  logic                   splitter_ready;
  logic                   is_empty;
  logic                   overflows;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [$clog2(COMMANDS):0] level;
  logic [LENGTH_BITS:0]      end_low;
  /* verilator lint_on UNUSEDSIGNAL */

  fifo #(
      .WIDTH(64 + LENGTH_BITS),
      .DEPTH(COMMANDS)
  ) queue (
      .clk_i,
      .rst_i,
      .data_i ({command_address_i, command_length_i}),
      .valid_i(command_valid_i),
      .ready_o(command_ready_o),
      .data_o ({address, length}),
      .valid_o(command),
      .ready_i(command_taken),
      .level_o(level)
  );

  // The end of the range, in the bits that the length can carry over; a range may end exactly at the last address.
  assign end_low       = {1'b0, address[LENGTH_BITS-1:0]} + {1'b0, length - 1'b1};
  assign is_empty      = length == '0;
  assign overflows     = end_low[LENGTH_BITS] && address[63:LENGTH_BITS] == '1;
  assign command_taken = stopped || (splitter_ready && !is_empty && !overflows);

  // Requests; a register holds the one whose packet is made, so that it does not wait for the splitter's sums.
  logic [63:0]  next_address;
  logic [12:0]  next_bytes;
  logic         next_last;
  logic         next;
  logic         next_taken;
  logic         cutting;
  logic         alone;
  logic [1:0]   request_offset_q;
  logic [BITS-1:0] place_q;
  logic [BITS-1:0] request_skip_q;
  logic [12:0]  request_reach_q;
  logic         request_last_q;
  logic         request_q;
  logic         request_taken;
  logic [127:0] header;
  logic         wide;
  logic [10:0]  dwords;

  request_splitter #(
      .LENGTH_BITS(LENGTH_BITS)
  ) splitter (
      .clk_i,
      .rst_i,
      .largest_i(13'(peerlane_pkg::LEAST_PAYLOAD) << (max_payload_i > 3'd5 ? 3'd5 : max_payload_i)),
      .address_i(address),
      .length_i (length),
      .valid_i  (command && !stopped && !is_empty && !overflows),
      .ready_o  (splitter_ready),
      .address_o(next_address),
      .bytes_o  (next_bytes),
      .last_o   (next_last),
      .valid_o  (next),
      .ready_i  (next_taken),
      .stop_i   (stopped),
      .busy_o   (cutting)
  );

  assign next_taken = !request_q || request_taken;
  // The packets of the commands before have left; a wrong command stops the path only then.
  assign alone      = !cutting && next_taken;

  always_ff @(posedge clk_i) begin
    if (next_taken) begin
      request_offset_q <= next_address[1:0];
      request_skip_q   <= place_q;
      request_reach_q  <= next_bytes + {{13 - BITS{1'b0}}, place_q};
      request_last_q   <= next_last;
      request_q        <= next && !stopped;
    end
    // Where the next request begins in its beat of data: a command begins with a new one.
    if (next && next_taken) place_q <= next_last ? '0 : place_q + next_bytes[BITS-1:0];
    if (stopped) place_q <= '0;
    if (rst_i) begin
      request_q <= 1'b0;
      place_q   <= '0;
    end
  end

  request_header maker (
      .clk_i,
      .load_i     (next_taken),
      .write_i    (1'b1),
      .address_i  (next_address),
      .bytes_i    (next_bytes),
      .requester_i,
      .tag_i      (10'b0),
      .traffic_class_i,
      .ordering_i,
      .header_o   (header),
      .wide_o     (wide),
      .dwords_o   (dwords)
  );

  // A packet begins with Bus Master Enable and credits, and then goes on to its end.
  logic                 begun_q;
  logic                 credits_ok;
  logic                 begins;
  logic                 goes;
  logic                 drop;
  logic [10:0]          credits;
  logic                 packet_first;
  logic                 packet_last;
  logic                 packet_valid;
  logic                 packet_ready;
  logic                 packet_move;

  assign credits     = (dwords + 11'(PER_CREDIT - 1)) / 11'(PER_CREDIT);
  assign goes        = request_q && (begun_q || (enable_i && credits_ok && !stopped));
  assign packet_move = packet_valid && packet_ready;
  assign begins      = packet_move && packet_first;
  // What a stopped path has not begun goes.
  assign drop        = stopped && !begun_q;
  assign busy_o      = begun_q || request_q || cutting || command;

  credit_counter #(
      .HEADER_BITS(HEADER_BITS),
      .DATA_BITS  (DATA_BITS)
  ) counter (
      .clk_i,
      .rst_i,
      .header_limit_i,
      .data_limit_i,
      .header_infinite_i,
      .data_infinite_i,
      .need_i(DATA_BITS'(credits)),
      .ok_o  (credits_ok),
      .take_i(begins)
  );

  // Payload: cut, moved to its lanes, behind the header.
  logic [W-1:0]    cut_data;
  logic [BITS:0]   cut_bytes;
  logic [BITS-1:0] cut_skip;
  logic            cut_first;
  logic            cut_last;
  logic            cut_valid;
  logic            cut_ready;
  logic            source_ready;
  // The request stays until its packet is out: until then the shifter, which holds the rest of the payload, takes nothing.
  /* verilator lint_off UNUSEDSIGNAL */
  logic            cut_done;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [BITS-1:0] lead;
  logic [W-1:0]    shifted_data;
  logic            shifted_last;
  logic            shifted_valid;
  logic            shifted_ready;
  logic [W-1:0]    packet_data;
  logic [BITS:0]   packet_bytes;
  logic            packet_done;

  payload_cutter #(
      .W(W)
  ) cutter (
      .clk_i,
      .rst_i          (rst_i || drop),
      .request_skip_i (request_skip_q),
      .request_reach_i(request_reach_q),
      .request_last_i (request_last_q || stopped),
      .request_valid_i(goes),
      .request_ready_o(cut_done),
      .data_i,
      .valid_i        (valid_i || stopped),
      .ready_o        (source_ready),
      .data_o         (cut_data),
      .bytes_o        (cut_bytes),
      .skip_o         (cut_skip),
      .first_o        (cut_first),
      .last_o         (cut_last),
      .valid_o        (cut_valid),
      .ready_i        (cut_ready)
  );

  assign ready_o = source_ready || stopped;
  assign lead    = (wide ? BITS'(peerlane_pkg::HEADER_WIDE % N) : BITS'(peerlane_pkg::HEADER_SHORT % N)) + {{BITS - 2{1'b0}}, request_offset_q};

  /* verilator lint_off UNUSEDSIGNAL */
  logic            shifted_first;
  logic [BITS:0]   shifted_bytes;
  /* verilator lint_on UNUSEDSIGNAL */

  byte_shifter #(
      .W(W)
  ) shifter (
      .clk_i,
      .rst_i  (rst_i || drop),
      .skip_i (cut_skip),
      .lead_i (lead),
      .data_i (cut_data),
      .bytes_i(cut_bytes),
      .first_i(cut_first),
      .last_i (cut_last),
      .valid_i(cut_valid),
      .ready_o(cut_ready),
      .data_o (shifted_data),
      .bytes_o(shifted_bytes),
      .first_o(shifted_first),
      .last_o (shifted_last),
      .valid_o(shifted_valid),
      .ready_i(shifted_ready)
  );

  tlp_assembler #(
      .W(W)
  ) assembler (
      .clk_i,
      .rst_i         (rst_i || drop),
      .header_i      (header),
      .wide_i        (wide),
      .dwords_i      (dwords),
      .header_valid_i(goes),
      .header_ready_o(packet_done),
      .data_i        (stopped ? '0 : shifted_data),
      .last_i        (shifted_last),
      .valid_i       (shifted_valid),
      .ready_o       (shifted_ready),
      .data_o        (packet_data),
      .bytes_o       (packet_bytes),
      .first_o       (packet_first),
      .last_o        (packet_last),
      .valid_o       (packet_valid),
      .ready_i       (packet_ready)
  );

  assign request_taken = packet_done || drop;
  assign done_o        = packet_done && request_last_q && !stopped;

  stream_register #(
      .W(W)
  ) out (
      .clk_i,
      .rst_i,
      .data_i (packet_data),
      .bytes_i(packet_bytes),
      .first_i(packet_first),
      .last_i (packet_last),
      .valid_i(packet_valid),
      .ready_o(packet_ready),
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o,
      .ready_i
  );

  always_ff @(posedge clk_i) begin
    if (packet_move) begun_q <= !packet_last;
    if (!stopped) begin
      if (stop_i) error_q <= peerlane_pkg::DMA_ERROR_STOPPED;
      else if (command && alone && is_empty) error_q <= peerlane_pkg::DMA_ERROR_LENGTH;
      else if (command && alone && overflows) error_q <= peerlane_pkg::DMA_ERROR_ADDRESS;
    end else if (clear_i && !busy_o) begin
      error_q <= peerlane_pkg::DMA_ERROR_NONE;
    end
    if (rst_i) begin
      begun_q <= 1'b0;
      error_q <= peerlane_pkg::DMA_ERROR_NONE;
    end
  end

endmodule
