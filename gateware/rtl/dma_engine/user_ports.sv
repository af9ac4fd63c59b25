// The ports of the user's logic: the four streams and the commands, in the user's clock behind FIFOs, or in the engine's clock without any.

module user_ports #(
    // Whether the streams have FIFOs and cross to the user's clock. Without, the user's logic has the engine's clock and never stalls.
    parameter int FIFOS = 1,
    // Bytes of each of the four FIFOs, a power of two, 256 to 4096.
    parameter int FIFO_BYTES = 4096,
    // Whether there is EP_RX.
    parameter int PEER_WRITES = 1,
    // Whether there is EP_TX_CMD.
    parameter int COMMANDS = 1
) (
    // Clock of the engine.
    input  logic        clk_i,
    // Synchronous reset.
    input  logic        rst_i,
    // Clock of the user's logic.
    input  logic        user_clk_i,
    // Reset of the user's logic, synchronous to its clock.
    input  logic        user_rst_i,

    // RX: data that was read, from lane 0 on.
    input  logic [63:0] rx_data_i,
    // Number of bytes.
    input  logic [3:0]  rx_bytes_i,
    // There is data.
    input  logic        rx_valid_i,
    // The data is taken.
    output logic        rx_ready_o,
    // Number of bytes in the FIFO.
    output logic [12:0] rx_level_o,
    // A transfer has ended, all of its data was taken before. A pulse.
    input  logic        rx_end_i,

    // EP_RX: data that a peer writes, from lane 0 on.
    input  logic [63:0] peer_data_i,
    // Number of bytes: 8, or 1 to 8 where they are the last.
    input  logic [3:0]  peer_bytes_i,
    // First bytes of a packet.
    input  logic        peer_first_i,
    // Last bytes of a packet.
    input  logic        peer_last_i,
    // The most bytes that the packet has.
    input  logic [12:0] peer_size_i,
    // Label of the packet.
    input  logic [15:0] peer_label_i,
    // There is data of a peer.
    input  logic        peer_valid_i,
    // The data is taken.
    output logic        peer_ready_o,

    // A transfer from TX begins.
    input  logic        tx_start_i,
    // The oldest bytes of TX.
    output logic [63:0] tx_data_o,
    // Number of bytes that are available from TX.
    output logic [12:0] tx_level_o,
    // Number of bytes to remove from TX.
    input  logic [3:0]  tx_pop_i,
    // A transfer or a command from EP_TX begins.
    input  logic        ep_tx_start_i,
    // The oldest bytes of EP_TX.
    output logic [63:0] ep_tx_data_o,
    // Number of bytes that are available from EP_TX.
    output logic [12:0] ep_tx_level_o,
    // Number of bytes to remove from EP_TX.
    input  logic [3:0]  ep_tx_pop_i,

    // Address of the next command.
    output logic [63:0] command_address_o,
    // Number of its bytes.
    output logic [31:0] command_length_o,
    // Label of its packets.
    output logic [15:0] command_label_o,
    // There is a command.
    output logic        command_valid_o,
    // The command is taken.
    input  logic        command_ready_i,
    // A command has ended.
    input  logic        done_valid_i,
    // Its range was not possible.
    input  logic        done_error_i,
    // The end is taken.
    output logic        done_ready_o,

    // The user's side, as dma_engine has it.
    output logic [63:0] m_axis_rx_tdata,
    output logic [7:0]  m_axis_rx_tkeep,
    output logic        m_axis_rx_tlast,
    output logic        m_axis_rx_tvalid,
    input  logic        m_axis_rx_tready,
    output logic [63:0] m_axis_ep_rx_tdata,
    output logic [7:0]  m_axis_ep_rx_tkeep,
    output logic        m_axis_ep_rx_tlast,
    output logic [28:0] m_axis_ep_rx_tuser,
    output logic        m_axis_ep_rx_tvalid,
    input  logic        m_axis_ep_rx_tready,
    input  logic [63:0] s_axis_tx_tdata,
    input  logic [7:0]  s_axis_tx_tkeep,
    input  logic        s_axis_tx_tvalid,
    output logic        s_axis_tx_tready,
    input  logic [63:0] s_axis_ep_tx_tdata,
    input  logic [7:0]  s_axis_ep_tx_tkeep,
    input  logic        s_axis_ep_tx_tvalid,
    output logic        s_axis_ep_tx_tready,
    input  logic [63:0] ep_tx_cmd_address_i,
    input  logic [31:0] ep_tx_cmd_length_i,
    input  logic [15:0] ep_tx_cmd_label_i,
    input  logic        ep_tx_cmd_valid_i,
    output logic        ep_tx_cmd_ready_o,
    output logic        ep_tx_done_o,
    output logic        ep_tx_error_o,

    // Bytes move, so the clocks are needed.
    output logic        moves_o
);

  // Bits of `command_t`.
  localparam int COMMAND = 112;

  typedef struct packed {
    logic [63:0] address;
    logic [31:0] length;
    logic [15:0] label;
  } command_t;

  typedef struct packed {
    logic [12:0] size;
    logic [15:0] label;
  } packet_t;


  generate
    if (FIFOS != 0) begin : gen_fifos
      user_streams #(
          .FIFO_BYTES(FIFO_BYTES),
          .PEER_WRITES(PEER_WRITES)
      ) streams (
          .clk_i,
          .rst_i,
          .user_clk_i,
          .user_rst_i,
          .rx_data_i,
          .rx_bytes_i,
          .rx_valid_i,
          .rx_ready_o,
          .rx_level_o,
          .rx_end_i,
          .peer_data_i,
          .peer_bytes_i,
          .peer_first_i,
          .peer_last_i,
          .peer_size_i,
          .peer_valid_i,
          .peer_ready_o,
          .tx_data_o,
          .tx_level_o,
          .tx_pop_i,
          .ep_tx_data_o,
          .ep_tx_level_o,
          .ep_tx_pop_i,
          .m_axis_rx_tdata,
          .m_axis_rx_tkeep,
          .m_axis_rx_tlast,
          .m_axis_rx_tvalid,
          .m_axis_rx_tready,
          .m_axis_ep_rx_tdata,
          .m_axis_ep_rx_tkeep,
          .m_axis_ep_rx_tlast,
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
          .moves_o
      );
      assign m_axis_ep_rx_tuser = '0;
      logic unused_fifos;
      assign unused_fifos = &{1'b0, peer_label_i, tx_start_i, ep_tx_start_i};
    end else begin : gen_direct
      packet_t packet;
      assign packet.size  = peer_size_i;
      assign packet.label = peer_label_i;

      assign m_axis_rx_tdata     = rx_data_i;
      assign m_axis_rx_tkeep     = ~(8'hff << rx_bytes_i);
      assign m_axis_rx_tlast     = 1'b0;
      assign m_axis_rx_tvalid    = rx_valid_i;
      assign rx_ready_o          = m_axis_rx_tready;
      assign rx_level_o          = '0;
      assign m_axis_ep_rx_tdata  = peer_data_i;
      assign m_axis_ep_rx_tkeep  = ~(8'hff << peer_bytes_i);
      assign m_axis_ep_rx_tlast  = peer_last_i;
      assign m_axis_ep_rx_tuser  = packet;
      assign m_axis_ep_rx_tvalid = peer_valid_i;
      assign peer_ready_o        = m_axis_ep_rx_tready;
      assign moves_o             = 1'b0;

      user_window tx (
          .clk_i,
          .start_i(tx_start_i),
          .data_i (s_axis_tx_tdata),
          .valid_i(s_axis_tx_tvalid),
          .ready_o(s_axis_tx_tready),
          .data_o (tx_data_o),
          .level_o(tx_level_o),
          .pop_i  (tx_pop_i)
      );

      user_window ep_tx (
          .clk_i,
          .start_i(ep_tx_start_i),
          .data_i (s_axis_ep_tx_tdata),
          .valid_i(s_axis_ep_tx_tvalid),
          .ready_o(s_axis_ep_tx_tready),
          .data_o (ep_tx_data_o),
          .level_o(ep_tx_level_o),
          .pop_i  (ep_tx_pop_i)
      );

      logic unused_direct;
      assign unused_direct = &{1'b0, rst_i, user_clk_i, user_rst_i, rx_end_i, peer_first_i, s_axis_tx_tkeep, s_axis_ep_tx_tkeep};
    end

    if (COMMANDS != 0 && FIFOS != 0) begin : gen_command_crossing
      command_t given;
      command_t taken;
      logic     done;

      assign given.address = ep_tx_cmd_address_i;
      assign given.length  = ep_tx_cmd_length_i;
      assign given.label   = ep_tx_cmd_label_i;

      fifo_cdc #(
          .WIDTH(COMMAND),
          .DEPTH(4)
      ) commands (
          .write_clk_i(user_clk_i),
          .write_rst_i(user_rst_i),
          .data_i     (given),
          .valid_i    (ep_tx_cmd_valid_i),
          .ready_o    (ep_tx_cmd_ready_o),
          .read_clk_i (clk_i),
          .read_rst_i (rst_i),
          .data_o     (taken),
          .valid_o    (command_valid_o),
          .ready_i    (command_ready_i)
      );

      fifo_cdc #(
          .WIDTH(1),
          .DEPTH(4)
      ) ends (
          .write_clk_i(clk_i),
          .write_rst_i(rst_i),
          .data_i     (done_error_i),
          .valid_i    (done_valid_i),
          .ready_o    (done_ready_o),
          .read_clk_i (user_clk_i),
          .read_rst_i (user_rst_i),
          .data_o     (ep_tx_error_o),
          .valid_o    (done),
          .ready_i    (1'b1)
      );

      assign ep_tx_done_o      = done;
      assign command_address_o = taken.address;
      assign command_length_o  = taken.length;
      assign command_label_o   = taken.label;
    end else begin : gen_command
      assign command_address_o = ep_tx_cmd_address_i;
      assign command_length_o  = ep_tx_cmd_length_i;
      assign command_label_o   = ep_tx_cmd_label_i;
      assign command_valid_o   = COMMANDS != 0 && ep_tx_cmd_valid_i;
      assign ep_tx_cmd_ready_o = command_ready_i;
      assign ep_tx_done_o      = done_valid_i;
      assign ep_tx_error_o     = done_error_i;
      assign done_ready_o      = 1'b1;
    end
  endgenerate

endmodule
