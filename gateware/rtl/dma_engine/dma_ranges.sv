// The ranges that the units work on, from START on: of a list in the engine's memory or in host memory, or of EP_TX_CMD. Bit or part 0
// of a port is of the write unit, 1 of the read unit, 2 of the peer unit.

module dma_ranges #(
    // Descriptors in the engine's memory for each direction, a power of two, 2 to 4096.
    parameter int DESCRIPTORS = 2048,
    // Bytes of a request for descriptors where lists stay in host memory, a power of two, 16 to 4096; 0 where they are in the engine's.
    parameter int FETCH = 0,
    // Tag of the write unit's requests for descriptors, an even number; the read unit's is the next one.
    parameter int FIRST_TAG = 16,
    // Cycles after which a request without its completions has failed.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock.
    input  logic         clk_i,
    // Synchronous reset: no list is in progress.
    input  logic         rst_i,
    // Requester ID.
    input  logic [15:0]  function_id_i,
    // Max_Read_Request_Size, as in Device Control.
    input  logic [2:0]   max_read_request_i,

    // Offset in BAR 2 of a word to write.
    input  logic [17:3]  write_word_i,
    // The word.
    input  logic [63:0]  write_data_i,
    // Bytes of the word to write.
    input  logic [7:0]   write_lanes_i,
    // There is a word to write.
    input  logic         write_valid_i,
    // Offset in a list of a word to read.
    input  logic [15:3]  read_word_i,
    // The word is read at the next edge.
    input  logic         read_i,
    // The word of each list that was read last.
    output logic [127:0] list_data_o,

    // A transfer of the unit begins.
    input  logic [2:0]   start_i,
    // Address of the list, or of the target.
    input  logic [191:0] address_i,
    // Number of descriptors, or of bytes.
    input  logic [191:0] length_i,
    // A request of the read unit has failed: no further range is wanted.
    input  logic         read_failed_i,
    // First address of the next range.
    output logic [191:0] address_o,
    // Number of bytes of the range, at least 1.
    output logic [95:0]  length_o,
    // There is a range.
    output logic [2:0]   valid_o,
    // The range is taken.
    input  logic [2:0]   ready_i,
    // The transfer has no further range.
    output logic [2:0]   end_o,
    // Why the ranges ended early, three bits of peerlane_pkg::RESULT for each unit.
    output logic [8:0]   result_o,

    // Data of a request for descriptors.
    output logic [127:0] request_data_o,
    // Bytes in the beat.
    output logic [7:0]   request_bytes_o,
    // First beat of a request.
    output logic [1:0]   request_first_o,
    // Last beat of a request.
    output logic [1:0]   request_last_o,
    // There is a beat.
    output logic [1:0]   request_valid_o,
    // The beat is taken.
    input  logic [1:0]   request_ready_i,
    // Data of a completion with one of the two tags.
    input  logic [63:0]  completion_data_i,
    // Bytes in the beat.
    input  logic [3:0]   completion_bytes_i,
    // First beat of a completion.
    input  logic         completion_first_i,
    // Last beat of a completion.
    input  logic         completion_last_i,
    // There is a beat.
    input  logic         completion_valid_i,
    // The beat is taken.
    output logic         completion_ready_o,
    // A completion came that belongs to no request. A pulse.
    output logic         unexpected_o,
    // A completion came that does not fit its request. A pulse.
    output logic         malformed_o,
    // A completion came that belongs to no request, or does not fit it. A pulse.
    output logic         misfit_o,
    // The header of the last one, byte 0 in bits 127:120.
    output logic [127:0] misfit_header_o,
    // A request for descriptors has timed out. A pulse.
    output logic [1:0]   timed_out_o,
    // A request that has left ends. A pulse.
    output logic [1:0]   ended_o
);

  localparam int UNITS = 3;
  localparam int READ = 1;
  localparam int PEER = 2;

  // Ranges of the lists, before the guards.
  logic [191:0]     listed_address;
  logic [95:0]      listed_length;
  logic [UNITS-1:0] listed;
  logic [UNITS-1:0] taken;
  logic [UNITS-1:0] list_end;
  logic [UNITS-1:0] empty;
  logic [UNITS-1:0] failed;
  logic [UNITS-1:0] unwanted;
  logic [UNITS-1:0] stop;
  logic [8:0]       list_result;
  logic             command_q;
  logic             too_long_q;

  for (genvar u = 0; u < UNITS; u = u + 1) begin : gen_guard
    range_guard guard (
        .clk_i,
        .rst_i,
        .start_i  (start_i[u]),
        .stop_i   (unwanted[u]),
        .address_i(listed_address[64*u+:64]),
        .length_i (listed_length[32*u+:32]),
        .valid_i  (listed[u]),
        .ready_o  (taken[u]),
        .address_o(address_o[64*u+:64]),
        .length_o (length_o[32*u+:32]),
        .valid_o  (valid_o[u]),
        .ready_i  (ready_i[u]),
        .empty_o  (empty[u]),
        .failed_o (failed[u])
    );
    assign end_o[u]         = list_end[u] && empty[u];
    assign result_o[3*u+:3] = failed[u] ? peerlane_pkg::RESULT_DESCRIPTOR : list_result[3*u+:3];
  end

  // An error ends the list.
  assign unwanted = UNITS'(read_failed_i ? 1 << READ : 0);
  assign stop     = failed | unwanted;

  // EP_TX_CMD: one range of the two registers.
  assign listed_address[64*PEER+:64] = address_i[64*PEER+:64];
  assign listed_length[32*PEER+:32]  = length_i[64*PEER+:32];
  assign listed[PEER]                = command_q;
  assign list_end[PEER]              = !command_q;
  assign list_result[3*PEER+:3]      = too_long_q ? peerlane_pkg::RESULT_DESCRIPTOR : peerlane_pkg::RESULT_SUCCESSFUL;

  // A range of 4 GiB or more is an error.
  always_ff @(posedge clk_i) begin
    if (start_i[PEER]) command_q <= length_i[64*PEER+32+:32] == '0;
    else if (taken[PEER]) command_q <= 1'b0;
    if (start_i[PEER]) too_long_q <= length_i[64*PEER+32+:32] != '0;
    if (rst_i) begin
      command_q  <= 1'b0;
      too_long_q <= 1'b0;
    end
  end

  generate
    if (FETCH == 0) begin : gen_memory
      for (genvar u = 0; u < 2; u = u + 1) begin : gen_list
        logic too_long;
        dma_list #(
            .DESCRIPTORS(DESCRIPTORS)
        ) list (
            .clk_i,
            .rst_i,
            .write_word_i (write_word_i[15:3]),
            .write_data_i,
            .write_lanes_i,
            .write_valid_i(write_valid_i && write_word_i[17:16] == 2'(u + 1)),
            .read_word_i,
            .read_i,
            .read_data_o  (list_data_o[64*u+:64]),
            .start_i      (start_i[u]),
            .count_i      (length_i[64*u+:64]),
            .stop_i       (stop[u]),
            .address_o    (listed_address[64*u+:64]),
            .length_o     (listed_length[32*u+:32]),
            .valid_o      (listed[u]),
            .ready_i      (taken[u]),
            .end_o        (list_end[u]),
            .failed_o     (too_long)
        );
        assign list_result[3*u+:3] = too_long ? peerlane_pkg::RESULT_MALFORMED : peerlane_pkg::RESULT_SUCCESSFUL;
      end
      assign request_data_o     = '0;
      assign request_bytes_o    = '0;
      assign request_first_o    = '0;
      assign request_last_o     = '0;
      assign request_valid_o    = '0;
      assign completion_ready_o = 1'b1;
      assign unexpected_o       = 1'b0;
      assign malformed_o        = 1'b0;
      assign misfit_o           = 1'b0;
      assign misfit_header_o    = '0;
      assign timed_out_o        = '0;
      assign ended_o            = '0;
      logic unused;
      assign unused = &{
        1'b0, function_id_i, max_read_request_i, address_i[127:0], stop[PEER], request_ready_i,
        completion_data_i, completion_bytes_i, completion_first_i, completion_last_i, completion_valid_i
      };
    end else begin : gen_fetch
      dma_fetch #(
          .FETCH(FETCH),
          .FIRST_TAG(FIRST_TAG),
          .TIMEOUT(TIMEOUT)
      ) fetch (
          .clk_i,
          .rst_i,
          .function_id_i,
          .max_read_request_i,
          .start_i           (start_i[1:0]),
          .stop_i            (stop[1:0]),
          .list_address_i    ({address_i[127:68], address_i[63:4]}),
          .count_i           (length_i[127:0]),
          .address_o         (listed_address[127:0]),
          .length_o          (listed_length[63:0]),
          .range_valid_o     (listed[1:0]),
          .range_ready_i     (taken[1:0]),
          .end_o             (list_end[1:0]),
          .result_o          (list_result[5:0]),
          .data_o            (request_data_o),
          .bytes_o           (request_bytes_o),
          .first_o           (request_first_o),
          .last_o            (request_last_o),
          .valid_o           (request_valid_o),
          .ready_i           (request_ready_i),
          .completion_data_i,
          .completion_bytes_i,
          .completion_first_i,
          .completion_last_i,
          .completion_valid_i,
          .completion_ready_o,
          .unexpected_o,
          .malformed_o,
          .misfit_o,
          .misfit_header_o,
          .timed_out_o,
          .ended_o
      );
      assign list_data_o = '0;
      logic unused;
      assign unused = &{
        1'b0, write_word_i, write_data_i, write_lanes_i, write_valid_i, read_word_i, read_i,
        address_i[67:64], address_i[3:0], stop[PEER]
      };
    end
  endgenerate

endmodule
