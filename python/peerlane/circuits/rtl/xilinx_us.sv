// The user side of the PCI Express block of UltraScale and UltraScale+ devices (PG156, PG213): request and completion streams with descriptors,
// aligned to words, without straddling; the tags of requests are the user's. The other side has the ports of a leaf.

module peerlane_xilinx_us #(
    // Bits of a beat: 64, 128, 256 or 512.
    parameter int WIDTH = 256,
    // Bits of `tuser` of the four streams.
    parameter int RQ_USER = 62,
    parameter int CQ_USER = 88,
    parameter int RC_USER = 75
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic [15:0]        function_id_i,

    input  logic               rx_valid_i,
    output logic               rx_ready_o,
    output logic               rx_np_ok_o,
    input  logic [WIDTH-1:0]   rx_data_i,
    input  logic               rx_first_i,
    input  logic               rx_last_i,
    input  logic [$clog2(WIDTH/8):0] rx_bytes_i,
    input  logic [2:0]         rx_bar_i,

    output logic               tx_valid_o,
    input  logic               tx_ready_i,
    output logic [WIDTH-1:0]   tx_data_o,
    output logic               tx_first_o,
    output logic               tx_last_o,
    output logic [$clog2(WIDTH/8):0] tx_bytes_o,

    output logic               irq_valid_o,
    input  logic               irq_ready_i,
    output logic [10:0]        irq_vector_o,

    // Requests of the user.
    input  logic [WIDTH-1:0]   rq_tdata,
    input  logic [WIDTH/32-1:0] rq_tkeep,
    input  logic [RQ_USER-1:0] rq_tuser,
    input  logic               rq_tlast,
    input  logic               rq_tvalid,
    output logic               rq_tready,
    output logic [5:0]         rq_seq_num,
    output logic               rq_seq_num_vld,
    // Completions of these requests.
    output logic [WIDTH-1:0]   rc_tdata,
    output logic [WIDTH/32-1:0] rc_tkeep,
    output logic [RC_USER-1:0] rc_tuser,
    output logic               rc_tlast,
    output logic               rc_tvalid,
    input  logic               rc_tready,
    // Requests to the user. The user gives credits for non-posted requests.
    output logic [WIDTH-1:0]   cq_tdata,
    output logic [WIDTH/32-1:0] cq_tkeep,
    output logic [CQ_USER-1:0] cq_tuser,
    output logic               cq_tlast,
    output logic               cq_tvalid,
    input  logic               cq_tready,
    input  logic [1:0]         cq_np_req,
    // Completions of the user.
    input  logic [WIDTH-1:0]   cc_tdata,
    input  logic [WIDTH/32-1:0] cc_tkeep,
    input  logic               cc_tlast,
    input  logic               cc_tvalid,
    output logic               cc_tready,

    // A request of an interrupt for each vector, and the answer.
    input  logic [31:0]        msi_int,
    output logic               msi_sent
);
  localparam int WORDS = WIDTH / 32;
  localparam int COUNT = $clog2(WORDS) + 1;
  typedef logic [3:0][31:0] head_t;

  // A word of a header, whose first byte is the highest one in the specification, and the lowest one in a beat.
  function automatic logic [31:0] swap(input logic [31:0] word);
    return {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  function automatic logic [COUNT-1:0] kept(input logic [WORDS-1:0] keep);
    logic [COUNT-1:0] count = '0;
    for (int i = 0; i < WORDS; ++i) count += COUNT'(keep[i]);
    return count;
  endfunction

  // ---- Received packets: completions to RC, requests to CQ.
  logic is_completion, is_completion_q;
  logic cq_in_ready, rc_in_ready;

  assign is_completion = rx_first_i ? rx_data_i[4:0] == 5'b01010 : is_completion_q;
  assign rx_ready_o    = is_completion ? rc_in_ready : cq_in_ready;

  always_ff @(posedge clk_i) if (rx_valid_i && rx_first_i) is_completion_q <= is_completion;

  wire [COUNT-1:0] rx_count = rx_bytes_i[$clog2(WIDTH/8):2];

  // Credits for non-posted requests, at most 32 (PG213). A request may begin while there is one.
  logic [5:0] credits_q;
  wire is_request = rx_valid_i && rx_ready_o && rx_first_i && (rx_data_i[7:5] == 3'b000 || rx_data_i[7:5] == 3'b001 || rx_data_i[3]) && !is_completion;
  wire [6:0] credits = {1'b0, credits_q} + 7'(cq_np_req) - 7'(is_request);

  always_ff @(posedge clk_i) credits_q <= rst_i ? '0 : credits > 7'd32 ? 6'd32 : credits[5:0];

  assign rx_np_ok_o = credits != 0;

  // CQ: the bytes that are enabled in the first and in the last word, with the first beat.
  head_t cq_head, cq_new;
  logic cq_head_valid, cq_first;
  logic [COUNT-1:0] cq_count;
  logic [10:0] cq_begin, cq_words;
  logic [2:0] bar_q, cq_bar;
  logic [7:0] cq_enables, cq_enables_q;
  logic [10:0] cq_words_q;
  wire [31:0] cq0 = swap(cq_head[0]), cq1 = swap(cq_head[1]), cq2 = swap(cq_head[2]), cq3 = swap(cq_head[3]);
  wire cq_long = cq0[29];
  wire [3:0] cq_kind = cq0[27] ? {2'b01, cq0[25:24]} : {3'b000, cq0[30]};

  assign cq_bar   = rx_first_i ? rx_bar_i : bar_q;
  assign cq_words = {cq0[9:0] == 0, cq0[9:0]};
  assign cq_new   = {
    {1'b0, cq0[18], cq0[13:12], cq0[22:20], 6'd0, cq_bar, 5'd0, function_id_i[2:0], cq1[15:8]},
    {cq1[31:16], 1'b0, cq_kind, cq_words},
    cq_long ? cq2 : 32'd0,
    {cq_long ? cq3[31:2] : cq2[31:2], cq0[11:10]}
  };

  always_ff @(posedge clk_i) begin
    if (rx_valid_i && rx_first_i) bar_q <= rx_bar_i;
    if (cq_head_valid && cq_in_ready) begin
      cq_enables_q <= {cq1[3:0], cq1[7:4]};
      cq_words_q   <= cq0[30] ? cq_words : '0;
    end
  end

  // The enables of the packet whose words leave: those of the next packet come when its last word leaves.
  assign cq_enables = cq_enables_q;

  peerlane_realign #(.WORDS(WORDS)) cq (
    .clk_i, .rst_i,
    .in_data_i(rx_data_i), .in_count_i(rx_count), .in_last_i(rx_last_i), .in_valid_i(rx_valid_i && !is_completion), .in_ready_o(cq_in_ready),
    .head_o(cq_head), .head_valid_o(cq_head_valid), .length_i(cq_long ? 3'd4 : 3'd3), .head_i(cq_new), .new_length_i(3'd4),
    .out_data_o(cq_tdata), .out_count_o(cq_count), .out_first_o(cq_first), .out_last_o(cq_tlast), .out_begin_o(cq_begin),
    .out_valid_o(cq_tvalid), .out_ready_i(cq_tready)
  );

  // RC
  head_t rc_head, rc_new;
  logic rc_head_valid, rc_first;
  logic [COUNT-1:0] rc_count;
  logic [10:0] rc_begin, rc_words;
  wire [31:0] rc0 = swap(rc_head[0]), rc1 = swap(rc_head[1]), rc2 = swap(rc_head[2]);
  wire [12:0] rc_bytes = {rc1[11:0] == 0, rc1[11:0]};
  wire rc_is_good = rc1[15:13] == 0;
  wire rc_ends = !rc_is_good || {rc_words, 2'b00} - 13'(rc2[1:0]) >= rc_bytes;

  assign rc_words = rc0[30] ? {rc0[9:0] == 0, rc0[9:0]} : '0;
  assign rc_new   = {
    32'd0,
    {1'b0, rc0[18], rc0[13:12], rc0[22:20], 1'b0, rc1[31:16], rc2[15:8]},
    {rc2[31:16], 1'b0, rc0[14], rc1[15:13], rc_words},
    {1'b0, rc_ends, 1'b0, rc_bytes, !rc_is_good ? 4'd2 : rc0[14] ? 4'd1 : 4'd0, 5'd0, rc2[6:0]}
  };

  peerlane_realign #(.WORDS(WORDS)) rc (
    .clk_i, .rst_i,
    .in_data_i(rx_data_i), .in_count_i(rx_count), .in_last_i(rx_last_i), .in_valid_i(rx_valid_i && is_completion), .in_ready_o(rc_in_ready),
    .head_o(rc_head), .head_valid_o(rc_head_valid), .length_i(3'd3), .head_i(rc_new), .new_length_i(3'd3),
    .out_data_o(rc_tdata), .out_count_o(rc_count), .out_first_o(rc_first), .out_last_o(rc_tlast), .out_begin_o(rc_begin),
    .out_valid_o(rc_tvalid), .out_ready_i(rc_tready)
  );

  // The side signals of both streams.
  logic [WIDTH/8-1:0] cq_byte_en, rc_byte_en;

  always_comb begin
    cq_tkeep = '0;
    rc_tkeep = '0;
    cq_byte_en = '0;
    rc_byte_en = '0;
    for (int i = 0; i < WORDS; ++i) begin
      cq_tkeep[i] = i < int'(cq_count);
      rc_tkeep[i] = i < int'(rc_count);
      if (rc_tkeep[i] && int'(rc_begin) + i >= 3) rc_byte_en[4*i+:4] = 4'hf;
      if (cq_tkeep[i] && int'(cq_begin) + i >= 4) begin
        cq_byte_en[4*i+:4] = int'(cq_begin) + i == 4 ? cq_enables[7:4] : int'(cq_begin) + i == int'(cq_words_q) + 3 ? cq_enables[3:0] : 4'hf;
      end
    end
    cq_tuser = '0;
    rc_tuser = '0;
    if (WIDTH == 512) begin
      cq_tuser[3:0]    = cq_enables[7:4];
      cq_tuser[11:8]   = cq_enables[3:0];
      cq_tuser[16+:WIDTH/8] = cq_byte_en;
      cq_tuser[80]     = cq_first;
      cq_tuser[86]     = cq_tlast;
      cq_tuser[91:88]  = 4'(cq_count - 1);
      rc_tuser[0+:WIDTH/8] = rc_byte_en;
      rc_tuser[64]     = rc_first;
      rc_tuser[76]     = rc_tlast;
      rc_tuser[83:80]  = 4'(rc_count - 1);
    end else begin
      cq_tuser[3:0]    = cq_enables[7:4];
      cq_tuser[7:4]    = cq_enables[3:0];
      cq_tuser[8+:WIDTH/8] = cq_byte_en;
      cq_tuser[40]     = cq_first;
      rc_tuser[0+:WIDTH/8] = rc_byte_en;
      rc_tuser[32]     = rc_first;
      rc_tuser[34]     = rc_tlast;
      rc_tuser[37:35]  = 3'(rc_count - 1);
    end
  end

  // ---- Packets to send: requests from RQ, completions from CC.
  head_t rq_head, rq_new;
  logic rq_head_valid, rq_out_valid, rq_out_ready, rq_first, rq_last;
  logic [COUNT-1:0] rq_count;
  logic [WIDTH-1:0] rq_data;
  logic [10:0] rq_begin;
  logic [RQ_USER-1:0] user_q;
  logic is_within_q;
  wire [RQ_USER-1:0] user = is_within_q ? user_q : rq_tuser;
  wire [3:0] first_enables = user[3:0];
  wire [3:0] last_enables = WIDTH == 512 ? user[11:8] : user[7:4];
  wire [63:0] rq_address = {rq_head[1], rq_head[0][31:2], 2'b00};
  wire rq_long = rq_address[63:32] != 0;
  wire [3:0] rq_kind = rq_head[2][14:11];
  wire rq_has_data = rq_kind != 0;
  wire [31:0] rq0 = {
    1'b0, rq_has_data, rq_long, rq_kind[2] ? {3'b011, rq_kind[1:0]} : 5'b00000, 1'b0, rq_head[3][27:25], 1'b0, rq_head[3][30], 2'b00, 1'b0,
    rq_head[2][15], rq_head[3][29:28], rq_head[0][1:0], rq_head[2][9:0]
  };
  wire [31:0] rq1 = {function_id_i, rq_head[3][7:0], last_enables, first_enables};
  wire [31:0] rq2 = rq_long ? rq_address[63:32] : rq_address[31:0];

  assign rq_new = {swap(rq_address[31:0]), swap(rq2), swap(rq1), swap(rq0)};

  always_ff @(posedge clk_i) begin
    if (rq_tvalid && !is_within_q) user_q <= rq_tuser;
    if (rq_tvalid && rq_tready) is_within_q <= !rq_tlast;
    if (rst_i) is_within_q <= 1'b0;
`ifndef SYNTHESIS
    if (!rst_i && rq_head_valid && rq_tready) begin
      a_request_is_a_memory_request: assert (rq_kind <= 1 || (rq_kind >= 4 && rq_kind <= 6))
      else $error("the request type %0d of RQ is not simulated: only memory requests and atomic operations are", rq_kind);
    end
`endif
  end

  peerlane_realign #(.WORDS(WORDS)) rq (
    .clk_i, .rst_i,
    .in_data_i(rq_tdata), .in_count_i(kept(rq_tkeep)), .in_last_i(rq_tlast), .in_valid_i(rq_tvalid), .in_ready_o(rq_tready),
    .head_o(rq_head), .head_valid_o(rq_head_valid), .length_i(3'd4), .head_i(rq_new), .new_length_i(rq_long ? 3'd4 : 3'd3),
    .out_data_o(rq_data), .out_count_o(rq_count), .out_first_o(rq_first), .out_last_o(rq_last), .out_begin_o(rq_begin),
    .out_valid_o(rq_out_valid), .out_ready_i(rq_out_ready)
  );

  // CC
  head_t cc_head, cc_new;
  logic cc_head_valid, cc_out_valid, cc_out_ready, cc_first, cc_last;
  logic [COUNT-1:0] cc_count;
  logic [WIDTH-1:0] cc_data;
  logic [10:0] cc_begin;
  wire [31:0] cc0 = {
    1'b0, cc_head[1][10:0] != 0, 1'b0, 5'b01010, 1'b0, cc_head[2][27:25], 1'b0, cc_head[2][30], 2'b00, 1'b0, cc_head[1][14], cc_head[2][29:28], 2'b00,
    cc_head[1][9:0]
  };
  wire [31:0] cc1 = {cc_head[2][24] ? cc_head[2][23:8] : function_id_i, cc_head[1][13:11], 1'b0, cc_head[0][27:16]};
  wire [31:0] cc2 = {cc_head[1][31:16], cc_head[2][7:0], 1'b0, cc_head[0][6:0]};

  assign cc_new = {32'd0, swap(cc2), swap(cc1), swap(cc0)};

  peerlane_realign #(.WORDS(WORDS)) cc (
    .clk_i, .rst_i,
    .in_data_i(cc_tdata), .in_count_i(kept(cc_tkeep)), .in_last_i(cc_tlast), .in_valid_i(cc_tvalid), .in_ready_o(cc_tready),
    .head_o(cc_head), .head_valid_o(cc_head_valid), .length_i(3'd3), .head_i(cc_new), .new_length_i(3'd3),
    .out_data_o(cc_data), .out_count_o(cc_count), .out_first_o(cc_first), .out_last_o(cc_last), .out_begin_o(cc_begin),
    .out_valid_o(cc_out_valid), .out_ready_i(cc_out_ready)
  );

  // Whole packets, completions first.
  logic is_chosen_q, is_cc_q;
  wire is_cc = is_chosen_q ? is_cc_q : cc_out_valid;

  assign tx_valid_o   = is_cc ? cc_out_valid : rq_out_valid;
  assign tx_data_o    = is_cc ? cc_data : rq_data;
  assign tx_first_o   = is_cc ? cc_first : rq_first;
  assign tx_last_o    = is_cc ? cc_last : rq_last;
  assign tx_bytes_o   = {is_cc ? cc_count : rq_count, 2'b00};
  assign cc_out_ready = is_cc && tx_ready_i;
  assign rq_out_ready = !is_cc && tx_ready_i;

  always_ff @(posedge clk_i) begin
    if (tx_valid_o) begin
      is_chosen_q <= !(tx_ready_i && tx_last_o);
      is_cc_q     <= is_cc;
    end
    if (rst_i) is_chosen_q <= 1'b0;
  end

  // The sequence number of a request, when the request has left.
  logic [5:0] number_q;
  wire [5:0] number = WIDTH == 512 ? 6'(user >> 61) : {2'(user >> 60), user[27:24]};

  always_ff @(posedge clk_i) begin
    if (rq_head_valid && rq_tready) number_q <= number;
    rq_seq_num_vld <= !rst_i && rq_out_valid && rq_out_ready && rq_last;
    rq_seq_num     <= number_q;
  end

  // One vector at a time.
  logic [31:0] pending_q;
  logic [4:0] vector;

  always_comb begin
    vector = '0;
    for (int i = 31; i >= 0; --i) if (pending_q[i]) vector = 5'(i);
  end

  assign irq_valid_o  = pending_q != 0;
  assign irq_vector_o = 11'(vector);

  always_ff @(posedge clk_i) begin
    msi_sent  <= !rst_i && irq_valid_o && irq_ready_i;
    pending_q <= rst_i ? '0 : (pending_q & ~(irq_valid_o && irq_ready_i ? 32'd1 << vector : 32'd0)) | msi_int;
  end

  wire unused = &{1'b0, rc_head_valid, cc_head_valid, rq_begin, cc_begin, user};
endmodule
