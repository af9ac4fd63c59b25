// The peer timer: cycles from the first data that the source gives to a peer to the first data that a peer writes after it.

module peer_timer #(
    // Cycles after which it no longer waits for the data of a peer.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // The next transfer to a peer is to be timed. A pulse.
    input  logic        arm_i,
    // A transfer to a peer begins.
    input  logic        start_i,
    // Data of the transfer leaves the source.
    input  logic        sends_i,
    // Data of a peer arrives.
    input  logic        arrives_i,
    // The time is known, or waited for no longer. A pulse.
    output logic        done_o,
    // The cycles; 0 if no data has come.
    output logic [31:0] cycles_o,
    // The time runs.
    output logic        busy_o
);

  typedef enum logic [1:0] {
    IDLE,
    ARMED,
    BEGUN,
    RUNNING
  } state_t;

  state_t      state_q;
  logic [31:0] cycles_q;

  always_comb begin
    done_o = 1'b0;
    if (state_q == RUNNING) done_o = arrives_i || cycles_q >= 32'(TIMEOUT);
  end

  assign cycles_o = arrives_i ? cycles_q : '0;
  assign busy_o   = state_q == RUNNING;

  always_ff @(posedge clk_i) begin
    if (state_q == RUNNING) cycles_q <= cycles_q + 1'b1;
    case (state_q)
      ARMED: if (start_i) state_q <= BEGUN;
      BEGUN:
      if (sends_i) begin
        state_q  <= RUNNING;
        cycles_q <= 32'd1;
      end
      RUNNING: if (done_o) state_q <= IDLE;
      default: ;
    endcase
    if (arm_i) state_q <= ARMED;
    if (rst_i) state_q <= IDLE;
  end

endmodule
