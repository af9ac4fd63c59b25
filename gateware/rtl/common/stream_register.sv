// A register in a stream: it breaks the path of the data, not that of `ready`, and moves a beat each cycle.

`include "require.svh"

module stream_register #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64
) (
    // Clock.
    input  logic                 clk_i,
    // Synchronous reset: the register is empty.
    input  logic                 rst_i,
    // Data.
    input  logic [W-1:0]         data_i,
    // Bytes in the beat.
    input  logic [$clog2(W/8):0] bytes_i,
    // First beat of a packet.
    input  logic                 first_i,
    // Last beat of a packet.
    input  logic                 last_i,
    // There is a beat.
    input  logic                 valid_i,
    // The beat is taken.
    output logic                 ready_o,
    // Data; a register, as all that follow.
    output logic [W-1:0]         data_o,
    // Bytes in the beat.
    output logic [$clog2(W/8):0] bytes_o,
    // First beat of a packet.
    output logic                 first_o,
    // Last beat of a packet.
    output logic                 last_o,
    // There is a beat.
    output logic                 valid_o,
    // The beat is taken.
    input  logic                 ready_i
);

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "stream_register: W is the number of bits of a beat; it must be 64, 128 or 256")

  logic [W-1:0]         data_q;
  logic [$clog2(W/8):0] bytes_q;
  logic                 first_q;
  logic                 last_q;
  logic                 valid_q;

  assign ready_o = !valid_q || ready_i;
  assign data_o  = data_q;
  assign bytes_o = bytes_q;
  assign first_o = first_q;
  assign last_o  = last_q;
  assign valid_o = valid_q;

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      data_q  <= data_i;
      bytes_q <= bytes_i;
      first_q <= first_i;
      last_q  <= last_i;
      valid_q <= valid_i;
    end
    if (rst_i) valid_q <= 1'b0;
  end

`ifdef FORMAL
  `include "stream_register.svh"
`endif

endmodule
