// A circuit for tests of the user side of UltraScale's block: a write of 4 bytes to BAR 0 starts a copy of 64 bytes of host memory, from
// address 16 N, where N is the written number, to the 64 bytes behind it, and then an interrupt. A read of 4 bytes returns the number of copies.

module us_copier #(
    // Bits of a beat: 64, 128, 256 or 512.
    parameter int WIDTH = 256
) (
    input  logic               user_clk,
    input  logic               user_reset,
    input  logic [WIDTH-1:0]   s_axis_cq_tdata,
    input  logic [WIDTH/32-1:0] s_axis_cq_tkeep,
    input  logic [(WIDTH == 512 ? 183 : 88)-1:0] s_axis_cq_tuser,
    input  logic               s_axis_cq_tlast,
    input  logic               s_axis_cq_tvalid,
    output logic               s_axis_cq_tready,
    output logic [WIDTH-1:0]   m_axis_cc_tdata,
    output logic [WIDTH/32-1:0] m_axis_cc_tkeep,
    output logic [(WIDTH == 512 ? 81 : 33)-1:0] m_axis_cc_tuser,
    output logic               m_axis_cc_tlast,
    output logic               m_axis_cc_tvalid,
    input  logic               m_axis_cc_tready,
    output logic [WIDTH-1:0]   m_axis_rq_tdata,
    output logic [WIDTH/32-1:0] m_axis_rq_tkeep,
    output logic [(WIDTH == 512 ? 137 : 62)-1:0] m_axis_rq_tuser,
    output logic               m_axis_rq_tlast,
    output logic               m_axis_rq_tvalid,
    input  logic [3:0]         m_axis_rq_tready,
    input  logic [WIDTH-1:0]   s_axis_rc_tdata,
    input  logic [WIDTH/32-1:0] s_axis_rc_tkeep,
    input  logic [(WIDTH == 512 ? 161 : 75)-1:0] s_axis_rc_tuser,
    input  logic               s_axis_rc_tlast,
    input  logic               s_axis_rc_tvalid,
    output logic               s_axis_rc_tready,
    input  logic [5:0]         pcie_rq_seq_num0,
    input  logic               pcie_rq_seq_num_vld0,
    output logic [31:0]        cfg_interrupt_msi_int,
    input  logic               cfg_interrupt_msi_sent
);
  localparam int WORDS = WIDTH / 32;
  // The words of the longest packet, in whole beats: descriptor and 64 bytes.
  localparam int ROOM = (20 + WORDS - 1) / WORDS * WORDS;
  localparam logic [5:0] NUMBER = 6'h2a;

  typedef logic [ROOM-1:0][31:0] packet_t;

  // A beat at the end of the words that have come so far.
  packet_t cq_q, rc_q, cq, rc, rq_q, cc_q;
  logic [5:0] cq_count_q, rc_count_q, rq_left_q, cc_left_q;
  logic [31:0] number_q, copies_q;
  logic is_writing_q;
  wire cq_ends = s_axis_cq_tvalid && s_axis_cq_tready && s_axis_cq_tlast;
  wire rc_ends = s_axis_rc_tvalid && s_axis_rc_tlast;

  always_comb begin
    cq = cq_q;
    rc = rc_q;
    for (int i = 0; i < WORDS; ++i) begin
      if (int'(cq_count_q) + i < ROOM) cq[cq_count_q+6'(i)] = s_axis_cq_tdata[32*i+:32];
      if (int'(rc_count_q) + i < ROOM) rc[rc_count_q+6'(i)] = s_axis_rc_tdata[32*i+:32];
    end
  end

  function automatic logic [WORDS-1:0] keep(input logic [5:0] left);
    for (int i = 0; i < WORDS; ++i) keep[i] = i < int'(left);
  endfunction

  assign s_axis_cq_tready = cc_left_q == 0;
  assign s_axis_rc_tready = 1'b1;
  assign m_axis_cc_tdata  = cc_q[WORDS-1:0];
  assign m_axis_cc_tkeep  = keep(cc_left_q);
  assign m_axis_cc_tuser  = '0;
  assign m_axis_cc_tlast  = cc_left_q <= 6'(WORDS);
  assign m_axis_cc_tvalid = cc_left_q != 0;
  assign m_axis_rq_tdata  = rq_q[WORDS-1:0];
  assign m_axis_rq_tkeep  = keep(rq_left_q);
  assign m_axis_rq_tlast  = rq_left_q <= 6'(WORDS);
  assign m_axis_rq_tvalid = rq_left_q != 0;

  always_comb begin
    m_axis_rq_tuser = '0;
    m_axis_rq_tuser[3:0] = 4'hf;
    if (WIDTH == 512) begin
      m_axis_rq_tuser[11:8] = 4'hf;
      m_axis_rq_tuser = m_axis_rq_tuser | ($bits(m_axis_rq_tuser))'(NUMBER) << 61;
    end else begin
      m_axis_rq_tuser[7:4] = 4'hf;
      m_axis_rq_tuser = m_axis_rq_tuser | ($bits(m_axis_rq_tuser))'(NUMBER[3:0]) << 24 | ($bits(m_axis_rq_tuser))'(NUMBER[5:4]) << 60;
    end
  end

  // A descriptor for 16 words from address 16 `number` on, a read or a write.
  function automatic logic [3:0][31:0] request(input logic [31:0] number, input logic is_write);
    return {32'h0000_0005, {16'd0, 1'b0, 3'd0, is_write, 11'd16}, {28'd0, number[31:28]}, {number[27:0], 4'd0}};
  endfunction

  always_ff @(posedge user_clk) begin
    cfg_interrupt_msi_int <= '0;
    if (s_axis_cq_tvalid && s_axis_cq_tready) begin
      cq_q       <= cq;
      cq_count_q <= s_axis_cq_tlast ? '0 : cq_count_q + 6'(WORDS);
    end
    if (s_axis_rc_tvalid) begin
      rc_q       <= rc;
      rc_count_q <= s_axis_rc_tlast ? '0 : rc_count_q + 6'(WORDS);
    end
    if (m_axis_cc_tvalid && m_axis_cc_tready) begin
      cc_q      <= cc_q >> WIDTH;
      cc_left_q <= m_axis_cc_tlast ? '0 : cc_left_q - 6'(WORDS);
    end
    if (m_axis_rq_tvalid && m_axis_rq_tready[0]) begin
      rq_q      <= rq_q >> WIDTH;
      rq_left_q <= m_axis_rq_tlast ? '0 : rq_left_q - 6'(WORDS);
    end
    if (cq_ends && cq[2][14:11] == 1) begin
      number_q <= cq[4];
      rq_q      <= packet_t'(request(cq[4], 1'b0));
      rq_left_q <= 6'd4;
    end
    if (cq_ends && cq[2][14:11] == 0) begin
      // Tag, attributes and traffic class are the request's.
      cc_q <= packet_t'({copies_q, {1'b0, cq[3][30:25], 9'd0, 8'd0, cq[3][7:0]}, {cq[2][31:16], 16'd1}, {16'd4, 9'd0, cq[0][6:2], 2'b00}});
      cc_left_q <= 6'd4;
    end
    if (rc_ends && rc[1][10:0] == 16 && rc[0][30] && rc[2][7:0] == 5) begin
      rq_q         <= packet_t'({rc[18:3], request(number_q + 4, 1'b1)});
      rq_left_q    <= 6'd20;
      is_writing_q <= 1'b1;
    end
    if (pcie_rq_seq_num_vld0 && is_writing_q && pcie_rq_seq_num0 == NUMBER && rq_left_q == 0) begin
      is_writing_q          <= 1'b0;
      copies_q              <= copies_q + 1;
      cfg_interrupt_msi_int <= 32'd1;
    end
    if (user_reset) begin
      {cq_count_q, rc_count_q, rq_left_q, cc_left_q} <= '0;
      copies_q     <= '0;
      is_writing_q <= 1'b0;
    end
  end

  wire unused = &{1'b0, s_axis_cq_tkeep, s_axis_cq_tuser, s_axis_rc_tkeep, s_axis_rc_tuser, m_axis_rq_tready[3:1], cfg_interrupt_msi_sent};
endmodule
