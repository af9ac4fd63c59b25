// The engine with one of the examples of a user's logic, and the clock of that logic.

`include "require.svh"

module dma_engine_example #(
    // User circuit: 0 source and sink that never stall, 1 loopback, 2 interconnect matrix, 3 reflector, 4 sums.
    parameter int USER = 0,
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
    // Clock of loopback and matrix. The other circuits have the clock of the engine.
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
    output logic        active_o
);

  localparam int SOURCE_SINK = 0;
  localparam int LOOPBACK = 1;
  localparam int MATRIX = 2;
  localparam int REFLECTOR = 3;
  localparam int SUM = 4;

  `REQUIRE(gen_user, USER >= 0 && USER <= 4, "dma_engine: USER is the user circuit; it must be 0 (source and sink), 1 (loopback), 2 (matrix), 3 (reflector) or 4 (sums)")

  logic        clear;
  logic [63:0] rx_tdata;
  logic [7:0]  rx_tkeep;
  logic        rx_tlast;
  logic        rx_tvalid;
  logic        rx_tready;
  logic [63:0] ep_rx_tdata;
  logic [7:0]  ep_rx_tkeep;
  logic        ep_rx_tlast;
  logic [28:0] ep_rx_tuser;
  logic        ep_rx_tvalid;
  logic        ep_rx_tready;
  logic [63:0] tx_tdata;
  logic [7:0]  tx_tkeep;
  logic        tx_tvalid;
  logic        tx_tready;
  logic [63:0] ep_tx_tdata;
  logic [7:0]  ep_tx_tkeep;
  logic        ep_tx_tvalid;
  logic        ep_tx_tready;
  logic [63:0] command_address;
  logic [31:0] command_length;
  logic [15:0] command_label;
  logic        command_valid;
  logic        command_ready;
  logic        done;
  logic        error;
  logic        commanded;
  logic [15:0] apb_paddr;
  logic        apb_psel;
  logic        apb_penable;
  logic        apb_pwrite;
  logic [31:0] apb_pwdata;
  logic [3:0]  apb_pstrb;
  logic [31:0] apb_prdata;
  logic        apb_pready;
  logic        apb_pslverr;
  logic        irq_valid;
  logic [10:0] irq_vector;
  logic        irq_ready;
  logic        tx_start;
  logic        ep_tx_start;
  logic [63:0] tx_pattern;
  logic [63:0] ep_tx_pattern;
  logic        crossed;
  logic [63:0] reply;
  logic        time_peer;
  logic        timed;
  logic [31:0] round_trip;
  logic        user_active;

  dma_engine #(
      .FIFOS(USER == SOURCE_SINK || USER == REFLECTOR ? 0 : 1),
      .PEER_WRITES(USER == LOOPBACK || USER == SUM ? 0 : 1),
      .COMMANDS(USER == REFLECTOR || USER == SUM ? 1 : 0),
      .USER_REGISTERS(USER == SUM ? 1 : 0),
      .DESCRIPTORS(DESCRIPTORS),
      .FETCH(FETCH),
      .FIFO_BYTES(FIFO_BYTES),
      .TAGS(TAGS),
      .SLOT_BYTES(SLOT_BYTES),
      .TIMEOUT(TIMEOUT),
      .ACCEPT_CYCLES(ACCEPT_CYCLES),
      .FLR_CYCLES(FLR_CYCLES),
      .IDLE_CYCLES(IDLE_CYCLES),
      .DESCRIPTOR_CYCLES(DESCRIPTOR_CYCLES)
  ) engine (
      .clk_i,
      .rst_i,
      .user_clk_i,
      .user_rst_i,
      .user_clear_o(clear),
      .function_id_i,
      .max_payload_i,
      .max_read_request_i,
      .bus_master_i,
      .ext_tag_i,
      .flr_i,
      .flr_done_o,
      .rx_valid_i,
      .rx_ready_o,
      .rx_np_ok_o,
      .rx_data_i,
      .rx_first_i,
      .rx_last_i,
      .rx_bytes_i,
      .rx_label_i,
      .rx_bar_i,
      .tx_valid_o,
      .tx_ready_i,
      .tx_data_o,
      .tx_first_o,
      .tx_last_o,
      .tx_bytes_o,
      .tx_label_o,
      .irq_valid_o,
      .irq_ready_i,
      .irq_vector_o,
      .err_valid_o,
      .err_kind_o,
      .err_header_o,
      .active_o,
      .m_axis_rx_tdata(rx_tdata),
      .m_axis_rx_tkeep(rx_tkeep),
      .m_axis_rx_tlast(rx_tlast),
      .m_axis_rx_tvalid(rx_tvalid),
      .m_axis_rx_tready(rx_tready),
      .m_axis_ep_rx_tdata(ep_rx_tdata),
      .m_axis_ep_rx_tkeep(ep_rx_tkeep),
      .m_axis_ep_rx_tlast(ep_rx_tlast),
      .m_axis_ep_rx_tuser(ep_rx_tuser),
      .m_axis_ep_rx_tvalid(ep_rx_tvalid),
      .m_axis_ep_rx_tready(ep_rx_tready),
      .s_axis_tx_tdata(tx_tdata),
      .s_axis_tx_tkeep(tx_tkeep),
      .s_axis_tx_tvalid(tx_tvalid),
      .s_axis_tx_tready(tx_tready),
      .s_axis_ep_tx_tdata(ep_tx_tdata),
      .s_axis_ep_tx_tkeep(ep_tx_tkeep),
      .s_axis_ep_tx_tvalid(ep_tx_tvalid),
      .s_axis_ep_tx_tready(ep_tx_tready),
      .ep_tx_cmd_address_i(command_address),
      .ep_tx_cmd_length_i(command_length),
      .ep_tx_cmd_label_i(command_label),
      .ep_tx_cmd_valid_i(command_valid),
      .ep_tx_cmd_ready_o(command_ready),
      .ep_tx_done_o(done),
      .ep_tx_error_o(error),
      .ep_tx_commanded_o(commanded),
      .m_apb_paddr(apb_paddr),
      .m_apb_psel(apb_psel),
      .m_apb_penable(apb_penable),
      .m_apb_pwrite(apb_pwrite),
      .m_apb_pwdata(apb_pwdata),
      .m_apb_pstrb(apb_pstrb),
      .m_apb_prdata(apb_prdata),
      .m_apb_pready(apb_pready),
      .m_apb_pslverr(apb_pslverr),
      .user_irq_valid_i(irq_valid),
      .user_irq_vector_i(irq_vector),
      .user_irq_ready_o(irq_ready),
      .tx_start_o(tx_start),
      .ep_tx_start_o(ep_tx_start),
      .tx_pattern_o(tx_pattern),
      .ep_tx_pattern_o(ep_tx_pattern),
      .crossed_o(crossed),
      .reply_o(reply),
      .time_peer_o(time_peer),
      .timed_i(timed),
      .round_trip_i(round_trip),
      .user_active_i(user_active)
  );

  assign user_clear_o = clear;

  generate
    if (USER == SOURCE_SINK) begin : gen_source_sink
      example_source_sink #(
          .TIMEOUT(TIMEOUT)
      ) circuit (
          .clk_i,
          .rst_i(rst_i || clear),
          .rx_tready,
          .ep_rx_tvalid,
          .ep_rx_tready,
          .tx_tdata,
          .tx_tvalid,
          .tx_tready,
          .ep_tx_tdata,
          .ep_tx_tvalid,
          .ep_tx_tready,
          .tx_start_i(tx_start),
          .ep_tx_start_i(ep_tx_start),
          .tx_pattern_i(tx_pattern),
          .ep_tx_pattern_i(ep_tx_pattern),
          .time_peer_i(time_peer),
          .timed_o(timed),
          .round_trip_o(round_trip),
          .active_o(user_active)
      );
      assign tx_tkeep = '1;
      assign ep_tx_tkeep = '1;
      assign command_address = '0;
      assign command_length = '0;
      assign command_label = '0;
      assign command_valid = 1'b0;
      assign apb_prdata = '0;
      assign apb_pready = 1'b1;
      assign apb_pslverr = 1'b0;
      assign irq_valid = 1'b0;
      assign irq_vector = '0;
    end else if (USER == LOOPBACK) begin : gen_loopback
      example_loopback circuit (
          .rx_tdata,
          .rx_tkeep,
          .rx_tvalid,
          .rx_tready,
          .tx_tdata,
          .tx_tkeep,
          .tx_tvalid,
          .tx_tready
      );
      assign ep_rx_tready = 1'b0;
      assign ep_tx_tdata = '0;
      assign ep_tx_tkeep = '0;
      assign ep_tx_tvalid = 1'b0;
      assign command_address = '0;
      assign command_length = '0;
      assign command_label = '0;
      assign command_valid = 1'b0;
      assign timed = 1'b0;
      assign round_trip = '0;
      assign user_active = 1'b0;
      assign apb_prdata = '0;
      assign apb_pready = 1'b1;
      assign apb_pslverr = 1'b0;
      assign irq_valid = 1'b0;
      assign irq_vector = '0;
    end else if (USER == MATRIX) begin : gen_matrix
      example_matrix circuit (
          .clk_i(user_clk_i),
          .crossed_i(crossed),
          .rx_tdata,
          .rx_tkeep,
          .rx_tvalid,
          .rx_tready,
          .ep_rx_tdata,
          .ep_rx_tkeep,
          .ep_rx_tvalid,
          .ep_rx_tready,
          .tx_tdata,
          .tx_tkeep,
          .tx_tvalid,
          .tx_tready,
          .ep_tx_tdata,
          .ep_tx_tkeep,
          .ep_tx_tvalid,
          .ep_tx_tready
      );
      assign command_address = '0;
      assign command_length = '0;
      assign command_label = '0;
      assign command_valid = 1'b0;
      assign timed = 1'b0;
      assign round_trip = '0;
      assign user_active = 1'b0;
      assign apb_prdata = '0;
      assign apb_pready = 1'b1;
      assign apb_pslverr = 1'b0;
      assign irq_valid = 1'b0;
      assign irq_vector = '0;
    end else if (USER == REFLECTOR) begin : gen_reflector
      example_reflector #(
          .FIFO_BYTES(FIFO_BYTES)
      ) circuit (
          .clk_i,
          .rst_i(rst_i || clear),
          .reply_i(reply),
          .rx_tready,
          .ep_rx_tdata,
          .ep_rx_tkeep,
          .ep_rx_tlast,
          .ep_rx_tuser,
          .ep_rx_tvalid,
          .ep_rx_tready,
          .tx_tdata,
          .tx_tvalid,
          .tx_tready,
          .ep_tx_tdata,
          .ep_tx_tvalid,
          .ep_tx_tready,
          .ep_tx_cmd_address_o(command_address),
          .ep_tx_cmd_length_o(command_length),
          .ep_tx_cmd_label_o(command_label),
          .ep_tx_cmd_valid_o(command_valid),
          .ep_tx_cmd_ready_i(command_ready),
          .ep_tx_commanded_i(commanded),
          .tx_start_i(tx_start),
          .ep_tx_start_i(ep_tx_start),
          .tx_pattern_i(tx_pattern),
          .ep_tx_pattern_i(ep_tx_pattern),
          .active_o(user_active)
      );
      assign tx_tkeep = '1;
      assign ep_tx_tkeep = '1;
      assign timed = 1'b0;
      assign round_trip = '0;
      assign apb_prdata = '0;
      assign apb_pready = 1'b1;
      assign apb_pslverr = 1'b0;
      assign irq_valid = 1'b0;
      assign irq_vector = '0;
    end else begin : gen_sum
      example_sum circuit (
          .clk_i(user_clk_i),
          .rst_i(user_rst_i),
          .rx_tdata,
          .rx_tkeep,
          .rx_tlast,
          .rx_tvalid,
          .rx_tready,
          .ep_tx_tdata,
          .ep_tx_tkeep,
          .ep_tx_tvalid,
          .ep_tx_tready,
          .ep_tx_cmd_address_o(command_address),
          .ep_tx_cmd_length_o(command_length),
          .ep_tx_cmd_label_o(command_label),
          .ep_tx_cmd_valid_o(command_valid),
          .ep_tx_cmd_ready_i(command_ready),
          .ep_tx_done_i(done),
          .paddr(apb_paddr),
          .psel(apb_psel),
          .penable(apb_penable),
          .pwrite(apb_pwrite),
          .pwdata(apb_pwdata),
          .pstrb(apb_pstrb),
          .prdata(apb_prdata),
          .pready(apb_pready),
          .pslverr(apb_pslverr),
          .irq_valid_o(irq_valid),
          .irq_vector_o(irq_vector),
          .irq_ready_i(irq_ready),
          .active_o(user_active)
      );
      assign ep_rx_tready = 1'b0;
      assign tx_tdata = '0;
      assign tx_tkeep = '0;
      assign tx_tvalid = 1'b0;
      assign timed = 1'b0;
      assign round_trip = '0;
    end
  endgenerate

  logic unused;
  assign unused = &{
    1'b0, rx_tdata, rx_tkeep, rx_tlast, rx_tvalid, ep_rx_tdata, ep_rx_tkeep, ep_rx_tlast, ep_rx_tuser, ep_rx_tvalid, tx_tready, ep_tx_tready,
    command_ready, done, error, commanded, tx_start, ep_tx_start, tx_pattern, ep_tx_pattern, crossed, reply, time_peer,
    apb_paddr, apb_psel, apb_penable, apb_pwrite, apb_pwdata, apb_pstrb, irq_ready
  };

endmodule
