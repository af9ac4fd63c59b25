// The scatter/gather DMA engine of the system rosta: registers, three units, and a user circuit in a second clock domain.

`include "require.svh"

module dma_engine_core #(
    // User circuit: 0 source and sink that never stall, 1 loopback, 2 interconnect matrix, 3 reflector.
    parameter int USER = 0,
    // Descriptors in the engine's memory for each direction, a power of two, 2 to 4096.
    parameter int DESCRIPTORS = 2048,
    // Bytes of each of the four FIFOs, a power of two, 16 to 4096.
    parameter int FIFO_BYTES = 4096,
    // Most outstanding reads of data, a power of two, 2 to 64.
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
  localparam int LEVEL = $clog2(FIFO_BYTES);
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
  /* verilator lint_off UNUSEDSIGNAL */
  logic         dropped;
  logic         unexpected;
  logic         timed_out;
  /* verilator lint_on UNUSEDSIGNAL */

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
      .dropped_o         (dropped),
      .busy_o            (receiving)
  );

  // Registers of the units, and the two of the user circuit.
  logic [17:3]         read_word;
  logic [63:0]         read_data;
  logic [UNITS-1:0]    starts;
  logic [UNITS-1:0]    busy;
  logic [UNITS-1:0]    done;
  logic [3*UNITS-1:0]  results;
  logic [32*UNITS-1:0] timers;
  logic [64*UNITS-1:0] words;
  logic [64*UNITS-1:0] addresses;
  logic [64*UNITS-1:0] lengths;
  logic [32*UNITS-1:0] payloads;
  logic [32*UNITS-1:0] labels;
  logic [3*UNITS-1:0]  classes;
  logic [64*UNITS-1:0] patterns;

  for (genvar u = 0; u < UNITS; u = u + 1) begin : gen_registers
    dma_unit_registers #(
        .BLOCK(u)
    ) registers (
        .clk_i,
        .rst_i,
        .write_word_i   (write_word),
        .write_data_i   (write_data),
        .write_lanes_i  (write_lanes),
        .write_valid_i  (write_valid),
        .write_last_i   (write_last),
        .word_i         (read_word[5:3]),
        .word_o         (words[64*u+:64]),
        .busy_i         (busy[u]),
        .done_i         (done[u]),
        .result_i       (results[3*u+:3]),
        .timer_i        (timers[32*u+:32]),
        .start_o        (starts[u]),
        .address_o      (addresses[64*u+:64]),
        .length_o       (lengths[64*u+:64]),
        .payload_o      (payloads[32*u+:32]),
        .label_o        (labels[32*u+:32]),
        .traffic_class_o(classes[3*u+:3]),
        .pattern_o      (patterns[64*u+:64])
    );
  end

  logic [63:0] crossed_q;
  logic [63:0] reply_q;
  logic [63:0] register_q;
  logic [1:0][63:0] list_data;
  logic [17:16] from_q;

  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 8; b = b + 1) begin
      if (write_valid && write_lanes[b] && write_word == peerlane_pkg::DMA_CROSSED[17:3]) crossed_q[8*b+:8] <= write_data[8*b+:8];
      if (write_valid && write_lanes[b] && write_word == peerlane_pkg::DMA_REPLY[17:3]) reply_q[8*b+:8] <= write_data[8*b+:8];
    end
    from_q <= read_word[17:16];
    case (read_word[15:6])
      10'(WRITE): register_q <= words[64*WRITE+:64];
      10'(READ): register_q <= words[64*READ+:64];
      10'(PEER): register_q <= words[64*PEER+:64];
      default: begin
        register_q <= '0;
        if (read_word[15:3] == peerlane_pkg::DMA_CROSSED[15:3]) register_q <= crossed_q;
        if (read_word[15:3] == peerlane_pkg::DMA_REPLY[15:3]) register_q <= reply_q;
      end
    endcase
    if (rst_i) begin
      crossed_q <= '0;
      reply_q   <= '0;
    end
  end

  always_comb begin
    read_data = '0;
    if (from_q == 2'd0) read_data = register_q;
    if (from_q == peerlane_pkg::DMA_WRITE_LIST[17:16]) read_data = list_data[WRITE];
    if (from_q == peerlane_pkg::DMA_READ_LIST[17:16]) read_data = list_data[READ];
  end

  // The lists of both directions.
  logic [1:0][63:0] range_address;
  logic [1:0][31:0] range_length;
  logic [1:0]  range_valid;
  logic [1:0]  range_ready;
  logic [1:0]  range_end;
  logic [1:0]  list_failed;

  for (genvar u = 0; u < 2; u = u + 1) begin : gen_list
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
        .read_data_o  (list_data[u]),
        .start_i      (starts[u]),
        .count_i      (lengths[64*u+:64]),
        .address_o    (range_address[u]),
        .length_o     (range_length[u]),
        .valid_o      (range_valid[u]),
        .ready_i      (range_ready[u]),
        .end_o        (range_end[u]),
        .failed_o     (list_failed[u])
    );
  end

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

  // The streams to the link: completions first, the others in turn.
  localparam int PORTS = 5;
  localparam int COMPLETIONS = 0;
  localparam int READS = 1;
  localparam int REFLECTIONS = 2;
  localparam int WRITES = 3;
  localparam int PEERS = 4;
  logic [PORTS*64-1:0] port_data;
  logic [PORTS*4-1:0]  port_bytes;
  logic [PORTS-1:0]    port_first;
  logic [PORTS-1:0]    port_last;
  logic [PORTS-1:0]    port_valid;
  logic [PORTS-1:0]    port_open;
  logic [PORTS-1:0]    port_ready;
  logic [PORTS-1:0]    offered_q;
  logic [PORTS*16-1:0] port_label;

  // Without Bus Master Enable no request begins; one that was offered goes on.
  assign port_open = port_valid & (offered_q | (bus_master_i ? '1 : PORTS'(1 << COMPLETIONS)));

  stream_arbiter #(
      .W(64),
      .PORTS(PORTS),
      .FIXED(1)
  ) sends (
      .clk_i,
      .rst_i,
      .data_i (port_data),
      .bytes_i(port_bytes),
      .first_i(port_first),
      .last_i (port_last),
      .valid_i(port_open),
      .ready_o(port_ready),
      .data_o (tx_data_o),
      .bytes_o(tx_bytes_o),
      .first_o(tx_first_o),
      .last_o (tx_last_o),
      .valid_o(tx_valid_o),
      .ready_i(tx_ready_i)
  );

  always_comb begin
    tx_label_o = '0;
    for (int p = 0; p < PORTS; p = p + 1) if (port_ready[p]) tx_label_o = tx_label_o | port_label[16*p+:16];
  end

  always_ff @(posedge clk_i) begin
    for (int p = 0; p < PORTS; p = p + 1) begin
      if (port_open[p]) offered_q[p] <= !(port_ready[p] && port_last[p]);
    end
    if (rst_i) offered_q <= '0;
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
  assign results[3*WRITE+:3] = list_failed[WRITE] ? peerlane_pkg::RESULT_MALFORMED : peerlane_pkg::RESULT_SUCCESSFUL;
  assign port_label[16*WRITES+:16] = labels_q[WRITE];

  // EP_TX_CMD: one range, from START on.
  logic command_q;
  logic command_ready;
  dma_sender peer (
      .clk_i,
      .rst_i,
      .function_id_i,
      .payload_i      (largest[PEER]),
      .traffic_class_i(classes[3*PEER+:3]),
      .start_i        (starts[PEER]),
      .address_i      (addresses[64*PEER+:64]),
      .length_i       (lengths[64*PEER+:32]),
      .range_valid_i  (command_q),
      .range_ready_o  (command_ready),
      .range_end_i    (!command_q),
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
  assign results[3*PEER+:3] = peerlane_pkg::RESULT_SUCCESSFUL;
  assign port_label[16*PEERS+:16] = labels_q[PEER];

  // A label holds for its whole transfer, whatever is written to START meanwhile.
  always_ff @(posedge clk_i) begin
    for (int u = 0; u < UNITS; u = u + 1) if (starts[u]) labels_q[u] <= labels[32*u+:16];
    if (starts[PEER]) command_q <= lengths[64*PEER+:32] != '0;
    else if (command_ready) command_q <= 1'b0;
    if (rst_i) command_q <= 1'b0;
  end

  logic       read_failed;
  logic [2:0] read_result;
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
      .completion_valid_i(completion_valid),
      .completion_ready_o(completion_ready),
      .read_data_o       (rx_data),
      .read_bytes_o      (rx_bytes),
      .read_valid_o      (rx_valid),
      .read_ready_i      (rx_ready),
      .busy_o            (busy[READ]),
      .done_o            (done[READ]),
      .failed_o          (read_failed),
      .result_o          (read_result),
      .timer_o           (timers[32*READ+:32]),
      .unexpected_o      (unexpected),
      .timed_out_o       (timed_out)
  );
  assign results[3*READ+:3] = read_failed ? read_result : list_failed[READ] ? peerlane_pkg::RESULT_MALFORMED : peerlane_pkg::RESULT_SUCCESSFUL;
  assign port_label[16*READS+:16] = labels_q[READ];
  assign source_data[READ]  = '0;
  assign source_level[READ] = '0;
  assign source_pop[READ]   = '0;

  logic moves_user;
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
      assign rx_level = '0;
      assign rx_ready = 1'b1;
      logic unused_sink;
      assign unused_sink = &{1'b0, rx_data, rx_bytes, rx_valid, patterns[64*READ+:64], user_clk_i, user_rst_i, crossed_q[0]};
    end else begin : gen_fifos
      // RX and EP_RX go to the user circuit, TX and EP_TX come from it.
      logic [1:0]  in_valid;
      logic [1:0]  in_ready;
      logic [2*64-1:0] in_data;
      logic [2*4-1:0] in_bytes;
      logic [2*68-1:0] user_in;
      logic [1:0]  user_in_valid;
      logic [1:0]  user_in_ready;
      logic [2*68-1:0] user_out;
      logic [1:0]  user_out_valid;
      logic [1:0]  user_out_ready;
      logic [1:0]  moved;
      logic [2*(LEVEL+1)-1:0] in_level;
      assign in_data[64*0+:64]  = rx_data;
      assign in_bytes[4*0+:4] = rx_bytes;
      assign in_valid[0] = rx_valid;
      assign rx_ready    = in_ready[0];
      assign rx_level    = in_level[(LEVEL+1)*0+:(LEVEL+1)];
      assign in_data[64*1+:64]  = peer_data;
      assign in_bytes[4*1+:4] = peer_bytes;
      assign in_valid[1] = peer_valid;
      for (genvar d = 0; d < 2; d = d + 1) begin : gen_direction
        logic [LEVEL:0] out_level;
        logic [63:0]    from_data;
        logic [3:0]     from_bytes;
        logic           from_ready;
        logic [67:0]    to_word;
        logic           to_valid;
        logic           to_ready;
        byte_fifo #(
            .BYTES(FIFO_BYTES)
        ) in (
            .clk_i,
            .rst_i,
            .data_i (in_data[64*d+:64]),
            .bytes_i(in_bytes[4*d+:4]),
            .valid_i(in_valid[d]),
            .ready_o(in_ready[d]),
            .data_o (from_data),
            .level_o(in_level[(LEVEL+1)*d+:(LEVEL+1)]),
            .pop_i  (from_ready ? from_bytes : 4'd0)
        );
        assign from_bytes = in_level[(LEVEL+1)*d+:(LEVEL+1)] > (LEVEL + 1)'(8) ? 4'd8 : in_level[(LEVEL+1)*d+:4];
        fifo_cdc #(
            .WIDTH(68),
            .DEPTH(16)
        ) to_user (
            .write_clk_i(clk_i),
            .write_rst_i(rst_i),
            .data_i     ({from_bytes, from_data}),
            .valid_i    (from_bytes != '0),
            .ready_o    (from_ready),
            .read_clk_i (user_clk_i),
            .read_rst_i (user_rst_i),
            .data_o     (user_in[68*d+:68]),
            .valid_o    (user_in_valid[d]),
            .ready_i    (user_in_ready[d])
        );
        fifo_cdc #(
            .WIDTH(68),
            .DEPTH(16)
        ) from_user (
            .write_clk_i(user_clk_i),
            .write_rst_i(user_rst_i),
            .data_i     (user_out[68*d+:68]),
            .valid_i    (user_out_valid[d]),
            .ready_o    (user_out_ready[d]),
            .read_clk_i (clk_i),
            .read_rst_i (rst_i),
            .data_o     (to_word),
            .valid_o    (to_valid),
            .ready_i    (to_ready)
        );
        byte_fifo #(
            .BYTES(FIFO_BYTES)
        ) out (
            .clk_i,
            .rst_i,
            .data_i (to_word[63:0]),
            .bytes_i(to_word[67:64]),
            .valid_i(to_valid),
            .ready_o(to_ready),
            .data_o (source_data[2*d]),
            .level_o(out_level),
            .pop_i  (source_pop[2*d])
        );
        assign source_level[2*d] = out_level;
        assign moved[d] = (from_ready && from_bytes != '0) || (to_valid && to_ready) || in_valid[d];
      end
      user_circuit #(
          .LOOPBACK(USER == LOOPBACK ? 1 : 0)
      ) user (
          .clk_i        (user_clk_i),
          .crossed_i    (crossed_q[0]),
          .rx_data_i    (user_in[68*0+:68]),
          .rx_valid_i   (user_in_valid[0]),
          .rx_ready_o   (user_in_ready[0]),
          .ep_rx_data_i (user_in[68*1+:68]),
          .ep_rx_valid_i(user_in_valid[1]),
          .ep_rx_ready_o(user_in_ready[1]),
          .tx_data_o    (user_out[68*0+:68]),
          .tx_valid_o   (user_out_valid[0]),
          .tx_ready_i   (user_out_ready[0]),
          .ep_tx_data_o (user_out[68*1+:68]),
          .ep_tx_valid_o(user_out_valid[1]),
          .ep_tx_ready_i(user_out_ready[1])
      );
      assign peer_ready = in_ready[1];
      assign moves_user = moved != '0;
      logic unused_fifos;
      assign unused_fifos = &{1'b0, patterns, peer_last, peer_size, reply_q, rx_label_i};
    end
  endgenerate

  logic reflecting;
  generate
    if (USER == REFLECTOR) begin : gen_reflector
      // The writes to send back: their sizes and labels, and their data.
      logic [28:0]     next;
      logic            next_valid;
      logic            next_ready;
      logic            next_taken;
      logic            space;
      logic            fits;
      logic [63:0]     back_data;
      logic [LEVEL:0]  back_level;
      logic [3:0]      back_pop;
      logic [15:0]     label_q;
      logic [15:0]     rx_label_q;
      logic            started_q;
      logic            label_taken_q;
      logic            working;
      logic            ended;
      logic [5:0]      queued;
      /* verilator lint_off UNUSEDSIGNAL */
      logic [31:0]     back_timer;
      /* verilator lint_on UNUSEDSIGNAL */
      fifo #(
          .WIDTH(29),
          .DEPTH(32)
      ) sizes (
          .clk_i,
          .rst_i,
          .data_i ({rx_label_q, peer_size}),
          .valid_i(peer_valid && peer_last && fits),
          .ready_o(space),
          .data_o (next),
          .valid_o(next_valid),
          .ready_i(next_taken),
          .level_o(queued)
      );
      byte_fifo #(
          .BYTES(FIFO_BYTES)
      ) data (
          .clk_i,
          .rst_i,
          .data_i (peer_data),
          .bytes_i(peer_bytes),
          .valid_i(peer_valid && space),
          .ready_o(fits),
          .data_o (back_data),
          .level_o(back_level),
          .pop_i  (back_pop)
      );
      dma_sender back (
          .clk_i,
          .rst_i,
          .function_id_i,
          .payload_i      (mps),
          .traffic_class_i(3'd0),
          .start_i        (next_valid && !started_q),
          .address_i      (reply_q),
          .length_i       ({19'b0, next[12:0]}),
          .range_valid_i  (next_valid && started_q && !label_taken_q),
          .range_ready_o  (next_ready),
          .range_end_i    (label_taken_q),
          .data_i         (back_data),
          .level_i        (back_level),
          .pop_o          (back_pop),
          .data_o         (port_data[64*REFLECTIONS+:64]),
          .bytes_o        (port_bytes[4*REFLECTIONS+:4]),
          .first_o        (port_first[REFLECTIONS]),
          .last_o         (port_last[REFLECTIONS]),
          .valid_o        (port_valid[REFLECTIONS]),
          .ready_i        (port_ready[REFLECTIONS]),
          .busy_o         (working),
          .done_o         (ended),
          .timer_o        (back_timer)
      );
      assign next_taken = next_valid && started_q && !label_taken_q && next_ready;
      always_ff @(posedge clk_i) begin
        if (rx_valid_i && rx_ready_o && rx_first_i) rx_label_q <= rx_label_i;
        if (next_valid && !started_q) begin
          started_q     <= 1'b1;
          label_taken_q <= 1'b0;
        end
        if (next_taken) begin
          label_q       <= next[28:13];
          label_taken_q <= 1'b1;
        end
        if (ended) started_q <= 1'b0;
        if (rst_i) begin
          started_q     <= 1'b0;
          label_taken_q <= 1'b0;
        end
      end
      assign peer_ready = fits && space;
      assign port_label[16*REFLECTIONS+:16] = label_q;
      assign reflecting = working || next_valid || queued != '0;
    end else begin : gen_none
      assign port_data[64*REFLECTIONS+:64]  = '0;
      assign port_bytes[4*REFLECTIONS+:4]   = '0;
      assign port_first[REFLECTIONS]        = 1'b0;
      assign port_last[REFLECTIONS]         = 1'b0;
      assign port_valid[REFLECTIONS]        = 1'b0;
      assign port_label[16*REFLECTIONS+:16] = '0;
      assign reflecting = 1'b0;
    end
    if (USER == SOURCE_SINK) begin : gen_sink
      assign peer_ready = 1'b1;
      logic unused_peer;
      assign unused_peer = &{1'b0, peer_data, peer_bytes, peer_last, peer_valid, peer_size, reply_q, rx_label_i};
    end
    if (NEVER_STALLS) begin : gen_still
      assign moves_user = 1'b0;
    end
  endgenerate

  // One interrupt for each unit whose transfer has ended, after its data.
  logic [UNITS-1:0] interrupts_q;
  logic [UNITS-1:0] interrupt;
  assign interrupt   = interrupts_q & (~interrupts_q + 1'b1);
  assign irq_valid_o = interrupts_q != '0 && bus_master_i;
  always_comb begin
    irq_vector_o = '0;
    if (interrupt[WRITE]) irq_vector_o = 11'(peerlane_pkg::DMA_WRITE_VECTOR);
    if (interrupt[READ]) irq_vector_o = 11'(peerlane_pkg::DMA_READ_VECTOR);
    if (interrupt[PEER]) irq_vector_o = 11'(peerlane_pkg::DMA_PEER_VECTOR);
  end

  // A register was written in the cycle before: a transfer may begin now.
  logic starting_q;
  always_ff @(posedge clk_i) starting_q <= write_valid && !rst_i;

  // The clock goes on until the user circuit's FIFOs have not moved for some time.
  logic [5:0] still_q;
  always_ff @(posedge clk_i) begin
    interrupts_q <= (interrupts_q & ~(irq_valid_o && irq_ready_i ? interrupt : '0)) | done;
    if (moves_user) still_q <= '1;
    else if (still_q != '0) still_q <= still_q - 1'b1;
    if (rst_i) begin
      interrupts_q <= '0;
      still_q      <= '0;
    end
  end

  assign active_o = receiving || completing || reflecting || busy != '0 || starts != '0 || starting_q || interrupts_q != '0 || still_q != '0;

  logic unused;
  assign unused = &{1'b0, addresses[64*WRITE+:64], addresses[64*READ+:64], lengths[64*PEER+32+:32], largest[READ], source_pop[READ], payloads, labels};

endmodule
