// The registers of the user's logic behind an APB: writes and reads of a window of BAR 2, in order, in the clock of that logic.

module user_registers #(
    // Whether the clock of the user's logic is another one.
    parameter int CROSSING = 1
) (
    // Clock of the engine.
    input  logic        clk_i,
    // Synchronous reset: no access is in progress.
    input  logic        rst_i,
    // Clock of the user's logic.
    input  logic        user_clk_i,
    // Reset of the user's logic, synchronous to its clock.
    input  logic        user_rst_i,
    // Offset in the window of a word to write.
    input  logic [15:3] write_word_i,
    // The word.
    input  logic [63:0] write_data_i,
    // Bytes of the word to write.
    input  logic [7:0]  write_lanes_i,
    // There is a word to write.
    input  logic        write_valid_i,
    // The word is taken.
    output logic        write_ready_o,
    // Offset in the window of a word to read.
    input  logic [15:3] read_word_i,
    // Halves of the word to read.
    input  logic [1:0]  read_halves_i,
    // The word is to be read. A pulse; the next one comes when the data is there.
    input  logic        read_i,
    // The word that was read last.
    output logic [63:0] read_data_o,
    // The data is there.
    output logic        read_ready_o,
    // APB of the user's logic.
    output logic [15:0] paddr,
    output logic        psel,
    output logic        penable,
    output logic        pwrite,
    output logic [31:0] pwdata,
    output logic [3:0]  pstrb,
    input  logic [31:0] prdata,
    input  logic        pready,
    input  logic        pslverr,
    // An access moves, so the clocks are needed.
    output logic        moves_o
);

  // Bits of `access_t`.
  localparam int ACCESS = 86;

  // `lanes` of a read are the halves.
  typedef struct packed {
    logic        write;
    logic [7:0]  lanes;
    logic [15:3] word;
    logic [63:0] data;
  } access_t;

  access_t     given;
  logic        given_valid;
  logic        given_ready;
  access_t     access;
  logic        access_valid;
  logic        access_ready;
  logic [63:0] answer;
  logic        answer_valid;
  logic [63:0] arrived;
  logic        arrives;
  logic        asks_q;
  logic        there_q;
  logic [1:0]  halves_q;
  logic [15:3] word_q;
  logic [63:0] data_q;

  // A read that was asked for goes before later writes.
  assign given.write   = !asks_q;
  assign given.lanes   = asks_q ? {6'b0, halves_q} : write_lanes_i;
  assign given.word    = asks_q ? word_q : write_word_i;
  assign given.data    = write_data_i;
  assign given_valid   = asks_q || write_valid_i;
  assign write_ready_o = given_ready && !asks_q;
  assign read_data_o   = data_q;
  assign read_ready_o  = there_q;

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      asks_q   <= 1'b1;
      there_q  <= 1'b0;
      halves_q <= read_halves_i;
      word_q   <= read_word_i;
    end else if (given_ready) begin
      asks_q <= 1'b0;
    end
    if (arrives) begin
      there_q <= 1'b1;
      data_q  <= arrived;
    end
    if (rst_i) begin
      asks_q  <= 1'b0;
      there_q <= 1'b0;
    end
  end

  generate
    if (CROSSING != 0) begin : gen_crossing
      logic answer_ready;
      fifo_cdc #(
          .WIDTH(ACCESS),
          .DEPTH(16)
      ) accesses (
          .write_clk_i(clk_i),
          .write_rst_i(rst_i),
          .data_i     (given),
          .valid_i    (given_valid),
          .ready_o    (given_ready),
          .read_clk_i (user_clk_i),
          .read_rst_i (user_rst_i),
          .data_o     (access),
          .valid_o    (access_valid),
          .ready_i    (access_ready)
      );
      fifo_cdc #(
          .WIDTH(64),
          .DEPTH(4)
      ) answers (
          .write_clk_i(user_clk_i),
          .write_rst_i(user_rst_i),
          .data_i     (answer),
          .valid_i    (answer_valid),
          .ready_o    (answer_ready),
          .read_clk_i (clk_i),
          .read_rst_i (rst_i),
          .data_o     (arrived),
          .valid_o    (arrives),
          .ready_i    (1'b1)
      );
      assign moves_o = given_valid;
      // There is one read at a time, so its answer has space.
      logic unused;
      assign unused = &{1'b0, answer_ready};
    end else begin : gen_no_crossing
      logic [4:0] level;
      fifo #(
          .WIDTH(ACCESS),
          .DEPTH(16)
      ) accesses (
          .clk_i,
          .rst_i,
          .data_i (given),
          .valid_i(given_valid),
          .ready_o(given_ready),
          .data_o (access),
          .valid_o(access_valid),
          .ready_i(access_ready),
          .level_o(level)
      );
      assign arrived = answer;
      assign arrives = answer_valid;
      assign moves_o = given_valid || access_valid || level != '0;
    end
  endgenerate

  // The APB has 32 bits: an access has a transfer for each half of its word that it needs, the lower half first.
  logic        clk;
  logic        rst;
  logic        enable_q;
  logic        lower_done_q;
  logic [31:0] lower_q;
  logic        upper;
  logic        last;
  logic        ends;
  logic [1:0]  halves;
  logic [31:0] taken;

  assign clk          = CROSSING != 0 ? user_clk_i : clk_i;
  assign rst          = CROSSING != 0 ? user_rst_i : rst_i;
  assign halves       = access.write ? {access.lanes[7:4] != '0, access.lanes[3:0] != '0} : access.lanes[1:0];
  assign upper        = lower_done_q || !halves[0];
  assign last         = upper || !halves[1];
  assign psel         = access_valid;
  assign penable      = enable_q;
  assign paddr        = {access.word, upper, 2'b00};
  assign pwrite       = access.write;
  assign pwdata       = upper ? access.data[63:32] : access.data[31:0];
  assign pstrb        = !access.write ? '0 : upper ? access.lanes[7:4] : access.lanes[3:0];
  assign ends         = access_valid && enable_q && pready;
  assign access_ready = ends && last;
  assign taken        = pslverr ? '1 : prdata;
  assign answer       = upper ? {taken, lower_q} : {32'b0, taken};
  assign answer_valid = ends && last && !access.write;

  always_ff @(posedge clk) begin
    enable_q <= access_valid && !ends;
    if (ends) begin
      lower_done_q <= !last;
      lower_q      <= taken;
    end
    if (rst) begin
      enable_q     <= 1'b0;
      lower_done_q <= 1'b0;
    end
  end

endmodule
