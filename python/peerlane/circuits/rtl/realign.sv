// Replaces the header of each packet of a stream by a header of another length, so that the payload moves by whole words. Words have 32
// bits. It takes and gives a beat in each cycle, as far as the other header is not longer.

module peerlane_realign #(
    // Words of a beat: 2, 4, 8 or 16.
    parameter int WORDS = 2
) (
    input  logic                     clk_i,
    input  logic                     rst_i,
    // The beats of a packet, each full but the last one.
    input  logic [WORDS-1:0][31:0]   in_data_i,
    input  logic [$clog2(WORDS):0]   in_count_i,
    input  logic                     in_last_i,
    input  logic                     in_valid_i,
    output logic                     in_ready_o,
    // The first words of the packet; all words of its header are there with `head_valid_o`.
    output logic [3:0][31:0]         head_o,
    output logic                     head_valid_o,
    // Words of the header, and the header that replaces it.
    input  logic [2:0]               length_i,
    input  logic [3:0][31:0]         head_i,
    input  logic [2:0]               new_length_i,
    // The beats of the new packet, and the number of words of the packet before the beat.
    output logic [WORDS-1:0][31:0]   out_data_o,
    output logic [$clog2(WORDS):0]   out_count_o,
    output logic                     out_first_o,
    output logic                     out_last_o,
    output logic [10:0]              out_begin_o,
    output logic                     out_valid_o,
    input  logic                     out_ready_i
);
  // Words that wait: less than a beat, and what the longest beat and header add.
  localparam int ROOM = 2 * WORDS + 4;
  localparam int BITS = $clog2(ROOM + 1);

  logic [ROOM-1:0][31:0] words_q, words, kept;
  logic [BITS-1:0] count_q, left, pushed;
  logic [1:0][31:0] saved_q;
  logic is_saved_q, is_body_q, is_ended_q;
  logic takes, gives;
  logic [2:0] skipped;

  // With beats of two words, the first beat of a packet is kept until the second one completes the header.
  if (WORDS == 2) begin : g_two
    assign head_o = {in_data_i, saved_q};
    assign head_valid_o = in_valid_i && is_saved_q && !is_body_q;
    assign skipped = length_i - 3'd2;
  end else begin : g_more
    assign head_o = in_data_i[3:0];
    assign head_valid_o = in_valid_i && !is_body_q;
    assign skipped = length_i;
  end

  assign out_valid_o = count_q >= BITS'(WORDS) || is_ended_q;
  assign out_last_o  = is_ended_q && count_q <= BITS'(WORDS);
  assign out_first_o = out_begin_o == 0;
  assign out_count_o = out_last_o ? count_q[$clog2(WORDS):0] : ($clog2(WORDS) + 1)'(WORDS);
  assign out_data_o  = words_q[WORDS-1:0];
  assign gives       = out_valid_o && out_ready_i;
  assign left        = gives ? count_q - BITS'(out_count_o) : count_q;
  assign kept        = gives ? words_q >> (32 * WORDS) : words_q;
  assign in_ready_o  = is_ended_q ? gives && out_last_o : left <= BITS'(ROOM - WORDS - 4);
  assign takes       = in_valid_i && in_ready_o;

  always_comb begin
    words  = kept;
    pushed = left;
    if (takes && head_valid_o) begin
      for (int i = 0; i < 4; ++i) begin
        if (3'(i) < new_length_i) words[left + BITS'(i)] = head_i[i];
      end
      pushed = left + BITS'(new_length_i);
      for (int i = 0; i < WORDS; ++i) begin
        if (i >= int'(skipped) && i < int'(in_count_i)) words[pushed + BITS'(i) - BITS'(skipped)] = in_data_i[i];
      end
      if (int'(in_count_i) > int'(skipped)) pushed = pushed + BITS'(in_count_i) - BITS'(skipped);
    end else if (takes && is_body_q) begin
      for (int i = 0; i < WORDS; ++i) begin
        if (i < int'(in_count_i)) words[left + BITS'(i)] = in_data_i[i];
      end
      pushed = left + BITS'(in_count_i);
    end
  end

  always_ff @(posedge clk_i) begin
    words_q <= words;
    count_q <= pushed;
    if (gives) begin
      out_begin_o <= out_last_o ? '0 : out_begin_o + 11'(WORDS);
      if (out_last_o) is_ended_q <= 1'b0;
    end
    if (takes) begin
      saved_q    <= in_data_i[1:0];
      is_saved_q <= !in_last_i;
      is_body_q  <= !in_last_i && (is_body_q || head_valid_o);
      if (in_last_i) is_ended_q <= 1'b1;
    end
    if (rst_i) begin
      count_q     <= '0;
      out_begin_o <= '0;
      is_saved_q  <= 1'b0;
      is_body_q   <= 1'b0;
      is_ended_q  <= 1'b0;
    end
  end
endmodule
