// The registers in BAR 2 besides the lists: a block for each unit, and those of the user circuit.

module dma_registers (
    // Clock.
    input  logic         clk_i,
    // Synchronous reset: all registers are 0.
    input  logic         rst_i,
    // Offset of a word to write.
    input  logic [17:3]  write_word_i,
    // The word.
    input  logic [63:0]  write_data_i,
    // Bytes of the word to write.
    input  logic [7:0]   write_lanes_i,
    // There is a word to write.
    input  logic         write_valid_i,
    // It is the last word of its packet.
    input  logic         write_last_i,
    // The packet that ends with this word is malformed: it starts no transfer.
    input  logic         write_cut_i,
    // Offset of a word to read, in the first 64 KiB.
    input  logic [15:3]  read_word_i,
    // The counter of the number in bits 6:3 of that offset. Combinational.
    input  logic [63:0]  count_i,
    // The word is read at the next edge.
    input  logic         read_i,
    // The read begins with the upper half of the word.
    input  logic         upper_i,
    // The word that was read last.
    output logic [63:0]  read_data_o,
    // The unit is working. Bit 0 is of the write unit, bit 1 of the read unit, bit 2 of the peer unit; so in all ports.
    input  logic [2:0]   busy_i,
    // The transfer of the unit ends. A pulse.
    input  logic [2:0]   done_i,
    // Its error, of peerlane_pkg::RESULT, three bits for each unit.
    input  logic [8:0]   result_i,
    // Its duration.
    input  logic [95:0]  timer_i,
    // A transfer of the unit begins. A pulse.
    output logic [2:0]   start_o,
    // Address of the list, or of the target.
    output logic [191:0] address_o,
    // Number of descriptors, or of bytes.
    output logic [191:0] length_o,
    // Largest payload of a packet.
    output logic [95:0]  payload_o,
    // The value of START.
    output logic [95:0]  label_o,
    // Traffic class.
    output logic [8:0]   traffic_class_o,
    // First word of the source's data.
    output logic [191:0] pattern_o,
    // The matrix is crossed.
    output logic         crossed_o,
    // Address to which a reflector sends.
    output logic [63:0]  reply_o,
    // The peer timer is to measure the next peer transfer. A pulse.
    output logic         time_peer_o,
    // The peer timer has ended. A pulse.
    input  logic         timed_i,
    // The cycles that it has measured.
    input  logic [31:0]  cycles_i
);

  localparam int UNITS = 3;
  // Bit 0 of TIME_PEER in its word.
  localparam int TIME_PEER = 8 * (int'(peerlane_pkg::DMA_TIME_PEER) - int'(peerlane_pkg::DMA_ROUND_TRIP));

  logic [64*UNITS-1:0] words;
  logic [63:0]         crossed_q;
  logic [63:0]         reply_q;
  logic [63:0]         trip_q;
  logic                trip_written_q;
  logic [63:0]         read_q;
  // The upper half of the counter whose lower half was read last, so that two reads of 32 bits return one value.
  logic [31:0]         upper_q;
  logic [6:3]          upper_of_q;

  for (genvar u = 0; u < UNITS; u = u + 1) begin : gen_unit
    dma_unit_registers #(
        .BLOCK(u)
    ) registers (
        .clk_i,
        .rst_i,
        .write_word_i,
        .write_data_i,
        .write_lanes_i,
        .write_valid_i,
        .write_last_i,
        .write_cut_i,
        .word_i         (read_word_i[5:3]),
        .read_i,
        .word_o         (words[64*u+:64]),
        .busy_i         (busy_i[u]),
        .done_i         (done_i[u]),
        .result_i       (result_i[3*u+:3]),
        .timer_i        (timer_i[32*u+:32]),
        .start_o        (start_o[u]),
        .address_o      (address_o[64*u+:64]),
        .length_o       (length_o[64*u+:64]),
        .payload_o      (payload_o[32*u+:32]),
        .label_o        (label_o[32*u+:32]),
        .traffic_class_o(traffic_class_o[3*u+:3]),
        .pattern_o      (pattern_o[64*u+:64])
    );
  end

  assign crossed_o   = crossed_q[0];
  assign reply_o     = reply_q;
  assign time_peer_o = trip_written_q && trip_q[TIME_PEER];
  assign read_data_o = read_q;

  always_ff @(posedge clk_i) begin
    if (write_valid_i) for (int b = 0; b < 8; b = b + 1) begin
      if (write_lanes_i[b] && write_word_i == peerlane_pkg::DMA_CROSSED[17:3]) crossed_q[8*b+:8] <= write_data_i[8*b+:8];
      if (write_lanes_i[b] && write_word_i == peerlane_pkg::DMA_REPLY[17:3]) reply_q[8*b+:8] <= write_data_i[8*b+:8];
      if (write_lanes_i[b] && write_word_i == peerlane_pkg::DMA_ROUND_TRIP[17:3]) trip_q[8*b+:8] <= write_data_i[8*b+:8];
    end
    trip_written_q <= 1'b0;
    if (write_valid_i) trip_written_q <= write_word_i == peerlane_pkg::DMA_ROUND_TRIP[17:3] && write_lanes_i[TIME_PEER/8];
    if (timed_i) trip_q <= {32'b0, cycles_i};
    if (read_i) begin
      read_q <= '0;
      for (int u = 0; u < UNITS; u = u + 1) if (read_word_i[15:6] == 10'(u)) read_q <= words[64*u+:64];
      if (read_word_i == peerlane_pkg::DMA_CROSSED[15:3]) read_q <= crossed_q;
      if (read_word_i == peerlane_pkg::DMA_REPLY[15:3]) read_q <= reply_q;
      if (read_word_i == peerlane_pkg::DMA_ROUND_TRIP[15:3]) read_q <= trip_q;
      if (read_word_i[15:7] == peerlane_pkg::DMA_COUNTERS[15:7]) begin
        read_q <= upper_i && upper_of_q == read_word_i[6:3] ? {upper_q, count_i[31:0]} : count_i;
        if (!upper_i) upper_q <= count_i[63:32];
        if (!upper_i) upper_of_q <= read_word_i[6:3];
      end
    end
    if (rst_i) begin
      crossed_q      <= '0;
      reply_q        <= '0;
      trip_q         <= '0;
      trip_written_q <= 1'b0;
      upper_q        <= '0;
      upper_of_q     <= '1;
    end
  end

endmodule
