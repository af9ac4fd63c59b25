// Adds the 64-bit words of each transfer from host memory, writes the sum to a peer, and then interrupts the host. Its registers are
// SUM (0x00, 64 bits), TARGET (0x08, 64 bits: the address that the sum is written to) and SENT (0x10: sums that were written).

module example_sum (
    // Clock of all ports.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // RX.
    input  logic [63:0] rx_tdata,
    input  logic [7:0]  rx_tkeep,
    input  logic        rx_tlast,
    input  logic        rx_tvalid,
    output logic        rx_tready,
    // EP_TX.
    output logic [63:0] ep_tx_tdata,
    output logic [7:0]  ep_tx_tkeep,
    output logic        ep_tx_tvalid,
    input  logic        ep_tx_tready,
    // EP_TX_CMD.
    output logic [63:0] ep_tx_cmd_address_o,
    output logic [31:0] ep_tx_cmd_length_o,
    output logic [15:0] ep_tx_cmd_label_o,
    output logic        ep_tx_cmd_valid_o,
    input  logic        ep_tx_cmd_ready_i,
    input  logic        ep_tx_done_i,
    // Registers.
    input  logic [15:0] paddr,
    input  logic        psel,
    input  logic        penable,
    input  logic        pwrite,
    input  logic [31:0] pwdata,
    input  logic [3:0]  pstrb,
    output logic [31:0] prdata,
    output logic        pready,
    output logic        pslverr,
    // An interrupt.
    output logic        irq_valid_o,
    output logic [10:0] irq_vector_o,
    input  logic        irq_ready_i,
    // A sum is not written, or its interrupt waits.
    output logic        active_o
);

  // Units of the engine have the vectors below.
  localparam logic [10:0] VECTOR = 11'd3;

  logic [63:0] sum_q;
  logic [63:0] result_q;
  logic [63:0] target_q;
  logic [31:0] sent_q;
  logic        data_q;
  logic        command_q;
  logic        waits_q;
  logic        irq_q;
  logic [63:0] word;
  logic        moves;

  // Bytes behind the end of the transfer count as 0.
  always_comb for (int k = 0; k < 8; k = k + 1) word[8*k+:8] = rx_tkeep[k] ? rx_tdata[8*k+:8] : 8'd0;

  assign rx_tready           = !waits_q;
  assign moves               = rx_tvalid && rx_tready;
  assign ep_tx_tdata         = result_q;
  assign ep_tx_tkeep         = '1;
  assign ep_tx_tvalid        = data_q;
  assign ep_tx_cmd_address_o = target_q;
  assign ep_tx_cmd_length_o  = 32'd8;
  assign ep_tx_cmd_label_o   = '0;
  assign ep_tx_cmd_valid_o   = command_q;
  assign irq_valid_o         = irq_q;
  assign irq_vector_o        = VECTOR;
  assign active_o            = waits_q;

  always_ff @(posedge clk_i) begin
    if (moves) sum_q <= rx_tlast ? '0 : sum_q + word;
    if (moves && rx_tlast) begin
      result_q  <= sum_q + word;
      data_q    <= 1'b1;
      command_q <= 1'b1;
      waits_q   <= 1'b1;
    end
    if (ep_tx_tvalid && ep_tx_tready) data_q <= 1'b0;
    if (ep_tx_cmd_valid_o && ep_tx_cmd_ready_i) command_q <= 1'b0;
    if (ep_tx_done_i) begin
      sent_q <= sent_q + 1'b1;
      irq_q  <= 1'b1;
    end
    if (irq_valid_o && irq_ready_i) begin
      irq_q   <= 1'b0;
      waits_q <= 1'b0;
    end
    if (rst_i) begin
      sum_q     <= '0;
      sent_q    <= '0;
      data_q    <= 1'b0;
      command_q <= 1'b0;
      waits_q   <= 1'b0;
      irq_q     <= 1'b0;
    end
  end

  assign pready = 1'b1;
  always_comb begin
    pslverr = 1'b0;
    prdata  = '0;
    case (paddr)
      16'h0: prdata = result_q[31:0];
      16'h4: prdata = result_q[63:32];
      16'h8: prdata = target_q[31:0];
      16'hc: prdata = target_q[63:32];
      16'h10: prdata = sent_q;
      default: pslverr = 1'b1;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (psel && penable && pwrite && paddr[15:3] == 13'd1) for (int k = 0; k < 4; k = k + 1) begin
      if (pstrb[k]) target_q[32*paddr[2]+8*k+:8] <= pwdata[8*k+:8];
    end
    if (rst_i) target_q <= '0;
  end

endmodule
