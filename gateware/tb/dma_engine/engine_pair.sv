// Two engines with signals of their own, for a bench in which they write to each other.

module engine_pair #(
    // User circuit of both.
    parameter int USER = 2,
    // Descriptors in the memory of each.
    parameter int DESCRIPTORS = 16,
    // Cycles after which a read without its completions has failed.
    parameter int TIMEOUT = 4000
);

  for (genvar k = 0; k < 2; k = k + 1) begin : engine
    logic        clk_i;
    logic        rst_i;
    logic        user_clk_i;
    logic        user_rst_i;
    logic        user_clear_o;
    logic [15:0] function_id_i;
    logic [2:0]  max_payload_i;
    logic [2:0]  max_read_request_i;
    logic        bus_master_i;
    logic        ext_tag_i;
    logic        flr_i;
    logic        flr_done_o;
    logic        rx_valid_i;
    logic        rx_ready_o;
    logic        rx_np_ok_o;
    logic [63:0] rx_data_i;
    logic        rx_first_i;
    logic        rx_last_i;
    logic [3:0]  rx_bytes_i;
    logic [15:0] rx_label_i;
    logic [2:0]  rx_bar_i;
    logic        tx_valid_o;
    logic        tx_ready_i;
    logic [63:0] tx_data_o;
    logic        tx_first_o;
    logic        tx_last_o;
    logic [3:0]  tx_bytes_o;
    logic [15:0] tx_label_o;
    logic        irq_valid_o;
    logic        irq_ready_i;
    logic [10:0] irq_vector_o;
    logic        err_valid_o;
    logic [2:0]  err_kind_o;
    logic [127:0] err_header_o;
    logic        active_o;

    dma_engine_example #(
        .USER(USER),
        .DESCRIPTORS(DESCRIPTORS),
        .TIMEOUT(TIMEOUT)
    ) core (.*);
  end

endmodule
