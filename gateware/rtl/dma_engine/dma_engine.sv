// The scatter/gather DMA engine of the system rosta: registers, three units, and the ports of the user's logic, which may have a clock of its
// own. docs/reference/circuit-engine.md has the meaning and the timing of these ports.

`include "require.svh"

module dma_engine #(
    // Whether the streams of the user's logic have FIFOs and cross to its clock. With 0 they are in the clock of the engine, RX and EP_RX are
    // taken at once, and TX and EP_TX do not pause within a transfer.
    parameter int FIFOS = 1,
    // Whether the user's logic takes writes of peers; with 0 they are unsupported requests.
    parameter int PEER_WRITES = 1,
    // Whether there is EP_TX_CMD.
    parameter int COMMANDS = 1,
    // Whether there are registers of the user's logic, and its interrupts.
    parameter int USER_REGISTERS = 1,
    // Descriptors in the engine's memory for each direction, a power of two, 2 to 4096.
    parameter int DESCRIPTORS = 2048,
    // Bytes of a request for descriptors where lists stay in host memory, a power of two, 16 to 4096; 0 where they are in the engine's.
    parameter int FETCH = 0,
    // Bytes of each of the four FIFOs, a power of two, 256 to 4096; packets from a FIFO have at most half of it.
    parameter int FIFO_BYTES = 4096,
    // Most outstanding reads of data, a power of two, 2 to 64. Requests for descriptors have the tags TAGS and TAGS + 1, or 30 and 31 if TAGS is 32
    // or 64. Tags above 31 need Extended Tag Field Enable.
    parameter int TAGS = 16,
    // Bytes of the largest read request, a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 4096,
    // Cycles after which a read without its completions has failed: 10 ms at 250 MHz.
    parameter int TIMEOUT = 2_500_000,
    // Number of cycles that a peer's write waits for space in its FIFO before it is dropped, 1 to 65535.
    parameter int ACCEPT_CYCLES = 512,
    // Cycles for which a function-level reset resets the user's logic at least: three cycles of the slower clock, 1 to 255.
    parameter int FLR_CYCLES = 4,
    // Idle cycles between two packets, 0 to 1000; rosta's engine is fitted with 1.
    parameter int IDLE_CYCLES = 0,
    // Cycles from the last beat of a descriptor's packets to the first beat of the next one's, 5 to 100000, or 0 for none, and where lists
    // are fetched; rosta's engine is fitted with 66.
    parameter int DESCRIPTOR_CYCLES = 0
) (
    // Clock of all ports.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // Clock of the user's logic. Without FIFOS it is not used: the ports of the user's logic have the clock of the engine.
    input  logic        user_clk_i,
    // Reset of the user's logic, synchronous to its clock; both resets must be active together for three cycles of the slower clock.
    input  logic        user_rst_i,
    // A function-level reset resets the user's logic: `user_rst_i` must be active as long as this output.
    output logic        user_clear_o,

    // Bus, device and function number.
    input  logic [15:0] function_id_i,
    // Max_Payload_Size as in Device Control.
    input  logic [2:0]  max_payload_i,
    // Max_Read_Request_Size as in Device Control.
    input  logic [2:0]  max_read_request_i,
    // Bus Master Enable.
    input  logic        bus_master_i,
    // Extended Tag Field Enable.
    input  logic        ext_tag_i,

    // The function is being reset. It stays until `flr_done_o`.
    input  logic        flr_i,
    // The circuit is as after reset; it stays until `flr_i` falls.
    output logic        flr_done_o,

    // A beat of a received TLP is there.
    input  logic        rx_valid_i,
    // The circuit takes the beat.
    output logic        rx_ready_o,
    // A non-posted request may begin in the next cycle.
    output logic        rx_np_ok_o,
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

    // The circuit has detected an error. A pulse.
    output logic        err_valid_o,
    // Its kind, of peerlane_pkg::ERROR.
    output logic [2:0]  err_kind_o,
    // The header of the packet with the error, byte k in bits 8k and up. Of a completion timeout only the tag counts.
    output logic [127:0] err_header_o,

    // The circuit needs its clock although no beat arrives.
    output logic        active_o,

    // RX: data that was read from host memory, whole words but for the last one of a transfer. Without FIFOS pieces of 1 to 8 bytes, and
    // `tlast` is 0.
    output logic [63:0] m_axis_rx_tdata,
    // Valid bytes: the first ones.
    output logic [7:0]  m_axis_rx_tkeep,
    // Last word of a transfer of the read unit.
    output logic        m_axis_rx_tlast,
    // There is a word.
    output logic        m_axis_rx_tvalid,
    // The user's logic takes the word.
    input  logic        m_axis_rx_tready,

    // EP_RX: data that peers write, whole words but for the last one of a packet.
    output logic [63:0] m_axis_ep_rx_tdata,
    // Valid bytes: the first ones.
    output logic [7:0]  m_axis_ep_rx_tkeep,
    // Last word of a packet.
    output logic        m_axis_ep_rx_tlast,
    // Label of the packet in bits 15:0, the most bytes that it has in bits 28:16. Only without FIFOS; otherwise 0.
    output logic [28:0] m_axis_ep_rx_tuser,
    // There is a word.
    output logic        m_axis_ep_rx_tvalid,
    // The user's logic takes the word. Without FIFOS a packet that is refused for ACCEPT_CYCLES is dropped.
    input  logic        m_axis_ep_rx_tready,

    // TX: data for host memory, words of 1 to 8 bytes. Without FIFOS whole words.
    input  logic [63:0] s_axis_tx_tdata,
    // Valid bytes: the first ones.
    input  logic [7:0]  s_axis_tx_tkeep,
    // There is a word.
    input  logic        s_axis_tx_tvalid,
    // The engine takes the word.
    output logic        s_axis_tx_tready,

    // EP_TX: data for peers, words of 1 to 8 bytes. Without FIFOS whole words.
    input  logic [63:0] s_axis_ep_tx_tdata,
    // Valid bytes: the first ones.
    input  logic [7:0]  s_axis_ep_tx_tkeep,
    // There is a word.
    input  logic        s_axis_ep_tx_tvalid,
    // The engine takes the word.
    output logic        s_axis_ep_tx_tready,

    // EP_TX_CMD: address to which the next bytes of EP_TX are written.
    input  logic [63:0] ep_tx_cmd_address_i,
    // Number of bytes.
    input  logic [31:0] ep_tx_cmd_length_i,
    // Label of the packets for measurements; 0 for none.
    input  logic [15:0] ep_tx_cmd_label_i,
    // There is a command.
    input  logic        ep_tx_cmd_valid_i,
    // The engine takes the command.
    output logic        ep_tx_cmd_ready_o,
    // A command has ended; commands end in order. A pulse.
    output logic        ep_tx_done_o,
    // With it: nothing was sent, because the range ends beyond 64 bits of address.
    output logic        ep_tx_error_o,
    // A command has EP_TX, otherwise transfers of the peer unit have it. In the clock of the engine.
    output logic        ep_tx_commanded_o,

    // The user's registers: accesses to the window of BAR 2 from 0x30000 on, 32 bits each, in order.
    output logic [15:0] m_apb_paddr,
    output logic        m_apb_psel,
    output logic        m_apb_penable,
    output logic        m_apb_pwrite,
    output logic [31:0] m_apb_pwdata,
    output logic [3:0]  m_apb_pstrb,
    input  logic [31:0] m_apb_prdata,
    input  logic        m_apb_pready,
    // The access has failed: all bits of a read are 1.
    input  logic        m_apb_pslverr,

    // The user's logic requests an interrupt.
    input  logic        user_irq_valid_i,
    // Its vector. The units have 0, 1 and 2.
    input  logic [10:0] user_irq_vector_i,
    // The engine takes the request.
    output logic        user_irq_ready_o,

    // The registers of the examples, in the clock of the engine. A transfer from TX, or of the peer unit from EP_TX, begins. A pulse.
    output logic        tx_start_o,
    output logic        ep_tx_start_o,
    // PATTERN of the write unit and of the peer unit.
    output logic [63:0] tx_pattern_o,
    output logic [63:0] ep_tx_pattern_o,
    // Bit 0 of CROSSED.
    output logic        crossed_o,
    // REPLY.
    output logic [63:0] reply_o,
    // TIME_PEER was set. A pulse.
    output logic        time_peer_o,
    // ROUND_TRIP takes a value, and TIME_PEER is cleared. A pulse.
    input  logic        timed_i,
    // The value.
    input  logic [31:0] round_trip_i,

    // The user's logic needs its clock, for `active_o`.
    input  logic        user_active_i
);

  localparam int UNITS = 3;
  localparam int WRITE = 0;
  localparam int READ = 1;
  localparam int PEER = 2;
  // Bits 17:16 of the offsets of the user's registers in BAR 2.
  localparam logic [1:0] USERS = 2'd3;

  `REQUIRE(gen_fifos, FIFOS == 0 || FIFOS == 1, "dma_engine: FIFOS says whether the streams of the user's logic have FIFOs; it must be 0 or 1")
  `REQUIRE(gen_fifo, FIFO_BYTES >= 256 && FIFO_BYTES <= 4096 && FIFO_BYTES == 1 << $clog2(FIFO_BYTES), "dma_engine: FIFO_BYTES is the size of a FIFO; it must be a power of two, 256 to 4096")
  `REQUIRE(gen_fetch, FETCH == 0 || DESCRIPTOR_CYCLES == 0, "dma_engine: DESCRIPTOR_CYCLES is the pace of lists in the engine; with FETCH it must be 0")

  // Tag of the write unit's requests for descriptors; the read unit's is the next one. Tags above 31 are not always usable.
  localparam int FETCH_TAG = TAGS < 32 ? TAGS : 30;

  // A function-level reset is one of all parts.
  logic         clear;
  logic         reset;
  logic         stop;
  logic         resetting;
  assign reset        = rst_i || clear;
  assign user_clear_o = clear;

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
  logic         write_ready;
  logic         write_last;
  logic         write_cut;
  logic [127:0] request_header;
  logic         request_good;
  logic         request_valid;
  logic         request_ready;
  logic [63:0]  peer_data;
  logic [3:0]   peer_bytes;
  logic         peer_first;
  logic         peer_last;
  logic         peer_valid;
  logic         peer_ready;
  logic [12:0]  peer_size;
  logic [15:0]  peer_label;
  logic         dropped;
  logic         malformed;
  logic         unexpected;
  logic         receiving;
  logic         poisoned;
  logic         unsupported;
  logic         received;
  logic [2:0]   received_kind;
  logic [127:0] received_header;

  dma_receive #(
      .PEER_WRITES(PEER_WRITES),
      .ACCEPT_CYCLES(ACCEPT_CYCLES)
  ) receive (
      .clk_i,
      .rst_i           (reset),
      .data_i            (rx_data_i),
      .first_i           (rx_first_i),
      .last_i            (rx_last_i),
      .bytes_i           (rx_bytes_i),
      .bar_i             (rx_bar_i),
      .label_i           (rx_label_i),
      .valid_i           (rx_valid_i),
      .ready_o           (rx_ready_o),
      .np_ok_o           (rx_np_ok_o),
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
      .write_ready_i     (write_ready),
      .write_last_o      (write_last),
      .write_cut_o       (write_cut),
      .request_header_o  (request_header),
      .request_good_o    (request_good),
      .request_valid_o   (request_valid),
      .request_ready_i   (request_ready),
      .peer_data_o       (peer_data),
      .peer_bytes_o      (peer_bytes),
      .peer_first_o      (peer_first),
      .peer_last_o       (peer_last),
      .peer_valid_o      (peer_valid),
      .peer_ready_i      (peer_ready),
      .peer_size_o       (peer_size),
      .peer_label_o      (peer_label),
      .dropped_o         (dropped),
      .malformed_o       (malformed),
      .poisoned_o        (poisoned),
      .unsupported_o     (unsupported),
      .unexpected_o      (unexpected),
      .error_o           (received),
      .error_kind_o      (received_kind),
      .error_header_o    (received_header),
      .busy_o            (receiving)
  );

  // Registers of the units and of the examples.
  logic [17:3]         read_word;
  logic                reads;
  logic                reads_upper;
  logic [1:0]          read_halves;
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
  logic [127:0]        list_data;
  logic [17:16]        from_q;
  logic [63:0]         user_data;
  logic                user_data_ready;
  logic                user_write_ready;
  logic                moves_registers;
  logic [63:0]         count;

  dma_registers registers (
      .clk_i,
      .rst_i           (reset),
      .write_word_i   (write_word),
      .write_data_i   (write_data),
      .write_lanes_i  (write_lanes),
      .write_valid_i  (write_valid),
      .write_last_i   (write_last),
      .write_cut_i    (write_cut),
      .read_word_i    (read_word[15:3]),
      .count_i        (count),
      .read_i         (reads),
      .upper_i        (reads_upper),
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
      .crossed_o,
      .reply_o,
      .time_peer_o,
      .timed_i,
      .cycles_i       (round_trip_i)
  );

  always_ff @(posedge clk_i) if (reads) from_q <= read_word[17:16];

  always_comb begin
    read_data = '0;
    if (from_q == 2'd0) read_data = register_data;
    if (from_q == peerlane_pkg::DMA_WRITE_LIST[17:16]) read_data = list_data[64*WRITE+:64];
    if (from_q == peerlane_pkg::DMA_READ_LIST[17:16]) read_data = list_data[64*READ+:64];
    if (from_q == USERS) read_data = user_data;
  end

  assign write_ready = write_word[17:16] != USERS || user_write_ready;

  generate
    if (USER_REGISTERS != 0) begin : gen_user_registers
      user_registers #(
          .CROSSING(FIFOS)
      ) registers (
          .clk_i,
          .rst_i        (reset),
          .user_clk_i,
          .user_rst_i,
          .write_word_i (write_word[15:3]),
          .write_data_i (write_data),
          .write_lanes_i(write_lanes),
          .write_valid_i(write_valid && write_word[17:16] == USERS),
          .write_ready_o(user_write_ready),
          .read_word_i  (read_word[15:3]),
          .read_halves_i(read_halves),
          .read_i       (reads && read_word[17:16] == USERS),
          .read_data_o  (user_data),
          .read_ready_o (user_data_ready),
          .paddr        (m_apb_paddr),
          .psel         (m_apb_psel),
          .penable      (m_apb_penable),
          .pwrite       (m_apb_pwrite),
          .pwdata       (m_apb_pwdata),
          .pstrb        (m_apb_pstrb),
          .prdata       (m_apb_prdata),
          .pready       (m_apb_pready),
          .pslverr      (m_apb_pslverr),
          .moves_o      (moves_registers)
      );
    end else begin : gen_no_user_registers
      assign user_write_ready = 1'b1;
      assign user_data        = '0;
      assign user_data_ready  = 1'b1;
      assign moves_registers  = 1'b0;
      assign m_apb_paddr      = '0;
      assign m_apb_psel       = 1'b0;
      assign m_apb_penable    = 1'b0;
      assign m_apb_pwrite     = 1'b0;
      assign m_apb_pwdata     = '0;
      assign m_apb_pstrb      = '0;
      logic unused_apb;
      assign unused_apb = &{1'b0, read_halves, m_apb_prdata, m_apb_pready, m_apb_pslverr};
    end
  endgenerate

  // The ranges that the units work on. Completions with the tags of fetches go to the lists, the others to the read unit.
  logic [64*UNITS-1:0] range_address;
  logic [32*UNITS-1:0] range_length;
  logic [UNITS-1:0]    range_valid;
  logic [UNITS-1:0]    range_ready;
  logic [UNITS-1:0]    range_end;
  logic [3*UNITS-1:0]  range_results;
  logic [127:0]        fetch_data;
  logic [7:0]          fetch_bytes;
  logic [1:0]          fetch_first;
  logic [1:0]          fetch_last;
  logic [1:0]          fetch_valid;
  logic [1:0]          fetch_ready;
  logic                fetch_unexpected;
  logic                fetch_malformed;
  logic                fetch_misfit;
  logic [127:0]        fetch_misfit_header;
  logic [1:0]          fetch_timed_out;
  logic [1:0]          fetch_ended;
  logic                read_failed;
  logic                lists_ready;
  logic                data_ready;
  logic                to_fetch;
  logic                to_fetch_q;

  assign to_fetch         = FETCH != 0 && (completion_first ? completion_tag[7:1] == 7'(FETCH_TAG / 2) : to_fetch_q);
  assign completion_ready = to_fetch ? lists_ready : data_ready;
  always_ff @(posedge clk_i) if (completion_valid && completion_ready) to_fetch_q <= to_fetch;

  dma_ranges #(
      .DESCRIPTORS(DESCRIPTORS),
      .FETCH(FETCH),
      .FIRST_TAG(FETCH_TAG),
      .TIMEOUT(TIMEOUT)
  ) ranges (
      .clk_i,
      .rst_i           (reset),
      .function_id_i,
      .max_read_request_i,
      .write_word_i      (write_word),
      .write_data_i      (write_data),
      .write_lanes_i     (write_lanes),
      .write_valid_i     (write_valid),
      .read_word_i       (read_word[15:3]),
      .read_i            (reads),
      .list_data_o       (list_data),
      .start_i           (starts),
      .address_i         (addresses),
      .length_i          (lengths),
      .read_failed_i     (read_failed),
      .address_o         (range_address),
      .length_o          (range_length),
      .valid_o           (range_valid),
      .ready_i           (range_ready),
      .end_o             (range_end),
      .result_o          (range_results),
      .request_data_o    (fetch_data),
      .request_bytes_o   (fetch_bytes),
      .request_first_o   (fetch_first),
      .request_last_o    (fetch_last),
      .request_valid_o   (fetch_valid),
      .request_ready_i   (fetch_ready),
      .completion_data_i (completion_data),
      .completion_bytes_i(completion_bytes),
      .completion_first_i(completion_first),
      .completion_last_i (completion_last),
      .completion_valid_i(completion_valid && to_fetch),
      .completion_ready_o(lists_ready),
      .unexpected_o      (fetch_unexpected),
      .malformed_o       (fetch_malformed),
      .misfit_o          (fetch_misfit),
      .misfit_header_o   (fetch_misfit_header),
      .timed_out_o       (fetch_timed_out),
      .ended_o           (fetch_ended)
  );

  // The units. Their data comes from the user's logic and goes there.
  logic [12:0]         mps;
  logic [12:0]         largest;
  logic [127:0]        source_data;
  logic [25:0]         source_level;
  logic [7:0]          source_pop;
  logic [12:0]         rx_level;
  logic [63:0]         rx_data;
  logic [3:0]          rx_bytes;
  logic                rx_valid;
  logic                rx_ready;
  logic [64*UNITS-1:0] unit_data;
  logic [4*UNITS-1:0]  unit_bytes;
  logic [UNITS-1:0]    unit_first;
  logic [UNITS-1:0]    unit_last;
  logic [UNITS-1:0]    unit_valid;
  logic [UNITS-1:0]    unit_ready;
  logic [6:0]          leaving;
  logic [16*UNITS-1:0] unit_label;
  logic [2:0]          read_result;
  logic                data_unexpected;
  logic                data_malformed;
  logic                data_misfit;
  logic [127:0]        data_misfit_header;
  logic                data_timed_out;
  logic [7:0]          data_timed_out_tag;
  logic                data_timed_out_ready;
  logic                data_ended;
  logic                waits_tags;
  logic                waits_space;

  assign mps     = 13'(peerlane_pkg::LEAST_PAYLOAD) << (max_payload_i > 3'd5 ? 3'd5 : max_payload_i);
  // A packet begins when its data is in the FIFO, which refuses eight bytes when fewer are free: more than half of it may never come.
  assign largest = FIFOS != 0 && mps > 13'(FIFO_BYTES / 2) ? 13'(FIFO_BYTES / 2) : mps;

  dma_units #(
      .TAGS(TAGS),
      .SHARED(FETCH != 0 && TAGS >= 32 ? 1 : 0),
      .SLOT_BYTES(SLOT_BYTES),
      .FIFO_BYTES(FIFO_BYTES),
      .TIMEOUT(TIMEOUT),
      .DESCRIPTOR_CYCLES(DESCRIPTOR_CYCLES)
  ) units (
      .clk_i,
      .rst_i           (reset),
      .function_id_i,
      .mps_i             (largest),
      .max_read_request_i,
      .ext_tag_i,
      .start_i           (starts),
      .payload_i         (payloads),
      .label_i           (labels),
      .traffic_class_i   (classes),
      .address_i         (range_address),
      .length_i          (range_length),
      .range_valid_i     (range_valid),
      .range_ready_o     (range_ready),
      .range_end_i       (range_end),
      .source_data_i     (source_data),
      .source_level_i    (source_level),
      .source_pop_o      (source_pop),
      .read_data_o       (rx_data),
      .read_bytes_o      (rx_bytes),
      .read_valid_o      (rx_valid),
      .read_ready_i      (rx_ready),
      .read_level_i      (rx_level),
      .data_o            (unit_data),
      .bytes_o           (unit_bytes),
      .first_o           (unit_first),
      .last_o            (unit_last),
      .valid_o           (unit_valid),
      .label_o           (unit_label),
      .ready_i           (unit_ready),
      .leaving_i         ({leaving[4], leaving[1], leaving[3]}),
      .completion_data_i (completion_data),
      .completion_bytes_i(completion_bytes),
      .completion_first_i(completion_first),
      .completion_last_i (completion_last),
      .completion_valid_i(completion_valid && !to_fetch),
      .completion_ready_o(data_ready),
      .busy_o            (busy),
      .done_o            (done),
      .timer_o           (timers),
      .failed_o          (read_failed),
      .result_o          (read_result),
      .unexpected_o      (data_unexpected),
      .malformed_o       (data_malformed),
      .misfit_o          (data_misfit),
      .misfit_header_o   (data_misfit_header),
      .timed_out_o       (data_timed_out),
      .timed_out_tag_o   (data_timed_out_tag),
      .timed_out_ready_i (data_timed_out_ready),
      .ended_o           (data_ended),
      .tags_o            (waits_tags),
      .outstanding_o     (waits_space)
  );

  always_comb begin
    results = range_results;
    if (read_failed) results[3*READ+:3] = read_result;
  end

  // The user's logic takes RX and EP_RX, and gives TX and EP_TX. A transfer of the peer unit and a command never have EP_TX at once; a transfer
  // that is started within a command waits for its end.
  logic [63:0] back_data;
  logic [3:0]  back_bytes;
  logic        back_first;
  logic        back_last;
  logic        back_valid;
  logic [15:0] back_label;
  logic        back_ready;
  logic        moves_user;
  logic        commanding;
  logic        peer_waits_q;
  logic        peer_starts;
  logic [12:0] ep_tx_level;
  logic [63:0] command_address;
  logic [31:0] command_length;
  logic [15:0] command_label;
  logic        command_valid;
  logic        command_ready;
  logic        command_starts;
  logic [3:0]  command_pop;
  logic        done_valid;
  logic        done_error;
  logic        done_ready;

  assign peer_starts         = (starts[PEER] || peer_waits_q) && !ep_tx_commanded_o;
  assign source_level[25:13] = ep_tx_commanded_o || peer_waits_q ? '0 : ep_tx_level;
  assign tx_start_o          = starts[WRITE];
  assign ep_tx_start_o       = peer_starts;
  assign tx_pattern_o        = patterns[64*WRITE+:64];
  assign ep_tx_pattern_o     = patterns[64*PEER+:64];

  always_ff @(posedge clk_i) begin
    peer_waits_q <= (starts[PEER] || peer_waits_q) && ep_tx_commanded_o;
    if (reset) peer_waits_q <= 1'b0;
  end

  user_ports #(
      .FIFOS(FIFOS),
      .FIFO_BYTES(FIFO_BYTES),
      .PEER_WRITES(PEER_WRITES),
      .COMMANDS(COMMANDS)
  ) user (
      .clk_i,
      .rst_i            (reset),
      .user_clk_i,
      .user_rst_i,
      .rx_data_i        (rx_data),
      .rx_bytes_i       (rx_bytes),
      .rx_valid_i       (rx_valid),
      .rx_ready_o       (rx_ready),
      .rx_level_o       (rx_level),
      .rx_end_i         (done[READ]),
      .peer_data_i      (peer_data),
      .peer_bytes_i     (peer_bytes),
      .peer_first_i     (peer_first),
      .peer_last_i      (peer_last),
      .peer_size_i      (peer_size),
      .peer_label_i     (peer_label),
      .peer_valid_i     (peer_valid),
      .peer_ready_o     (peer_ready),
      .tx_start_i       (starts[WRITE]),
      .tx_data_o        (source_data[63:0]),
      .tx_level_o       (source_level[12:0]),
      .tx_pop_i         (source_pop[3:0]),
      .ep_tx_start_i    (peer_starts || command_starts),
      .ep_tx_data_o     (source_data[127:64]),
      .ep_tx_level_o    (ep_tx_level),
      .ep_tx_pop_i      (source_pop[7:4] | command_pop),
      .command_address_o(command_address),
      .command_length_o (command_length),
      .command_label_o  (command_label),
      .command_valid_o  (command_valid),
      .command_ready_i  (command_ready),
      .done_valid_i     (done_valid),
      .done_error_i     (done_error),
      .done_ready_o     (done_ready),
      .m_axis_rx_tdata,
      .m_axis_rx_tkeep,
      .m_axis_rx_tlast,
      .m_axis_rx_tvalid,
      .m_axis_rx_tready,
      .m_axis_ep_rx_tdata,
      .m_axis_ep_rx_tkeep,
      .m_axis_ep_rx_tlast,
      .m_axis_ep_rx_tuser,
      .m_axis_ep_rx_tvalid,
      .m_axis_ep_rx_tready,
      .s_axis_tx_tdata,
      .s_axis_tx_tkeep,
      .s_axis_tx_tvalid,
      .s_axis_tx_tready,
      .s_axis_ep_tx_tdata,
      .s_axis_ep_tx_tkeep,
      .s_axis_ep_tx_tvalid,
      .s_axis_ep_tx_tready,
      .ep_tx_cmd_address_i,
      .ep_tx_cmd_length_i,
      .ep_tx_cmd_label_i,
      .ep_tx_cmd_valid_i,
      .ep_tx_cmd_ready_o,
      .ep_tx_done_o,
      .ep_tx_error_o,
      .moves_o          (moves_user)
  );

  generate
    if (COMMANDS != 0) begin : gen_commands
      dma_commands commands (
          .clk_i,
          .rst_i       (reset),
          .function_id_i,
          .payload_i   (largest),
          .address_i   (command_address),
          .length_i    (command_length),
          .label_i     (command_label),
          .valid_i     (command_valid),
          .ready_o     (command_ready),
          .peer_busy_i (busy[PEER] || starts[PEER]),
          .data_i      (source_data[127:64]),
          .level_i     (ep_tx_level),
          .pop_o       (command_pop),
          .data_o      (back_data),
          .bytes_o     (back_bytes),
          .first_o     (back_first),
          .last_o      (back_last),
          .valid_o     (back_valid),
          .label_o     (back_label),
          .ready_i     (back_ready),
          .leaving_i   (leaving[2]),
          .start_o     (command_starts),
          .busy_o      (ep_tx_commanded_o),
          .done_valid_o(done_valid),
          .done_error_o(done_error),
          .done_ready_i(done_ready),
          .active_o    (commanding)
      );
    end else begin : gen_no_commands
      assign command_ready     = 1'b0;
      assign command_pop       = '0;
      assign back_data         = '0;
      assign back_bytes        = '0;
      assign back_first        = 1'b0;
      assign back_last         = 1'b0;
      assign back_valid        = 1'b0;
      assign back_label        = '0;
      assign command_starts    = 1'b0;
      assign ep_tx_commanded_o = 1'b0;
      assign done_valid        = 1'b0;
      assign done_error        = 1'b0;
      assign commanding        = 1'b0;
      logic unused_commands;
      assign unused_commands = &{1'b0, command_address, command_length, command_label, command_valid, back_ready, done_ready};
    end
  endgenerate

  // Answers to register accesses.
  logic [63:0] answer_data;
  logic [3:0]  answer_bytes;
  logic        answer_first;
  logic        answer_last;
  logic        answer_valid;
  logic        answer_ready;
  logic        completing;
  logic        sending;
  logic        in_packet;
  logic        reporting;

  dma_completer completer (
      .clk_i,
      .rst_i           (reset),
      .function_id_i,
      .max_payload_i,
      .request_header_i(request_header),
      .request_good_i  (request_good),
      .request_valid_i (request_valid),
      .request_ready_o (request_ready),
      .word_o          (read_word),
      .read_o          (reads),
      .upper_o         (reads_upper),
      .halves_o        (read_halves),
      .word_data_i     (read_data),
      .word_ready_i    (from_q != USERS || user_data_ready),
      .data_o          (answer_data),
      .bytes_o         (answer_bytes),
      .first_o         (answer_first),
      .last_o          (answer_last),
      .valid_o         (answer_valid),
      .ready_i         (answer_ready),
      .busy_o          (completing)
  );

  // The streams to the link: completions first, the others in turn.
  dma_transmit #(
      .PORTS(7),
      .IDLE_CYCLES(IDLE_CYCLES)
  ) transmit (
      .clk_i,
      .rst_i           (reset),
      .bus_master_i,
      .stop_i  (stop),
      .data_i  ({fetch_data, unit_data[64*PEER+:64], unit_data[64*WRITE+:64], back_data, unit_data[64*READ+:64], answer_data}),
      .bytes_i ({fetch_bytes, unit_bytes[4*PEER+:4], unit_bytes[4*WRITE+:4], back_bytes, unit_bytes[4*READ+:4], answer_bytes}),
      .first_i ({fetch_first, unit_first[PEER], unit_first[WRITE], back_first, unit_first[READ], answer_first}),
      .last_i  ({fetch_last, unit_last[PEER], unit_last[WRITE], back_last, unit_last[READ], answer_last}),
      .valid_i ({fetch_valid, unit_valid[PEER], unit_valid[WRITE], back_valid, unit_valid[READ], answer_valid}),
      .label_i ({32'b0, unit_label[16*PEER+:16], unit_label[16*WRITE+:16], back_label, unit_label[16*READ+:16], 16'b0}),
      .ready_o ({fetch_ready, unit_ready[PEER], unit_ready[WRITE], back_ready, unit_ready[READ], answer_ready}),
      .data_o  (tx_data_o),
      .bytes_o (tx_bytes_o),
      .first_o (tx_first_o),
      .last_o  (tx_last_o),
      .valid_o (tx_valid_o),
      .label_o (tx_label_o),
      .ready_i (tx_ready_i),
      .holds_o (leaving),
      .sending_o(in_packet),
      .busy_o  (sending)
  );

  dma_counters counters (
      .clk_i,
      .rst_i           (reset),
      .tx_valid_i(tx_valid_o),
      .tx_ready_i,
      .tx_first_i(tx_first_o),
      .tx_data_i (tx_data_o[31:0]),
      .rx_move_i (rx_valid_i && rx_ready_o),
      .rx_first_i,
      .rx_data_i (rx_data_i[31:0]),
      .events_i  ({
        dropped,
        data_timed_out || fetch_timed_out != '0,
        data_unexpected || fetch_unexpected || unexpected,
        poisoned,
        data_malformed || fetch_malformed || malformed,
        unsupported,
        waits_space,
        waits_tags
      }),
      .number_i  (read_word[6:3]),
      .read_i    (reads),
      .count_o   (count)
  );

  dma_errors errors (
      .clk_i,
      .rst_i              (reset),
      .stop_i             (stop),
      .received_i         (received),
      .received_kind_i    (received_kind),
      .received_header_i  (received_header),
      .unexpected_i       ({fetch_misfit, data_misfit}),
      .unexpected_header_i({fetch_misfit_header, data_misfit_header}),
      .timed_out_i        (data_timed_out),
      .tag_i              (data_timed_out_tag),
      .timed_out_ready_o  (data_timed_out_ready),
      .list_timed_out_i   (fetch_timed_out),
      .list_tags_i        ({8'(FETCH_TAG + 1), 8'(FETCH_TAG)}),
      .valid_o            (err_valid_o),
      .kind_o             (err_kind_o),
      .header_o           (err_header_o),
      .busy_o             (reporting)
  );

  logic read_leaves;
  assign read_leaves = tx_valid_o && tx_ready_i && tx_first_o && (tx_data_o[7:0] | peerlane_pkg::TLP_WIDE) == peerlane_pkg::TLP_MEMORY_READ_WIDE;

  dma_flr #(
      .CYCLES(FLR_CYCLES)
  ) flr (
      .clk_i,
      .rst_i,
      .flr_i,
      .done_o   (flr_done_o),
      .stop_o   (stop),
      .sending_i(in_packet),
      .read_i   (read_leaves),
      .ends_i   ({fetch_ended, data_ended}),
      .clear_o  (clear),
      .busy_o   (resetting)
  );

  logic        user_irq_valid;
  logic [10:0] user_irq_vector;
  logic        user_irq_ready;

  generate
    if (USER_REGISTERS != 0 && FIFOS != 0) begin : gen_irq_crossing
      fifo_cdc #(
          .WIDTH(11),
          .DEPTH(4)
      ) requests (
          .write_clk_i(user_clk_i),
          .write_rst_i(user_rst_i),
          .data_i     (user_irq_vector_i),
          .valid_i    (user_irq_valid_i),
          .ready_o    (user_irq_ready_o),
          .read_clk_i (clk_i),
          .read_rst_i (reset),
          .data_o     (user_irq_vector),
          .valid_o    (user_irq_valid),
          .ready_i    (user_irq_ready)
      );
    end else begin : gen_irq
      assign user_irq_valid   = USER_REGISTERS != 0 && user_irq_valid_i;
      assign user_irq_vector  = user_irq_vector_i;
      assign user_irq_ready_o = user_irq_ready;
    end
  endgenerate

  logic interrupting;
  dma_interrupts interrupts (
      .clk_i,
      .rst_i           (reset),
      .bus_master_i,
      .done_i  (done),
      .user_valid_i (user_irq_valid),
      .user_vector_i(user_irq_vector),
      .user_ready_o (user_irq_ready),
      .valid_o (irq_valid_o),
      .ready_i (irq_ready_i),
      .vector_o(irq_vector_o),
      .busy_o  (interrupting)
  );

  // A register was written in the cycle before: a transfer may begin now.
  logic starting_q;
  always_ff @(posedge clk_i) starting_q <= write_valid && !reset;

  // The clock goes on until the FIFOs of the user's logic, and that logic, have been still for some time.
  logic [5:0] still_q;
  always_ff @(posedge clk_i) begin
    if (moves_user || moves_registers || (FIFOS != 0 && user_active_i)) still_q <= '1;
    else if (still_q != '0) still_q <= still_q - 1'b1;
    if (reset) still_q <= '0;
  end

  assign active_o = resetting || received || reporting || receiving || completing || commanding || user_active_i || sending || busy != '0 || starts != '0 || starting_q || interrupting || still_q != '0;

  logic unused;
  assign unused = &{1'b0, completion_tag[0], patterns[64*READ+:64], leaving};

endmodule
