// The three units: host writes, host reads and peer writes. Bit or part 0 of a port is of the write unit, 1 of the read unit, 2 of the
// peer unit.

module dma_units #(
    // Most outstanding reads, a power of two, 2 to 64.
    parameter int TAGS = 16,
    // Whether the tags 30 and 31 are those of other requests.
    parameter int SHARED = 0,
    // Bytes of the largest read request, a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 4096,
    // Bytes of the FIFO that takes what is read.
    parameter int FIFO_BYTES = 4096,
    // Cycles after which a read without its completions has failed.
    parameter int TIMEOUT = 2_500_000,
    // Cycles between the last beat of a descriptor's packets and the first beat of the next one's; 0 for none.
    parameter int DESCRIPTOR_CYCLES = 0
) (
    // Clock.
    input  logic         clk_i,
    // Synchronous reset: no transfer is in progress.
    input  logic         rst_i,
    // Requester ID.
    input  logic [15:0]  function_id_i,
    // Max_Payload_Size in bytes.
    input  logic [12:0]  mps_i,
    // Max_Read_Request_Size, as in Device Control.
    input  logic [2:0]   max_read_request_i,
    // Extended Tag Field Enable.
    input  logic         ext_tag_i,

    // A transfer of the unit begins.
    input  logic [2:0]   start_i,
    // Largest payload of a packet as the register has it; 0 for MPS.
    input  logic [95:0]  payload_i,
    // Label of the packets.
    input  logic [95:0]  label_i,
    // Traffic class.
    input  logic [8:0]   traffic_class_i,
    // First address of the next range.
    input  logic [191:0] address_i,
    // Number of bytes of the range, at least 1.
    input  logic [95:0]  length_i,
    // There is a range.
    input  logic [2:0]   range_valid_i,
    // The range is taken.
    output logic [2:0]   range_ready_o,
    // No further range comes in this transfer.
    input  logic [2:0]   range_end_i,

    // The next bytes to send to the host in bits 63:0, to peers in bits 127:64.
    input  logic [127:0] source_data_i,
    // Number of bytes that are available, for the host in bits 12:0, for peers in bits 25:13.
    input  logic [25:0]  source_level_i,
    // Number of bytes to remove at the next edge, for the host in bits 3:0, for peers in bits 7:4.
    output logic [7:0]   source_pop_o,
    // Data that was read, in order, from lane 0 on.
    output logic [63:0]  read_data_o,
    // Number of bytes.
    output logic [3:0]   read_bytes_o,
    // There is data.
    output logic         read_valid_o,
    // The data is taken.
    input  logic         read_ready_i,
    // Bytes in the FIFO that takes the data.
    input  logic [12:0]  read_level_i,

    // Data of a packet.
    output logic [191:0] data_o,
    // Bytes in the beat.
    output logic [11:0]  bytes_o,
    // First beat of a packet.
    output logic [2:0]   first_o,
    // Last beat of a packet.
    output logic [2:0]   last_o,
    // There is a beat.
    output logic [2:0]   valid_o,
    // Label of the packet.
    output logic [47:0]  label_o,
    // The beat is taken.
    input  logic [2:0]   ready_i,
    // A beat that was taken has not left the engine.
    input  logic [2:0]   leaving_i,

    // Data of a completion.
    input  logic [63:0]  completion_data_i,
    // Bytes in the beat.
    input  logic [3:0]   completion_bytes_i,
    // First beat of a completion.
    input  logic         completion_first_i,
    // Last beat of a completion.
    input  logic         completion_last_i,
    // There is a beat of a completion.
    input  logic         completion_valid_i,
    // The beat is taken.
    output logic         completion_ready_o,

    // The unit is working.
    output logic [2:0]   busy_o,
    // The transfer of the unit ends. A pulse.
    output logic [2:0]   done_o,
    // Duration of the transfer that ends.
    output logic [95:0]  timer_o,
    // A request of the read unit's transfer has failed.
    output logic         failed_o,
    // Result of the request that failed first, of peerlane_pkg::RESULT.
    output logic [2:0]   result_o,
    // A completion came that belongs to no request. A pulse.
    output logic         unexpected_o,
    // A completion came that does not fit its request. A pulse.
    output logic         malformed_o,
    // A completion came that belongs to no request, or does not fit it. A pulse.
    output logic         misfit_o,
    // The header of the last one, byte 0 in bits 127:120.
    output logic [127:0] misfit_header_o,
    // A request has timed out. A pulse.
    output logic         timed_out_o,
    // Its tag.
    output logic [7:0]   timed_out_tag_o,
    // A request may time out now; if not, it does later.
    input  logic         timed_out_ready_i,
    // A read that has left ends. A pulse.
    output logic         ended_o,
    // A request waits for a tag.
    output logic         tags_o,
    // A request waits for space for its data.
    output logic         outstanding_o
);

  localparam int UNITS = 3;
  localparam int READ = 1;

  logic [47:0] labels_q;
  logic [95:0] payloads_q;
  logic [8:0]  classes_q;

  // The pace of the units with lists; a peer write has one range.
  logic [UNITS-1:0] taken;
  logic [UNITS-1:0] paced;
  logic [UNITS-1:0] holds;

  for (genvar u = 0; u < UNITS; u = u + 1) begin : gen_pace
    range_pacer #(
        .CYCLES(u < 2 ? DESCRIPTOR_CYCLES : 0)
    ) pacer (
        .clk_i,
        .rst_i,
        .start_i(start_i[u]),
        .holds_i(holds[u] || leaving_i[u]),
        .valid_i(range_valid_i[u]),
        .ready_o(range_ready_o[u]),
        .valid_o(paced[u]),
        .ready_i(taken[u])
    );
  end

  for (genvar d = 0; d < 2; d = d + 1) begin : gen_sender
    localparam int U = 2 * d;
    logic [12:0] largest;

    // At most MPS, in whole dwords.
    always_comb begin
      largest = mps_i;
      if (payloads_q[32*U+2+:30] != '0 && payloads_q[32*U+2+:30] < {19'b0, mps_i[12:2]}) largest = {payloads_q[32*U+2+:11], 2'b0};
    end

    dma_sender sender (
        .clk_i,
        .rst_i,
        .function_id_i,
        .payload_i      (largest),
        .traffic_class_i(classes_q[3*U+:3]),
        .start_i        (start_i[U]),
        .address_i      (address_i[64*U+:64]),
        .length_i       (length_i[32*U+:32]),
        .range_valid_i  (paced[U]),
        .range_ready_o  (taken[U]),
        .range_end_i    (range_end_i[U]),
        .data_i         (source_data_i[64*d+:64]),
        .level_i        (source_level_i[13*d+:13]),
        .pop_o          (source_pop_o[4*d+:4]),
        .data_o         (data_o[64*U+:64]),
        .bytes_o        (bytes_o[4*U+:4]),
        .first_o        (first_o[U]),
        .last_o         (last_o[U]),
        .valid_o        (valid_o[U]),
        .ready_i        (ready_i[U]),
        .leaving_i      (leaving_i[U]),
        .busy_o         (busy_o[U]),
        .holds_o        (holds[U]),
        .done_o         (done_o[U]),
        .timer_o        (timer_o[32*U+:32])
    );
  end

  dma_reader #(
      .TAGS(TAGS),
      .SHARED(SHARED),
      .SLOT_BYTES(SLOT_BYTES),
      .FIFO_BYTES(FIFO_BYTES),
      .TIMEOUT(TIMEOUT)
  ) reader (
      .clk_i,
      .rst_i,
      .function_id_i,
      .max_read_request_i,
      .ext_tag_i,
      .traffic_class_i   (classes_q[3*READ+:3]),
      .start_i           (start_i[READ]),
      .address_i         (address_i[64*READ+:64]),
      .length_i          (length_i[32*READ+:32]),
      .range_valid_i     (paced[READ]),
      .range_ready_o     (taken[READ]),
      .range_end_i       (range_end_i[READ]),
      .level_i           (read_level_i),
      .data_o            (data_o[64*READ+:64]),
      .bytes_o           (bytes_o[4*READ+:4]),
      .first_o           (first_o[READ]),
      .last_o            (last_o[READ]),
      .valid_o           (valid_o[READ]),
      .ready_i           (ready_i[READ]),
      .completion_data_i,
      .completion_bytes_i,
      .completion_first_i,
      .completion_last_i,
      .completion_valid_i,
      .completion_ready_o,
      .read_data_o,
      .read_bytes_o,
      .read_valid_o,
      .read_ready_i,
      .busy_o            (busy_o[READ]),
      .holds_o           (holds[READ]),
      .done_o            (done_o[READ]),
      .failed_o,
      .result_o,
      .timer_o           (timer_o[32*READ+:32]),
      .unexpected_o,
      .malformed_o,
      .misfit_o,
      .misfit_header_o,
      .timed_out_o,
      .timed_out_tag_o,
      .timed_out_ready_i,
      .ended_o,
      .tags_o,
      .outstanding_o
  );

  // START, PAYLOAD and CLASS hold for the whole transfer, whatever is written to them meanwhile.
  assign label_o = labels_q;
  always_ff @(posedge clk_i) begin
    for (int u = 0; u < UNITS; u = u + 1) if (start_i[u]) begin
      labels_q[16*u+:16]   <= label_i[32*u+:16];
      payloads_q[32*u+:32] <= payload_i[32*u+:32];
      classes_q[3*u+:3]    <= traffic_class_i[3*u+:3];
    end
  end

  logic unused;
  assign unused = &{1'b0, payloads_q, label_i};

endmodule
