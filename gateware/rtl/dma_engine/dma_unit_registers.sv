// The registers of a unit, as the map of the package has them, and the begin of a transfer.

module dma_unit_registers #(
    // Number of the unit's block of eight words.
    parameter int BLOCK = 0
) (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: all registers are 0.
    input  logic        rst_i,
    // Offset of a word to write.
    input  logic [17:3] write_word_i,
    // The word.
    input  logic [63:0] write_data_i,
    // Bytes of the word to write.
    input  logic [7:0]  write_lanes_i,
    // There is a word to write.
    input  logic        write_valid_i,
    // It is the last word of its packet.
    input  logic        write_last_i,
    // The packet that ends with this word is malformed: it starts no transfer.
    input  logic        write_cut_i,
    // The word to read in the unit's block.
    input  logic [2:0]  word_i,
    // The register is read.
    input  logic        read_i,
    // The data of the register, 0 if it is not read. Combinational.
    output logic [63:0] word_o,
    // The unit is working: a write to START changes nothing else.
    input  logic        busy_i,
    // The transfer ends. A pulse.
    input  logic        done_i,
    // The error, of peerlane_pkg::RESULT; RESULT_SUCCESSFUL for none.
    input  logic [2:0]  result_i,
    // Duration of the transfer that ends.
    input  logic [31:0] timer_i,
    // A transfer begins: a packet that wrote START has ended. A pulse.
    output logic        start_o,
    // Address of the list, or of the target.
    output logic [63:0] address_o,
    // Number of descriptors, or of bytes.
    output logic [63:0] length_o,
    // Largest payload of a packet as the register has it.
    output logic [31:0] payload_o,
    // The value of START.
    output logic [31:0] label_o,
    // Traffic class.
    output logic [2:0]  traffic_class_o,
    // First word of the source's data.
    output logic [63:0] pattern_o
);

  localparam int ADDRESS = int'(peerlane_pkg::DMA_ADDRESS) / 8;
  localparam int LENGTH = int'(peerlane_pkg::DMA_LENGTH) / 8;
  localparam int PAYLOAD = int'(peerlane_pkg::DMA_PAYLOAD) / 8;
  localparam int STATUS = int'(peerlane_pkg::DMA_STATUS) / 8;
  localparam int CLASS = int'(peerlane_pkg::DMA_CLASS) / 8;
  localparam int PATTERN = int'(peerlane_pkg::DMA_PATTERN) / 8;
  localparam int WORDS = PATTERN + 1;
  // The byte of its word at which START begins.
  localparam int START_LANE = int'(peerlane_pkg::DMA_START) % 8;

  logic [64*WORDS-1:0] words_q;
  logic                pending_q;
  logic                hit;
  logic                wrote_q;
  logic                wrote;

  assign address_o       = words_q[64*ADDRESS+:64];
  assign length_o        = words_q[64*LENGTH+:64];
  assign payload_o       = words_q[64*PAYLOAD+:32];
  assign label_o         = words_q[64*PAYLOAD+32+:32];
  assign traffic_class_o = words_q[64*CLASS+:3];
  assign pattern_o       = words_q[64*PATTERN+:64];
  assign start_o         = pending_q && !busy_i;

  always_comb begin
    word_o = '0;
    if (read_i) for (int k = 0; k < WORDS; k = k + 1) if (word_i == 3'(k)) word_o = words_q[64*k+:64];
  end

  assign hit = write_valid_i && write_word_i[17:6] == 12'(BLOCK);

  always_comb begin
    wrote = wrote_q;
    if (write_valid_i) begin
      if (hit && write_word_i[5:3] == 3'(PAYLOAD) && write_lanes_i[START_LANE]) wrote = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (hit) for (int k = 0; k < WORDS; k = k + 1) begin
      for (int b = 0; b < 8; b = b + 1) begin
        if (write_word_i[5:3] == 3'(k) && write_lanes_i[b]) words_q[64*k+8*b+:8] <= write_data_i[8*b+:8];
      end
    end
    if (write_valid_i || pending_q || done_i) begin
      if (start_o) words_q[64*STATUS+:32] <= 32'(peerlane_pkg::DMA_STATUS_RUNNING);
      if (done_i) begin
        words_q[64*STATUS+:32]    <= result_i != peerlane_pkg::RESULT_SUCCESSFUL ? 32'(peerlane_pkg::DMA_STATUS_FAILED) : 32'(peerlane_pkg::DMA_STATUS_DONE);
        words_q[64*STATUS+32+:32] <= timer_i;
        words_q[64*CLASS+32+:32]  <= 32'(result_i);
      end
      pending_q <= 1'b0;
      if (write_valid_i) begin
        wrote_q   <= wrote && !write_last_i;
        pending_q <= wrote && write_last_i && !write_cut_i;
      end
    end
    if (rst_i) begin
      words_q   <= '0;
      wrote_q   <= 1'b0;
      pending_q <= 1'b0;
    end
  end

endmodule
