// SPDX-License-Identifier: CC0-1.0
// A device with one register of 32 bits, at the beginning of BAR 0: a write of 4 bytes adds to it, a read of 4 bytes
// returns the sum. A read of another size is answered with Unsupported Request, and another write has no effect.
`default_nettype none

module adder (
    input  wire        clk_i,
    input  wire        rst_i,
    // Registers of the function, in its configuration space.
    input  wire [15:0] function_id_i,
    input  wire [2:0]  max_payload_i, max_read_request_i,
    input  wire        bus_master_i,
    // Received packets, in beats of 64 bits; byte k of a beat is in bits 8k and up.
    input  wire        rx_valid_i, rx_first_i, rx_last_i,
    input  wire [63:0] rx_data_i,
    input  wire [3:0]  rx_bytes_i,
    input  wire [2:0]  rx_bar_i,
    output wire        rx_ready_o,
    // A request that needs a completion may begin in the next cycle.
    output wire        rx_np_ok_o,
    // Packets to send.
    output wire        tx_valid_o, tx_first_o, tx_last_o,
    output wire [63:0] tx_data_o,
    output wire [3:0]  tx_bytes_o,
    input  wire        tx_ready_i,
    // Interrupts: this device makes none.
    output wire        irq_valid_o,
    output wire [10:0] irq_vector_o,
    input  wire        irq_ready_i,
    // The clock is needed although no packet arrives.
    output wire        active_o
);
  // The header's bytes 0 to 7. The second beat has bytes 8 to 11, the address, and the data of a write.
  reg  [63:0] head_q;
  reg         is_second_q;
  reg  [31:0] sum_q;
  reg [127:0] completion_q;
  reg  [1:0]  beats_q;

  wire ends     = rx_valid_i && is_second_q;
  wire is_write = head_q[7:0] == 8'h40;
  wire is_read  = head_q[7:0] == 8'h00;
  wire is_word  = head_q[17:16] == 0 && head_q[31:24] == 1 && head_q[59:56] == 4'hf;

  // Posted requests are always taken. A read begins if the completion before it has left.
  assign rx_ready_o   = 1'b1;
  assign rx_np_ok_o   = beats_q == 0 && !(is_second_q && is_read);
  assign tx_valid_o   = beats_q != 0;
  assign tx_first_o   = beats_q == 2;
  assign tx_last_o    = beats_q == 1;
  assign tx_data_o    = completion_q[63:0];
  assign tx_bytes_o   = tx_last_o && !has_data_q ? 4'd4 : 4'd8;
  assign irq_valid_o  = 1'b0;
  assign irq_vector_o = 11'd0;
  assign active_o     = tx_valid_o;

  reg has_data_q;
  // A completion: with data if the read was of one word, else Unsupported Request (PCIe Base 2.2.9).
  wire [63:0] first  = {is_word ? 16'h0400 : 16'h0420, function_id_i[7:0], function_id_i[15:8], 7'd0, is_word, 16'd0, is_word ? 8'h4a : 8'h0a};
  wire [63:0] second = {sum_q, 1'b0, rx_data_i[30:24], head_q[55:48], head_q[47:32]};

  always @(posedge clk_i) begin
    if (rx_valid_i) begin
      is_second_q <= rx_first_i && !rx_last_i;
      if (rx_first_i) head_q <= rx_data_i;
    end
    if (tx_valid_o && tx_ready_i) begin
      completion_q <= completion_q >> 64;
      beats_q      <= beats_q - 1;
    end
    if (ends && is_write && is_word) sum_q <= sum_q + rx_data_i[63:32];
    if (ends && is_read) begin
      completion_q <= {second, first};
      has_data_q   <= is_word;
      beats_q      <= 2;
    end
    if (rst_i) begin
      is_second_q <= 1'b0;
      beats_q     <= 0;
      sum_q       <= 0;
    end
  end

  wire unused = &{1'b0, max_payload_i, max_read_request_i, bus_master_i, rx_bytes_i, rx_bar_i, irq_ready_i};
endmodule

`default_nettype wire
