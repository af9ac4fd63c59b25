// A list of descriptors in the engine's memory: the CPU writes and reads it, and gives its ranges one after the other.

`include "require.svh"

module dma_list #(
    // Number of descriptors, a power of two, 2 to 4096.
    parameter int DESCRIPTORS = 2048
) (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: no list is in progress; the memory stays as it is.
    input  logic        rst_i,
    // Offset of a word to write from the begin of the list.
    input  logic [15:3] write_word_i,
    // The word.
    input  logic [63:0] write_data_i,
    // Bytes of the word to write.
    input  logic [7:0]  write_lanes_i,
    // There is a word to write.
    input  logic        write_valid_i,
    // Offset of a word to read.
    input  logic [15:3] read_word_i,
    // The word is read at the next edge.
    input  logic        read_i,
    // The word that was read last.
    output logic [63:0] read_data_o,
    // A transfer begins.
    input  logic        start_i,
    // Number of its descriptors.
    input  logic [63:0] count_i,
    // No further range is wanted. Stays until a transfer begins.
    input  logic        stop_i,
    // First address of the next range.
    output logic [63:0] address_o,
    // Number of bytes of the range.
    output logic [31:0] length_o,
    // There is a range.
    output logic        valid_o,
    // The range is taken.
    input  logic        ready_i,
    // The list has no further range.
    output logic        end_o,
    // The list is longer than the memory: it ends with an error after the descriptors of the memory.
    output logic        failed_o
);

  localparam int BITS = $clog2(DESCRIPTORS);

  `REQUIRE(gen_descriptors, DESCRIPTORS >= 2 && DESCRIPTORS <= peerlane_pkg::DMA_MOST_DESCRIPTORS && DESCRIPTORS == 1 << BITS, "dma_list: DESCRIPTORS is the number of descriptors; it must be a power of two, 2 to 4096")

  logic [63:0]   addresses_q[DESCRIPTORS];
  logic [63:0]   lengths_q[DESCRIPTORS];
  logic [63:0]   read_address_q;
  logic [63:0]   read_length_q;
  logic          read_odd_q;
  logic          read_valid_q;
  logic [63:0]   address_q;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [63:0]   length_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [BITS:0] index_q;
  logic [BITS:0] left_q;
  logic          there_q;
  logic          failed_q;
  logic          hits;
  logic [BITS-1:0] write_row;
  logic          asks;

  assign write_row = write_word_i[4+:BITS];
  assign hits    = write_valid_i && {1'b0, write_word_i[15:4]} < 13'(DESCRIPTORS);
  assign asks      = left_q != '0 && (!there_q || ready_i);

  always_ff @(posedge clk_i) begin
    // A loop that is not unrolled costs a simulation nothing while there is no write.
    /* verilator unroll_disable */
    if (hits) for (int b = 0; b < 8; b = b + 1) begin
      if (write_lanes_i[b] && !write_word_i[3]) addresses_q[write_row][8*b+:8] <= write_data_i[8*b+:8];
      if (write_lanes_i[b] && write_word_i[3]) lengths_q[write_row][8*b+:8] <= write_data_i[8*b+:8];
    end
    if (asks) address_q <= addresses_q[index_q[BITS-1:0]];
    if (asks) length_q <= lengths_q[index_q[BITS-1:0]];
    if (read_i) begin
      read_address_q <= addresses_q[read_word_i[4+:BITS]];
      read_length_q  <= lengths_q[read_word_i[4+:BITS]];
      read_odd_q     <= read_word_i[3];
      read_valid_q   <= {1'b0, read_word_i[15:4]} < 13'(DESCRIPTORS);
    end
  end

  assign read_data_o = !read_valid_q ? '0 : read_odd_q ? read_length_q : read_address_q;
  assign address_o   = address_q;
  assign length_o    = length_q[31:0];
  assign valid_o     = there_q;
  assign end_o       = left_q == '0 && !there_q;
  assign failed_o    = failed_q;

  always_ff @(posedge clk_i) begin
    if (asks) begin
      there_q <= 1'b1;
      index_q <= index_q + 1'b1;
      left_q  <= left_q - 1'b1;
    end else if (ready_i) begin
      there_q <= 1'b0;
    end
    if (stop_i) begin
      left_q  <= '0;
      there_q <= 1'b0;
    end
    if (start_i) begin
      failed_q <= count_i > 64'(DESCRIPTORS);
      left_q   <= count_i > 64'(DESCRIPTORS) ? (BITS + 1)'(DESCRIPTORS) : count_i[BITS:0];
      index_q  <= '0;
      there_q  <= 1'b0;
    end
    if (rst_i) begin
      there_q  <= 1'b0;
      left_q   <= '0;
      failed_q <= 1'b0;
    end
  end

  `STAYS(offer, 64 + 32, {address_o, length_o}, valid_o, ready_i, stop_i || start_i)

endmodule
