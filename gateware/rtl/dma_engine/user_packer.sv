// Packs pieces of 1 to 8 bytes into words of 8 bytes. The last word of a transfer may be shorter, and is marked; it is given when the end of
// the transfer is known.

module user_packer (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: nothing is held.
    input  logic        rst_i,
    // Bytes, from lane 0 on.
    input  logic [63:0] data_i,
    // Number of bytes, 1 to 8.
    input  logic [3:0]  bytes_i,
    // There are bytes.
    input  logic        valid_i,
    // The bytes are taken.
    output logic        ready_o,
    // The transfer has ended: its last bytes were taken before. A pulse.
    input  logic        end_i,
    // A word, from lane 0 on.
    output logic [63:0] data_o,
    // Its number of bytes: 8, or 1 to 8 where it is the last.
    output logic [3:0]  bytes_o,
    // The word is the last of its transfer.
    output logic        last_o,
    // There is a word.
    output logic        valid_o,
    // The word is taken.
    input  logic        ready_i,
    // A word is held whose transfer has ended.
    output logic        busy_o
);

  logic [63:0]  held_q;
  logic [3:0]   count_q;
  logic         ended_q;
  logic [127:0] both;
  logic [4:0]   total;
  logic         over;

  // More than eight bytes: the first eight of them leave, the others are held.
  assign both    = {64'b0, held_q} | ({64'b0, data_i & ~({64{1'b1}} << {bytes_i, 3'b0})} << {count_q, 3'b0});
  assign total   = {1'b0, count_q} + {1'b0, bytes_i};
  assign over    = total > 5'd8;
  assign data_o  = ended_q ? held_q : both[63:0];
  assign bytes_o = ended_q ? count_q : 4'd8;
  assign last_o  = ended_q;
  assign valid_o = ended_q || (valid_i && over);
  assign ready_o = !ended_q && (!over || ready_i);
  assign busy_o  = ended_q;

  always_ff @(posedge clk_i) begin
    if (ended_q) begin
      if (ready_i) begin
        held_q  <= '0;
        count_q <= '0;
        ended_q <= 1'b0;
      end
    end else if (valid_i && ready_o) begin
      held_q  <= over ? both[127:64] : both[63:0];
      count_q <= over ? total[3:0] - 4'd8 : total[3:0];
    end
    // While a last word waits, a transfer can end only without bytes.
    if (end_i && !ended_q) ended_q <= count_q != '0;
    if (rst_i) begin
      held_q  <= '0;
      count_q <= '0;
      ended_q <= 1'b0;
    end
  end

endmodule
