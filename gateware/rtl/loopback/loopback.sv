// Sends back each TLP that it receives: the smallest circuit with the ports of a leaf. Unlike a device (PCIe Base
// 2.4.1), it receives nothing while it cannot send.

module loopback #(
    // Bits of a beat.
    parameter WIDTH = 64
) (
    // Clock of all ports.
    input  wire                       clk_i,
    // Synchronous reset.
    input  wire                       rst_i,

    // Bus, device and function number.
    input  wire [15:0]                function_id_i,
    // Max_Payload_Size as in Device Control.
    input  wire [2:0]                 max_payload_i,
    // Max_Read_Request_Size as in Device Control.
    input  wire [2:0]                 max_read_request_i,
    // Bus Master Enable.
    input  wire                       bus_master_i,

    // A beat of a received TLP is there.
    input  wire                       rx_valid_i,
    // The circuit takes the beat.
    output wire                       rx_ready_o,
    // A non-posted request may begin in the next cycle.
    output wire                       rx_np_ok_o,
    // The beat; byte k of the TLP is at bits 8k and up.
    input  wire [WIDTH-1:0]           rx_data_i,
    // The beat is the first of its TLP.
    input  wire                       rx_first_i,
    // The beat is the last of its TLP.
    input  wire                       rx_last_i,
    // Number of bytes of the TLP in the beat.
    input  wire [$clog2(WIDTH/8):0]   rx_bytes_i,
    // Label of the TLP for measurements.
    input  wire [15:0]                rx_label_i,
    // The BAR that a memory request hits, with its first beat.
    input  wire [2:0]                 rx_bar_i,

    // A beat of a TLP is to be sent.
    output wire                       tx_valid_o,
    // The port takes the beat.
    input  wire                       tx_ready_i,
    // The beat.
    output wire [WIDTH-1:0]           tx_data_o,
    // The beat is the first of its TLP.
    output wire                       tx_first_o,
    // The beat is the last of its TLP.
    output wire                       tx_last_o,
    // Number of bytes of the TLP in the beat.
    output wire [$clog2(WIDTH/8):0]   tx_bytes_o,
    // Label of the TLP for measurements.
    output wire [15:0]                tx_label_o,

    // An interrupt is requested.
    output wire                       irq_valid_o,
    // The port takes the request.
    input  wire                       irq_ready_i,
    // The vector of the interrupt.
    output wire [10:0]                irq_vector_o,

    // The circuit needs its clock although no beat arrives.
    output wire                       active_o
);
    reg             valid_q;
    reg [WIDTH-1:0] data_q;
    reg             first_q;
    reg             last_q;
    reg [$clog2(WIDTH/8):0] bytes_q;
    reg [15:0]      label_q;

    assign rx_ready_o   = !valid_q || tx_ready_i;
    assign rx_np_ok_o   = 1'b1;
    assign tx_valid_o   = valid_q;
    assign tx_data_o    = data_q;
    assign tx_first_o   = first_q;
    assign tx_last_o    = last_q;
    assign tx_bytes_o   = bytes_q;
    assign tx_label_o   = label_q;
    assign irq_valid_o  = 1'b0;
    assign irq_vector_o = 11'd0;
    assign active_o     = valid_q;

    always @(posedge clk_i) begin
        if (rst_i) begin
            valid_q <= 1'b0;
        end else if (rx_ready_o) begin
            valid_q <= rx_valid_i;
            data_q  <= rx_data_i;
            first_q <= rx_first_i;
            last_q  <= rx_last_i;
            bytes_q <= rx_bytes_i;
            label_q <= rx_label_i;
        end
    end

    wire unused = &{1'b0, function_id_i, max_payload_i, max_read_request_i, bus_master_i, rx_bar_i, irq_ready_i};
endmodule
