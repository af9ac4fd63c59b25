// Gives the data of read requests out in the order of the requests, in whatever order it comes. The data of a request comes in order, and
// leaves as soon as the request is the oldest one.

`include "require.svh"

module reorder_buffer #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64,
    // Number of slots, one for each tag; a power of two, at least 2.
    parameter int SLOTS = 16,
    // Bytes of a slot, the largest request; a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 512
) (
    // Clock.
    input  logic                                   clk_i,
    // Synchronous reset: no request is open.
    input  logic                                   rst_i,
    // Tag of a new request.
    input  logic [$clog2(SLOTS)-1:0]               open_tag_i,
    // There is a new request.
    input  logic                                   open_valid_i,
    // The request is noted; never refused while each tag is open once.
    output logic                                   open_ready_o,
    // Tag of the data to write.
    input  logic [$clog2(SLOTS)-1:0]               write_tag_i,
    // Place of the data in its slot, in beats.
    input  logic [$clog2(SLOT_BYTES/(W/8))-1:0]    write_place_i,
    // Data to write.
    input  logic [W-1:0]                           write_data_i,
    // Lanes to write.
    input  logic [W/8-1:0]                         write_lanes_i,
    // There is data to write.
    input  logic                                   write_i,
    // What was written before it may leave although its request has not ended.
    input  logic                                   write_ahead_i,
    // Tag of the request that ends; its last data may be written in the same cycle.
    input  logic [$clog2(SLOTS)-1:0]               end_tag_i,
    // Bytes of the request, 0 to SLOT_BYTES; 0 where it has no data, or no further data.
    input  logic [12:0]                            end_bytes_i,
    // Its result, of peerlane_pkg::RESULT.
    input  logic [2:0]                             end_result_i,
    // The request ends.
    input  logic                                   end_i,
    // Data of the oldest request; a register.
    output logic [W-1:0]                           data_o,
    // Bytes in the beat; 0 in the last beat of a request without data, or without further data.
    output logic [$clog2(W/8):0]                   bytes_o,
    // First beat of the request.
    output logic                                   first_o,
    // Last beat of the request.
    output logic                                   last_o,
    // Result of the request, in its last beat and in all that leave after its end; RESULT_SUCCESSFUL in those that leave before.
    output logic [2:0]                             result_o,
    // There is a beat.
    output logic                                   valid_o,
    // The beat is taken.
    input  logic                                   ready_i,
    // Tag whose slot is free again.
    output logic [$clog2(SLOTS)-1:0]               free_tag_o,
    // A slot is free again.
    output logic                                   free_o
);

  localparam int N = W / 8;
  localparam int BITS = $clog2(N);
  localparam int TAG_BITS = $clog2(SLOTS);
  localparam int PLACES = SLOT_BYTES / N;
  localparam int PLACE_BITS = $clog2(PLACES);

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "reorder_buffer: W is the number of bits of a beat; it must be 64, 128 or 256")
  `REQUIRE(gen_slots, SLOTS >= 2 && SLOTS == 1 << TAG_BITS, "reorder_buffer: SLOTS is the number of slots; it must be a power of two, at least 2")
  `REQUIRE(gen_bytes, SLOT_BYTES >= 128 && SLOT_BYTES <= 4096 && PLACES == 1 << PLACE_BITS, "reorder_buffer: SLOT_BYTES is the size of a slot; it must be a power of two, 128 to 4096")

  logic [W-1:0]          memory_q[SLOTS*PLACES];
  logic [15:0]           ended_as_q[SLOTS];
  logic [SLOTS-1:0]      ended_q;
  logic [PLACE_BITS-1:0] place_q;
  logic [W-1:0]          data_q;
  logic [BITS:0]         bytes_q;
  logic                  first_q;
  logic                  last_q;
  logic [2:0]            result_q;
  logic                  valid_q;
  logic [TAG_BITS-1:0]   oldest;
  logic                  is_open;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [TAG_BITS:0]     level;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [12:0]           size;
  logic [2:0]            result;
  logic [12:0]           left;
  logic [PLACE_BITS-1:0] reached_q;
  logic                  ended;
  logic                  over;
  logic                  fetch;
  logic                  last;

  fifo #(
      .WIDTH(TAG_BITS),
      .DEPTH(SLOTS)
  ) order (
      .clk_i,
      .rst_i,
      .data_i (open_tag_i),
      .valid_i(open_valid_i),
      .ready_o(open_ready_o),
      .data_o (oldest),
      .valid_o(is_open),
      .ready_i(fetch && last),
      .level_o(level)
  );

  always_comb begin
    if (is_open) begin
      {result, size} = ended_as_q[oldest];
      // While a request has not ended, the places before the last written one are complete, and another beat follows.
      ended = ended_q[oldest];
      over  = size <= 13'({place_q, {BITS{1'b0}}});
      left  = over ? 13'd0 : size - 13'({place_q, {BITS{1'b0}}});
      last  = ended && left <= 13'(N);
      fetch = (ended || place_q < reached_q) && (!valid_q || ready_i);
    end else begin
      result = peerlane_pkg::RESULT_SUCCESSFUL;
      size   = '0;
      ended  = 1'b0;
      over   = 1'b0;
      left   = '0;
      last   = 1'b0;
      fetch  = 1'b0;
    end
  end

  assign data_o     = data_q;
  assign bytes_o    = bytes_q;
  assign first_o    = first_q;
  assign last_o     = last_q;
  assign result_o   = result_q;
  assign valid_o    = valid_q;
  assign free_o     = fetch && last;
  assign free_tag_o = oldest;

  always_ff @(posedge clk_i) begin
    // A loop that is not unrolled costs a simulation nothing while there is no write.
    /* verilator unroll_disable */
    if (write_i) for (int k = 0; k < N; k = k + 1) begin
      if (write_lanes_i[k]) memory_q[{write_tag_i, write_place_i}][8*k+:8] <= write_data_i[8*k+:8];
    end
    if (fetch) data_q <= memory_q[{oldest, place_q}];
    if (end_i) ended_as_q[end_tag_i] <= {end_result_i, end_bytes_i};
  end

  always_ff @(posedge clk_i) begin
    if (fetch) begin
      place_q  <= last ? '0 : place_q + 1'b1;
      bytes_q  <= last ? left[BITS:0] : (BITS + 1)'(N);
      first_q  <= place_q == '0;
      last_q   <= last;
      result_q <= ended ? result : peerlane_pkg::RESULT_SUCCESSFUL;
      valid_q  <= 1'b1;
      if (last) ended_q[oldest] <= 1'b0;
    end else if (ready_i) begin
      valid_q <= 1'b0;
    end
    if (write_i && write_ahead_i && is_open && write_tag_i == oldest) reached_q <= write_place_i;
    if (fetch && last) reached_q <= '0;
    if (end_i) ended_q[end_tag_i] <= 1'b1;
    if (rst_i) begin
      place_q   <= '0;
      reached_q <= '0;
      valid_q   <= 1'b0;
      ended_q   <= '0;
    end
  end

  `RULE(!open_valid_i || open_ready_o, "more requests are open than there are slots")
  `RULE(!end_i || !ended_q[end_tag_i], "a request ends twice")

`ifdef FORMAL
  `include "reorder_buffer.svh"
`endif

endmodule
