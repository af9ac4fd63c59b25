// A list of descriptors in host memory: requests parts of it ahead of the work, and gives its ranges one after the other.
// One request is open at a time; the descriptors of a part count when all of it came without an error.

`include "require.svh"

module fetched_list #(
    // Bytes of a request, a power of two, 16 to 4096.
    parameter int FETCH = 512,
    // Tag of the requests.
    parameter int TAG = 16,
    // Cycles after which a request without its completions has failed.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock.
    input  logic        clk_i,
    // Synchronous reset: no list is in progress.
    input  logic        rst_i,
    // Requester ID.
    input  logic [15:0] function_id_i,
    // Max_Read_Request_Size, as in Device Control.
    input  logic [2:0]  max_read_request_i,
    // A transfer begins; no request of the list before may be open.
    input  logic        start_i,
    // No further range is wanted: what is on the way comes in, and is not used. Stays until a transfer begins.
    input  logic        stop_i,
    // Address of the list.
    input  logic [63:4] list_address_i,
    // Number of its descriptors.
    input  logic [63:0] count_i,

    // First address of the next range.
    output logic [63:0] address_o,
    // Number of bytes of the range.
    output logic [31:0] length_o,
    // There is a range.
    output logic        range_valid_o,
    // The range is taken.
    input  logic        range_ready_i,
    // The list has no further range, and no request is open.
    output logic        end_o,
    // Why the list ended early, of peerlane_pkg::RESULT; RESULT_SUCCESSFUL if it did not.
    output logic [2:0]  result_o,

    // Data of a request.
    output logic [63:0] data_o,
    // Bytes in the beat.
    output logic [3:0]  bytes_o,
    // First beat of a request.
    output logic        first_o,
    // Last beat of a request.
    output logic        last_o,
    // There is a beat.
    output logic        valid_o,
    // The beat is taken.
    input  logic        ready_i,

    // A request is open from now on. A pulse.
    output logic        open_o,
    // Its bytes.
    output logic [12:0] open_bytes_o,
    // Bits 6 to 4 of its address.
    output logic [6:4]  open_low_o,
    // Word of the request that is to be written, from its begin.
    input  logic [8:0]  write_place_i,
    // The word.
    input  logic [63:0] write_data_i,
    // Bytes of the word.
    input  logic [7:0]  write_lanes_i,
    // There is a word.
    input  logic        write_i,
    // Result of the request, of peerlane_pkg::RESULT.
    input  logic [2:0]  end_result_i,
    // The request ends.
    input  logic        end_i,
    // The request has timed out. A pulse.
    output logic        timed_out_o,
    // The request, which has left, ends. A pulse.
    output logic        ended_o
);

  localparam int MOST = FETCH / peerlane_pkg::DMA_DESCRIPTOR;
  localparam int DEPTH = 2 * MOST;
  localparam int BITS = $clog2(DEPTH);
  localparam int IN_PAGE = peerlane_pkg::PAGE / peerlane_pkg::DMA_DESCRIPTOR;

  `REQUIRE(gen_fetch, FETCH >= 16 && FETCH <= 4096 && FETCH == 1 << $clog2(FETCH), "fetched_list: FETCH is the number of bytes of a request for descriptors; it must be a power of two, 16 to 4096")

  // Descriptors that came, in turn.
  logic [63:0]     addresses_q[DEPTH];
  logic [31:0]     lengths_q[DEPTH];
  logic [BITS-1:0] write_q;
  logic [BITS-1:0] read_q;
  logic [BITS:0]   level_q;
  logic [63:0]     address_q;
  logic [31:0]     length_q;
  logic            there_q;
  logic            asks;

  // What is left of the list, and the request that is open.
  logic [63:4]     next_q;
  logic [63:0]     unasked_q;
  // The descriptors of the next request, known a cycle after the request before.
  logic [8:0]      take_q;
  logic            sized_q;
  logic [BITS-1:0] asked_q;
  logic            open_q;
  logic            request_q;
  logic [31:0]     waited_q;
  logic            late_q;
  logic [2:0]      result_q;

  logic [12:0]     mrrs;
  logic [8:0]      largest;
  logic [8:0]      page;
  logic [8:0]      most;
  logic [8:0]      take;
  logic            loads;
  logic            leaves;
  logic            ends;
  logic            comes;
  logic            writes;
  logic [127:0]    header;
  logic            wide;
  logic [BITS-1:0] row;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [10:0]     dwords;
  logic            needs;
  /* verilator lint_on UNUSEDSIGNAL */

  assign mrrs    = 13'(peerlane_pkg::LEAST_PAYLOAD) << (max_read_request_i > 3'd5 ? 3'd5 : max_read_request_i);
  assign largest = mrrs < 13'(FETCH) ? mrrs[12:4] : 9'(MOST);
  assign page    = 9'(IN_PAGE) - {1'b0, next_q[11:4]};
  assign most    = largest < page ? largest : page;
  assign take    = unasked_q < {55'b0, most} ? unasked_q[8:0] : most;
  assign loads   = sized_q && !open_q && 32'(level_q) < {23'b0, largest} && !stop_i && !start_i;

  assign open_o       = loads;
  assign open_bytes_o = {take_q, 4'b0};
  assign open_low_o   = next_q[6:4];
  assign timed_out_o  = open_q && !request_q && !end_i && late_q;
  assign ends         = open_q && !request_q && (end_i || timed_out_o);
  assign ended_o      = ends;
  assign comes        = ends && end_i && end_result_i == peerlane_pkg::RESULT_SUCCESSFUL && !stop_i;

  request_header builder (
      .clk_i,
      .load_i         (loads),
      .write_i        (1'b0),
      .address_i      ({next_q, 4'b0}),
      .bytes_i        ({take_q, 4'b0}),
      .requester_i    (function_id_i),
      .tag_i          (10'(TAG)),
      .traffic_class_i(3'd0),
      .ordering_i     (2'd0),
      .header_o       (header),
      .wide_o         (wide),
      .dwords_o       (dwords)
  );

  tlp_assembler #(
      .W(64)
  ) assembler (
      .clk_i,
      .rst_i,
      .header_i      (header),
      .wide_i        (wide),
      .dwords_i      (11'd0),
      .header_valid_i(request_q),
      .header_ready_o(leaves),
      .data_i        (64'd0),
      .last_i        (1'b0),
      .valid_i       (1'b0),
      .ready_o       (needs),
      .data_o,
      .bytes_o,
      .first_o,
      .last_o,
      .valid_o,
      .ready_i
  );

  assign writes = write_i && open_q;
  assign row    = write_q + BITS'(write_place_i[8:1]);
  assign asks   = level_q != '0 && (!there_q || range_ready_i);

  always_ff @(posedge clk_i) begin
    if (writes) for (int b = 0; b < 8; b = b + 1) begin
      if (write_lanes_i[b] && !write_place_i[0]) addresses_q[row][8*b+:8] <= write_data_i[8*b+:8];
    end
    if (writes) for (int b = 0; b < 4; b = b + 1) begin
      if (write_lanes_i[b] && write_place_i[0]) lengths_q[row][8*b+:8] <= write_data_i[8*b+:8];
    end
    if (asks) begin
      address_q <= addresses_q[read_q];
      length_q  <= lengths_q[read_q];
    end
  end

  assign address_o     = address_q;
  assign length_o      = length_q;
  assign range_valid_o = there_q;
  assign end_o         = !open_q && unasked_q == '0 && level_q == '0 && !there_q;
  assign result_o      = result_q;

  always_ff @(posedge clk_i) begin
    waited_q <= waited_q + 1'b1;
    late_q   <= waited_q >= 32'(TIMEOUT) && !request_q;
    take_q   <= take;
    sized_q  <= unasked_q != '0 && !loads && !(ends && !comes) && !stop_i && !start_i;
    if (loads) begin
      asked_q   <= BITS'(take_q);
      next_q    <= next_q + {51'b0, take_q};
      unasked_q <= unasked_q - {55'b0, take_q};
      open_q    <= 1'b1;
      request_q <= 1'b1;
    end
    if (request_q && leaves) begin
      request_q <= 1'b0;
      waited_q  <= '0;
    end
    if (ends) begin
      open_q <= 1'b0;
      // What came before the error is worked on; what would follow is unknown.
      if (!comes) unasked_q <= '0;
      if (!comes && !stop_i) result_q <= timed_out_o ? peerlane_pkg::RESULT_TIMEOUT : end_result_i;
    end
    if (asks) there_q <= 1'b1;
    else if (range_ready_i) there_q <= 1'b0;
    if (asks) read_q <= read_q + 1'b1;
    if (comes) write_q <= write_q + asked_q;
    level_q <= level_q + (comes ? (BITS + 1)'(asked_q) : '0) - (BITS + 1)'(asks);
    if (stop_i) begin
      unasked_q <= '0;
      level_q   <= '0;
      there_q   <= 1'b0;
    end
    if (start_i) begin
      next_q    <= list_address_i;
      unasked_q <= count_i;
      result_q  <= peerlane_pkg::RESULT_SUCCESSFUL;
      write_q   <= '0;
      read_q    <= '0;
      level_q   <= '0;
      there_q   <= 1'b0;
    end
    if (rst_i) begin
      unasked_q <= '0;
      sized_q   <= 1'b0;
      open_q    <= 1'b0;
      request_q <= 1'b0;
      level_q   <= '0;
      there_q   <= 1'b0;
      result_q  <= peerlane_pkg::RESULT_SUCCESSFUL;
    end
  end

  `RULE(!start_i || !open_q, "a list begins while a request of the list before is open")
  `RULE(level_q <= (BITS + 1)'(DEPTH), "more descriptors wait than there are places")
  `STAYS(offer, 64 + 32, {address_o, length_o}, range_valid_o, range_ready_i, stop_i || start_i)
  `STREAM(requests, 64 + 4, {data_o, bytes_o}, first_o, last_o, valid_o, ready_i)

endmodule
