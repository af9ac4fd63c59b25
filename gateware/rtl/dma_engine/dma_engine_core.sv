// The scatter/gather DMA engine of the system rosta: registers, three units, and a user circuit in a second clock domain.

`include "require.svh"

module dma_engine_core #(
    // User circuit: 0 source and sink that never stall, 1 loopback, 2 interconnect matrix, 3 reflector.
    parameter int USER = 0,
    // Descriptors in the engine's memory for each direction, a power of two, 2 to 4096.
    parameter int DESCRIPTORS = 2048,
    // Bytes of a request for descriptors where lists stay in host memory, a power of two, 16 to 4096; 0 where they are in the engine's.
    parameter int FETCH = 0,
    // Bytes of each of the four FIFOs, a power of two, 16 to 4096.
    parameter int FIFO_BYTES = 4096,
    // Most outstanding reads of data, a power of two, 2 to 64; the tags TAGS and TAGS + 1 are those of requests for descriptors.
    parameter int TAGS = 16,
    // Bytes of the largest read request, a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 4096,
    // Cycles after which a read without its completions has failed: 10 ms at 250 MHz.
    parameter int TIMEOUT = 2_500_000
) (
    // Clock of all ports.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // Clock of the user circuit.
    input  logic        user_clk_i,
    // Reset of the user circuit, synchronous to its clock; both resets must be active together for three cycles of the slower clock.
    input  logic        user_rst_i,

    // Bus, device and function number.
    input  logic [15:0] function_id_i,
    // Max_Payload_Size as in Device Control.
    input  logic [2:0]  max_payload_i,
    // Max_Read_Request_Size as in Device Control.
    input  logic [2:0]  max_read_request_i,
    // Bus Master Enable.
    input  logic        bus_master_i,

    // A beat of a received TLP is there.
    input  logic        rx_valid_i,
    // The circuit takes the beat.
    output logic        rx_ready_o,
    // The beat; byte k of the TLP is at bits 8k and up.
    input  logic [63:0] rx_data_i,
    // The beat is the first of its TLP.
    input  logic        rx_first_i,
    // The beat is the last of its TLP.
    input  logic        rx_last_i,
    // Number of bytes of the TLP in the beat.
    input  logic [3:0]  rx_bytes_i,
    // Label of the TLP for measurements.
    input  logic [15:0] rx_label_i,
    // The BAR that a memory request hits, with its first beat.
    input  logic [2:0]  rx_bar_i,

    // A beat of a TLP is to be sent.
    output logic        tx_valid_o,
    // The port takes the beat.
    input  logic        tx_ready_i,
    // The beat.
    output logic [63:0] tx_data_o,
    // The beat is the first of its TLP.
    output logic        tx_first_o,
    // The beat is the last of its TLP.
    output logic        tx_last_o,
    // Number of bytes of the TLP in the beat.
    output logic [3:0]  tx_bytes_o,
    // Label of the TLP for measurements, in the cycle in which the port takes a beat.
    output logic [15:0] tx_label_o,

    // An interrupt is requested.
    output logic        irq_valid_o,
    // The port takes the request.
    input  logic        irq_ready_i,
    // The vector of the interrupt.
    output logic [10:0] irq_vector_o,

    // The circuit needs its clock although no beat arrives.
    output logic        active_o
);

  localparam int SOURCE_SINK = 0;
  localparam int LOOPBACK = 1;
  localparam int REFLECTOR = 3;
  // Source and sink, and the reflector, never let a unit wait for data or space.
  localparam bit NEVER_STALLS = USER == SOURCE_SINK || USER == REFLECTOR;
  localparam int UNITS = 3;
  localparam int WRITE = 0;
  localparam int READ = 1;
  localparam int PEER = 2;
  localparam logic [12:0] FULL = 13'(peerlane_pkg::MOST_PAYLOAD);

  `REQUIRE(gen_user, USER >= 0 && USER <= 3, "dma_engine: USER is the user circuit; it must be 0 (source and sink), 1 (loopback), 2 (matrix) or 3 (reflector)")
  `REQUIRE(gen_fifo, FIFO_BYTES == 4096, "dma_engine: FIFO_BYTES is the size of a FIFO; it must be 4096, the largest payload")

  // From the receiver.
  logic [63:0]  completion_data;
  logic [3:0]   completion_bytes;
  logic         completion_first;
  logic         completion_last;
  logic [7:0]   completion_tag;
  logic         completion_valid;
  logic         completion_ready;
  logic [17:3]  write_word;
  logic [63:0]  write_data;
  logic [7:0]   write_lanes;
  logic         write_valid;
  logic         write_last;
  logic [127:0] request_header;
  logic         request_good;
  logic         request_valid;
  logic         request_ready;
  logic [63:0]  peer_data;
  logic [3:0]   peer_bytes;
  logic         peer_last;
  logic         peer_valid;
  logic         peer_ready;
  logic [12:0]  peer_size;
  logic         receiving;
  logic         poisoned;
  logic         unsupported;

  dma_receive receive (
      .clk_i,
      .rst_i,
      .data_i            (rx_data_i),
      .first_i           (rx_first_i),
      .last_i            (rx_last_i),
      .bytes_i           (rx_bytes_i),
      .bar_i             (rx_bar_i),
      .valid_i           (rx_valid_i),
      .ready_o           (rx_ready_o),
      .completion_data_o (completion_data),
      .completion_bytes_o(completion_bytes),
      .completion_first_o(completion_first),
      .completion_last_o (completion_last),
      .completion_tag_o  (completion_tag),
      .completion_valid_o(completion_valid),
      .completion_ready_i(completion_ready),
      .write_word_o      (write_word),
      .write_data_o      (write_data),
      .write_lanes_o     (write_lanes),
      .write_valid_o     (write_valid),
      .write_last_o      (write_last),
      .request_header_o  (request_header),
      .request_good_o    (request_good),
      .request_valid_o   (request_valid),
      .request_ready_i   (request_ready),
      .peer_data_o       (peer_data),
      .peer_bytes_o      (peer_bytes),
      .peer_last_o       (peer_last),
      .peer_valid_o      (peer_valid),
      .peer_ready_i      (peer_ready),
      .peer_size_o       (peer_size),
      .poisoned_o        (poisoned),
      .unsupported_o     (unsupported),
      .busy_o            (receiving)
  );

  // Registers of the units, and the two of the user circuit.
  logic [17:3]         read_word;
  logic                reads;
  logic [63:0]         read_data;
  logic [63:0]         register_data;
  logic [UNITS-1:0]    starts;
  logic [UNITS-1:0]    busy;
  logic [UNITS-1:0]    done;
  logic [3*UNITS-1:0]  results;
  logic [32*UNITS-1:0] timers;
  logic [64*UNITS-1:0] addresses;
  logic [64*UNITS-1:0] lengths;
  logic [32*UNITS-1:0] payloads;
  logic [32*UNITS-1:0] labels;
  logic [3*UNITS-1:0]  classes;
  logic [64*UNITS-1:0] patterns;
  logic                crossed;
  logic [63:0]         reply;
  logic [1:0][63:0]    list_data;
  logic [17:16]        from_q;
  logic [63:0]         count;

  dma_registers registers (
      .clk_i,
      .rst_i,
      .write_word_i   (write_word),
      .write_data_i   (write_data),
      .write_lanes_i  (write_lanes),
      .write_valid_i  (write_valid),
      .write_last_i   (write_last),
      .read_word_i    (read_word[15:3]),
      .count_i        (count),
      .read_i         (reads),
      .read_data_o    (register_data),
      .busy_i         (busy),
      .done_i         (done),
      .result_i       (results),
      .timer_i        (timers),
      .start_o        (starts),
      .address_o      (addresses),
      .length_o       (lengths),
      .payload_o      (payloads),
      .label_o        (labels),
      .traffic_class_o(classes),
      .pattern_o      (patterns),
      .crossed_o      (crossed),
      .reply_o        (reply)
  );

  always_ff @(posedge clk_i) if (reads) from_q <= read_word[17:16];

  always_comb begin
    read_data = '0;
    if (from_q == 2'd0) read_data = register_data;
    if (from_q == peerlane_pkg::DMA_WRITE_LIST[17:16]) read_data = list_data[WRITE];
    if (from_q == peerlane_pkg::DMA_READ_LIST[17:16]) read_data = list_data[READ];
  end

  // The streams to the link: completions first, the others in turn.
  localparam int PORTS = 7;
  localparam int COMPLETIONS = 0;
  localparam int READS = 1;
  localparam int REFLECTIONS = 2;
  localparam int WRITES = 3;
  localparam int PEERS = 4;
  localparam int FETCHES = 5;
  logic [PORTS*64-1:0] port_data;
  logic [PORTS*4-1:0]  port_bytes;
  logic [PORTS-1:0]    port_first;
  logic [PORTS-1:0]    port_last;
  logic [PORTS-1:0]    port_valid;
  logic [PORTS-1:0]    port_ready;
  logic [PORTS*16-1:0] port_label;

  dma_transmit #(
      .PORTS(PORTS)
  ) transmit (
      .clk_i,
      .rst_i,
      .bus_master_i,
      .data_i (port_data),
      .bytes_i(port_bytes),
      .first_i(port_first),
      .last_i (port_last),
      .valid_i(port_valid),
      .label_i(port_label),
      .ready_o(port_ready),
      .data_o (tx_data_o),
      .bytes_o(tx_bytes_o),
      .first_o(tx_first_o),
      .last_o (tx_last_o),
      .valid_o(tx_valid_o),
      .label_o(tx_label_o),
      .ready_i(tx_ready_i)
  );

  // The ranges of the units: of a list in the engine's memory or in host memory, or of EP_TX_CMD, from START on.
  logic [UNITS-1:0][63:0] range_address;
  logic [UNITS-1:0][31:0] range_length;
  logic [UNITS-1:0] offered;
  logic [UNITS-1:0] range_valid;
  logic [UNITS-1:0] range_ready;
  logic [UNITS-1:0] range_end;
  logic [UNITS-1:0] range_failed;
  logic [UNITS-1:0] stop;
  logic [1:0][2:0]  list_result;
  logic             read_failed;
  logic             command_q;

  for (genvar u = 0; u < UNITS; u = u + 1) begin : gen_guard
    range_guard guard (
        .clk_i,
        .rst_i,
        .start_i  (starts[u]),
        .address_i(range_address[u]),
        .length_i (range_length[u]),
        .valid_i  (offered[u]),
        .valid_o  (range_valid[u]),
        .failed_o (range_failed[u])
    );
  end

  // An error ends the list.
  assign stop = range_failed | UNITS'(read_failed ? 1 << READ : 0);

  assign range_address[PEER] = addresses[64*PEER+:64];
  assign range_length[PEER]  = lengths[64*PEER+:32];
  assign offered[PEER]       = command_q;
  assign range_end[PEER]     = !command_q;

  always_ff @(posedge clk_i) begin
    if (starts[PEER]) command_q <= lengths[64*PEER+:32] != '0;
    else if (range_ready[PEER] || stop[PEER]) command_q <= 1'b0;
    if (rst_i) command_q <= 1'b0;
  end

  // Completions with the tags of fetches go to the lists, the others to the read unit.
  logic data_ready;
  logic to_fetch;
  logic to_fetch_q;
  logic fetch_ready;
  logic fetch_unexpected;
  logic fetch_malformed;
  logic fetch_timed_out;
  assign to_fetch         = FETCH != 0 && (completion_first ? completion_tag[7:1] == 7'(TAGS / 2) : to_fetch_q);
  assign completion_ready = to_fetch ? fetch_ready : data_ready;
  always_ff @(posedge clk_i) if (completion_valid && completion_ready) to_fetch_q <= to_fetch;

  generate
    if (FETCH == 0) begin : gen_memory
      for (genvar u = 0; u < 2; u = u + 1) begin : gen_list
        logic too_long;
        dma_list #(
            .DESCRIPTORS(DESCRIPTORS)
        ) list (
            .clk_i,
            .rst_i,
            .write_word_i (write_word[15:3]),
            .write_data_i (write_data),
            .write_lanes_i(write_lanes),
            .write_valid_i(write_valid && write_word[17:16] == 2'(u + 1)),
            .read_word_i  (read_word[15:3]),
            .read_i       (reads),
            .read_data_o  (list_data[u]),
            .start_i      (starts[u]),
            .count_i      (lengths[64*u+:64]),
            .stop_i       (stop[u]),
            .address_o    (range_address[u]),
            .length_o     (range_length[u]),
            .valid_o      (offered[u]),
            .ready_i      (range_ready[u]),
            .end_o        (range_end[u]),
            .failed_o     (too_long)
        );
        assign list_result[u] = too_long ? peerlane_pkg::RESULT_MALFORMED : peerlane_pkg::RESULT_SUCCESSFUL;
        assign port_data[64*(FETCHES+u)+:64] = '0;
        assign port_bytes[4*(FETCHES+u)+:4]  = '0;
        assign port_first[FETCHES+u]         = 1'b0;
        assign port_last[FETCHES+u]          = 1'b0;
        assign port_valid[FETCHES+u]         = 1'b0;
      end
      assign fetch_ready      = 1'b1;
      assign fetch_unexpected = 1'b0;
      assign fetch_malformed  = 1'b0;
      assign fetch_timed_out  = 1'b0;
      logic unused_fetch;
      assign unused_fetch = &{1'b0, addresses[127:0], completion_tag, port_ready[FETCHES+:2]};
    end else begin : gen_fetch
      dma_fetch #(
          .FETCH(FETCH),
          .FIRST_TAG(TAGS),
          .TIMEOUT(TIMEOUT)
      ) fetch (
          .clk_i,
          .rst_i,
          .function_id_i,
          .max_read_request_i,
          .start_i           (starts[1:0]),
          .stop_i            (stop[1:0]),
          .list_address_i    ({addresses[127:68], addresses[63:4]}),
          .count_i           (lengths[127:0]),
          .address_o         (range_address[1:0]),
          .length_o          (range_length[1:0]),
          .range_valid_o     (offered[1:0]),
          .range_ready_i     (range_ready[1:0]),
          .end_o             (range_end[1:0]),
          .result_o          (list_result),
          .data_o            (port_data[64*FETCHES+:128]),
          .bytes_o           (port_bytes[4*FETCHES+:8]),
          .first_o           (port_first[FETCHES+:2]),
          .last_o            (port_last[FETCHES+:2]),
          .valid_o           (port_valid[FETCHES+:2]),
          .ready_i           (port_ready[FETCHES+:2]),
          .completion_data_i (completion_data),
          .completion_bytes_i(completion_bytes),
          .completion_first_i(completion_first),
          .completion_last_i (completion_last),
          .completion_valid_i(completion_valid && to_fetch),
          .completion_ready_o(fetch_ready),
          .unexpected_o      (fetch_unexpected),
          .malformed_o       (fetch_malformed),
          .timed_out_o       (fetch_timed_out)
      );
      assign list_data = '0;
      logic unused_memory;
      assign unused_memory = &{1'b0, completion_tag[0], write_word[17:16], addresses[67:64], addresses[3:0]};
    end
  endgenerate
  assign port_label[16*FETCHES+:32] = '0;

  // The largest payload of a sending unit: as the register says, at most MPS.
  logic [12:0] mps;
  logic [UNITS-1:0][12:0] largest;
  assign mps = 13'(peerlane_pkg::LEAST_PAYLOAD) << (max_payload_i > 3'd5 ? 3'd5 : max_payload_i);
  always_comb begin
    for (int u = 0; u < UNITS; u = u + 1) begin
      largest[u] = mps;
      if (payloads[32*u+2+:30] != '0 && payloads[32*u+2+:30] < {19'b0, mps[12:2]}) largest[u] = {payloads[32*u+2+:11], 2'b0};
    end
  end

  logic completing;
  dma_completer completer (
      .clk_i,
      .rst_i,
      .function_id_i,
      .max_payload_i,
      .request_header_i(request_header),
      .request_good_i  (request_good),
      .request_valid_i (request_valid),
      .request_ready_o (request_ready),
      .word_o          (read_word),
      .read_o          (reads),
      .word_data_i     (read_data),
      .data_o          (port_data[64*COMPLETIONS+:64]),
      .bytes_o         (port_bytes[4*COMPLETIONS+:4]),
      .first_o         (port_first[COMPLETIONS]),
      .last_o          (port_last[COMPLETIONS]),
      .valid_o         (port_valid[COMPLETIONS]),
      .ready_i         (port_ready[COMPLETIONS]),
      .busy_o          (completing)
  );
  assign port_label[16*COMPLETIONS+:16] = '0;

  // The data of the sending units, and their labels.
  logic [UNITS-1:0][15:0] labels_q;
  logic [UNITS-1:0][63:0] source_data;
  logic [UNITS-1:0][12:0] source_level;
  logic [UNITS-1:0][3:0] source_pop;
  logic [12:0] rx_level;
  logic [63:0] rx_data;
  logic [3:0]  rx_bytes;
  logic        rx_valid;
  logic        rx_ready;

  dma_sender writer (
      .clk_i,
      .rst_i,
      .function_id_i,
      .payload_i      (largest[WRITE]),
      .traffic_class_i(classes[3*WRITE+:3]),
      .start_i        (starts[WRITE]),
      .address_i      (range_address[WRITE]),
      .length_i       (range_length[WRITE]),
      .range_valid_i  (range_valid[WRITE]),
      .range_ready_o  (range_ready[WRITE]),
      .range_end_i    (range_end[WRITE]),
      .data_i         (source_data[WRITE]),
      .level_i        (source_level[WRITE]),
      .pop_o          (source_pop[WRITE]),
      .data_o         (port_data[64*WRITES+:64]),
      .bytes_o        (port_bytes[4*WRITES+:4]),
      .first_o        (port_first[WRITES]),
      .last_o         (port_last[WRITES]),
      .valid_o        (port_valid[WRITES]),
      .ready_i        (port_ready[WRITES]),
      .busy_o         (busy[WRITE]),
      .done_o         (done[WRITE]),
      .timer_o        (timers[32*WRITE+:32])
  );
  assign results[3*WRITE+:3] = range_failed[WRITE] ? peerlane_pkg::RESULT_DESCRIPTOR : list_result[WRITE];
  assign port_label[16*WRITES+:16] = labels_q[WRITE];

  dma_sender peer (
      .clk_i,
      .rst_i,
      .function_id_i,
      .payload_i      (largest[PEER]),
      .traffic_class_i(classes[3*PEER+:3]),
      .start_i        (starts[PEER]),
      .address_i      (range_address[PEER]),
      .length_i       (range_length[PEER]),
      .range_valid_i  (range_valid[PEER]),
      .range_ready_o  (range_ready[PEER]),
      .range_end_i    (range_end[PEER]),
      .data_i         (source_data[PEER]),
      .level_i        (source_level[PEER]),
      .pop_o          (source_pop[PEER]),
      .data_o         (port_data[64*PEERS+:64]),
      .bytes_o        (port_bytes[4*PEERS+:4]),
      .first_o        (port_first[PEERS]),
      .last_o         (port_last[PEERS]),
      .valid_o        (port_valid[PEERS]),
      .ready_i        (port_ready[PEERS]),
      .busy_o         (busy[PEER]),
      .done_o         (done[PEER]),
      .timer_o        (timers[32*PEER+:32])
  );
  assign results[3*PEER+:3] = range_failed[PEER] ? peerlane_pkg::RESULT_DESCRIPTOR : peerlane_pkg::RESULT_SUCCESSFUL;
  assign port_label[16*PEERS+:16] = labels_q[PEER];

  // A label holds for its whole transfer, whatever is written to START meanwhile.
  always_ff @(posedge clk_i) begin
    for (int u = 0; u < UNITS; u = u + 1) if (starts[u]) labels_q[u] <= labels[32*u+:16];
  end

  logic [2:0] read_result;
  logic       data_unexpected;
  logic       data_malformed;
  logic       data_timed_out;
  logic       waits_tags;
  logic       waits_space;
  dma_reader #(
      .TAGS(TAGS),
      .SLOT_BYTES(SLOT_BYTES),
      .FIFO_BYTES(FIFO_BYTES),
      .TIMEOUT(TIMEOUT)
  ) reader (
      .clk_i,
      .rst_i,
      .function_id_i,
      .max_read_request_i,
      .traffic_class_i   (classes[3*READ+:3]),
      .start_i           (starts[READ]),
      .address_i         (range_address[READ]),
      .length_i          (range_length[READ]),
      .range_valid_i     (range_valid[READ]),
      .range_ready_o     (range_ready[READ]),
      .range_end_i       (range_end[READ]),
      .level_i           (rx_level),
      .data_o            (port_data[64*READS+:64]),
      .bytes_o           (port_bytes[4*READS+:4]),
      .first_o           (port_first[READS]),
      .last_o            (port_last[READS]),
      .valid_o           (port_valid[READS]),
      .ready_i           (port_ready[READS]),
      .completion_data_i (completion_data),
      .completion_bytes_i(completion_bytes),
      .completion_first_i(completion_first),
      .completion_last_i (completion_last),
      .completion_valid_i(completion_valid && !to_fetch),
      .completion_ready_o(data_ready),
      .read_data_o       (rx_data),
      .read_bytes_o      (rx_bytes),
      .read_valid_o      (rx_valid),
      .read_ready_i      (rx_ready),
      .busy_o            (busy[READ]),
      .done_o            (done[READ]),
      .failed_o          (read_failed),
      .result_o          (read_result),
      .timer_o           (timers[32*READ+:32]),
      .unexpected_o      (data_unexpected),
      .malformed_o       (data_malformed),
      .timed_out_o       (data_timed_out),
      .tags_o            (waits_tags),
      .outstanding_o     (waits_space)
  );
  assign results[3*READ+:3] = read_failed ? read_result : range_failed[READ] ? peerlane_pkg::RESULT_DESCRIPTOR : list_result[READ];
  assign port_label[16*READS+:16] = labels_q[READ];
  assign source_data[READ]  = '0;
  assign source_level[READ] = '0;
  assign source_pop[READ]   = '0;

  // The user circuit: it takes RX and EP_RX, and gives TX and EP_TX.
  logic moves_user;
  logic reflecting;
  generate
    if (NEVER_STALLS) begin : gen_source
      for (genvar u = 0; u < UNITS; u = u + 2) begin : gen_unit
        pattern_source source (
            .clk_i,
            .start_i(patterns[64*u+:64]),
            .load_i (starts[u]),
            .data_o (source_data[u]),
            .pop_i  (source_pop[u])
        );
        assign source_level[u] = FULL;
      end
      assign rx_level   = '0;
      assign rx_ready   = 1'b1;
      assign moves_user = 1'b0;
      logic unused_sink;
      assign unused_sink = &{1'b0, rx_data, rx_bytes, rx_valid, patterns[64*READ+:64], user_clk_i, user_rst_i, crossed};
    end else begin : gen_streams
      user_streams #(
          .LOOPBACK(USER == LOOPBACK ? 1 : 0),
          .FIFO_BYTES(FIFO_BYTES)
      ) streams (
          .clk_i,
          .rst_i,
          .user_clk_i,
          .user_rst_i,
          .crossed_i (crossed),
          .data_i    ({peer_data, rx_data}),
          .bytes_i   ({peer_bytes, rx_bytes}),
          .valid_i   ({peer_valid, rx_valid}),
          .ready_o   ({peer_ready, rx_ready}),
          .rx_level_o(rx_level),
          .data_o    ({source_data[PEER], source_data[WRITE]}),
          .level_o   ({source_level[PEER], source_level[WRITE]}),
          .pop_i     ({source_pop[PEER], source_pop[WRITE]}),
          .moves_o   (moves_user)
      );
      logic unused_streams;
      assign unused_streams = &{1'b0, patterns};
    end

    if (USER == REFLECTOR) begin : gen_reflector
      logic [15:0] rx_label_q;
      always_ff @(posedge clk_i) if (rx_valid_i && rx_ready_o && rx_first_i) rx_label_q <= rx_label_i;
      dma_reflector #(
          .FIFO_BYTES(FIFO_BYTES)
      ) reflector (
          .clk_i,
          .rst_i,
          .function_id_i,
          .payload_i   (mps),
          .reply_i     (reply),
          .peer_data_i (peer_data),
          .peer_bytes_i(peer_bytes),
          .peer_last_i (peer_last),
          .peer_size_i (peer_size),
          .peer_label_i(rx_label_q),
          .peer_valid_i(peer_valid),
          .peer_ready_o(peer_ready),
          .data_o      (port_data[64*REFLECTIONS+:64]),
          .bytes_o     (port_bytes[4*REFLECTIONS+:4]),
          .first_o     (port_first[REFLECTIONS]),
          .last_o      (port_last[REFLECTIONS]),
          .valid_o     (port_valid[REFLECTIONS]),
          .label_o     (port_label[16*REFLECTIONS+:16]),
          .ready_i     (port_ready[REFLECTIONS]),
          .busy_o      (reflecting)
      );
    end else begin : gen_no_reflector
      assign port_data[64*REFLECTIONS+:64]  = '0;
      assign port_bytes[4*REFLECTIONS+:4]   = '0;
      assign port_first[REFLECTIONS]        = 1'b0;
      assign port_last[REFLECTIONS]         = 1'b0;
      assign port_valid[REFLECTIONS]        = 1'b0;
      assign port_label[16*REFLECTIONS+:16] = '0;
      assign reflecting = 1'b0;
      logic unused_reflector;
      assign unused_reflector = &{1'b0, peer_last, peer_size, reply, rx_label_i, port_ready[REFLECTIONS]};
    end
    if (USER == SOURCE_SINK) begin : gen_sink
      assign peer_ready = 1'b1;
      logic unused_sink;
      assign unused_sink = &{1'b0, peer_data, peer_bytes, peer_valid};
    end
  endgenerate

  dma_counters counters (
      .clk_i,
      .rst_i,
      .tx_valid_i(tx_valid_o),
      .tx_ready_i,
      .tx_first_i(tx_first_o),
      .tx_data_i (tx_data_o[31:0]),
      .rx_move_i (rx_valid_i && rx_ready_o),
      .rx_first_i,
      .rx_data_i (rx_data_i[31:0]),
      .events_i  ({
        data_timed_out || fetch_timed_out,
        data_unexpected || fetch_unexpected,
        poisoned,
        data_malformed || fetch_malformed,
        unsupported,
        waits_space,
        waits_tags
      }),
      .number_i  (read_word[6:3]),
      .count_o   (count)
  );

  logic interrupting;
  dma_interrupts interrupts (
      .clk_i,
      .rst_i,
      .bus_master_i,
      .done_i  (done),
      .valid_o (irq_valid_o),
      .ready_i (irq_ready_i),
      .vector_o(irq_vector_o),
      .busy_o  (interrupting)
  );

  // A register was written in the cycle before: a transfer may begin now.
  logic starting_q;
  always_ff @(posedge clk_i) starting_q <= write_valid && !rst_i;

  // The clock goes on until the user circuit's FIFOs have not moved for some time.
  logic [5:0] still_q;
  always_ff @(posedge clk_i) begin
    if (moves_user) still_q <= '1;
    else if (still_q != '0) still_q <= still_q - 1'b1;
    if (rst_i) still_q <= '0;
  end

  assign active_o = receiving || completing || reflecting || busy != '0 || starts != '0 || starting_q || interrupting || still_q != '0;

  logic unused;
  assign unused = &{1'b0, lengths[64*PEER+32+:32], largest[READ], source_pop[READ], payloads, labels};

endmodule
