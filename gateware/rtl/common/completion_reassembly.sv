// Puts completions together by tag and byte count: writes their data to the places of their requests, and says how each request
// ended (PCIe Base 2.3.1.1, 2.3.2). It takes completions only; a stream is sorted before it.

`include "require.svh"

module completion_reassembly #(
    // Bits of a beat: 64, 128 or 256.
    parameter int W = 64,
    // Number of tags, a power of two, 2 to 256.
    parameter int TAGS = 16,
    // Bytes of the largest request, a power of two, 128 to 4096.
    parameter int SLOT_BYTES = 512
) (
    // Clock.
    input  logic                                clk_i,
    // Synchronous reset: no request is open.
    input  logic                                rst_i,
    // Tag of a new request.
    input  logic [$clog2(TAGS)-1:0]             open_tag_i,
    // Bytes of a new request, 1 to SLOT_BYTES.
    input  logic [12:0]                         open_bytes_i,
    // There is a new request, at least a cycle before its first completion.
    input  logic                                open_i,
    // Data of a completion.
    input  logic [W-1:0]                        data_i,
    // Bytes in the beat.
    input  logic [$clog2(W/8):0]                bytes_i,
    // First beat of a completion.
    input  logic                                first_i,
    // Last beat of a completion.
    input  logic                                last_i,
    // There is a beat.
    input  logic                                valid_i,
    // The beat is taken.
    output logic                                ready_o,
    // Tag of the data to write.
    output logic [$clog2(TAGS)-1:0]             write_tag_o,
    // Place of the data from the beginning of its request, in beats.
    output logic [$clog2(SLOT_BYTES/(W/8))-1:0] write_place_o,
    // Data to write.
    output logic [W-1:0]                        write_data_o,
    // Lanes to write.
    output logic [W/8-1:0]                      write_lanes_o,
    // There is data to write.
    output logic                                write_o,
    // It is poisoned, or data of its request that came before was.
    output logic                                write_poisoned_o,
    // Tag of the request that ends.
    output logic [$clog2(TAGS)-1:0]             end_tag_o,
    // Bytes of the request; 0 where it ends with an error.
    output logic [12:0]                         end_bytes_o,
    // Its result, of peerlane_pkg::RESULT.
    output logic [2:0]                          end_result_o,
    // The request ends.
    output logic                                end_o,
    // A completion came that belongs to no open request; it is dropped.
    output logic                                unexpected_o
);

  localparam int N = W / 8;
  localparam int BITS = $clog2(N);
  localparam int TAG_BITS = $clog2(TAGS);
  localparam int PLACE_BITS = $clog2(SLOT_BYTES / N);
  localparam int HEADER = peerlane_pkg::HEADER_SHORT;

  `REQUIRE(gen_w, W == 64 || W == 128 || W == 256, "completion_reassembly: W is the number of bits of a beat; it must be 64, 128 or 256")
  `REQUIRE(gen_tags, TAGS >= 2 && TAGS <= 256 && TAGS == 1 << TAG_BITS, "completion_reassembly: TAGS is the number of tags; it must be a power of two, 2 to 256")
  `REQUIRE(gen_bytes, SLOT_BYTES >= 128 && SLOT_BYTES <= 4096 && SLOT_BYTES == 1 << $clog2(SLOT_BYTES), "completion_reassembly: SLOT_BYTES is the largest request; it must be a power of two, 128 to 4096")

  // Open requests: bytes that came, bytes in all, and whether poisoned data came.
  logic [TAGS-1:0] open_q;
  logic [TAGS-1:0] poisoned_q;
  logic [12:0]     came_q[TAGS];
  logic [12:0]     total_q[TAGS];

  // The header: of 64-bit beats the first one holds eight bytes of it.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0]    header;
  /* verilator lint_on UNUSEDSIGNAL */
  logic            at_header;
  logic [7:0]      kind;
  logic [2:0]      status;
  logic            has_data;
  logic [7:0]      tag_field;
  logic [TAG_BITS-1:0] tag;
  logic [1:0]      offset;
  logic [12:0]     byte_count;
  logic [12:0]     carried;
  logic [12:0]     came;
  logic [12:0]     left;
  logic [12:0]     length;
  logic            is_open;
  logic            is_whole;
  logic            fails;
  logic [2:0]      failure;
  logic            stores;

  generate
    if (W == 64) begin : gen_narrow
      logic [63:0] early_q;
      logic        second_q;
      always_ff @(posedge clk_i) begin
        if (valid_i && ready_o) begin
          second_q <= first_i && !last_i;
          if (first_i) early_q <= data_i;
        end
        if (rst_i) second_q <= 1'b0;
      end
      assign header    = peerlane_pkg::wire_order({data_i[63:0], early_q});
      assign at_header = second_q;
    end else begin : gen_wide
      assign header    = peerlane_pkg::wire_order(data_i[127:0]);
      assign at_header = first_i;
    end
  endgenerate

  assign kind       = header[peerlane_pkg::TLP_KIND+:8];
  assign status     = header[peerlane_pkg::COMPLETION_STATUS+:3];
  assign has_data   = (kind & peerlane_pkg::TLP_DATA) != '0;
  assign tag_field  = header[peerlane_pkg::COMPLETION_TAG+:8];
  assign tag        = tag_field[TAG_BITS-1:0];
  assign offset     = header[peerlane_pkg::COMPLETION_LOWER_ADDRESS+:2];
  assign byte_count = {header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12] == '0, header[peerlane_pkg::COMPLETION_BYTE_COUNT+:12]};
  assign carried    = {header[peerlane_pkg::COMPLETION_DWORDS+:10] == '0, header[peerlane_pkg::COMPLETION_DWORDS+:10], 2'b0} - {11'b0, offset};

  assign is_open  = open_q[tag] && {24'b0, tag_field} < TAGS && !header[peerlane_pkg::COMPLETION_TAG_8] && !header[peerlane_pkg::COMPLETION_TAG_9];
  assign came     = came_q[tag];
  assign left     = total_q[tag] - came;
  assign length   = carried < byte_count ? carried : byte_count;
  assign is_whole = length == left;

  // A status without data ends the request; so does a completion whose byte count or length cannot be.
  always_comb begin
    fails   = 1'b1;
    failure = peerlane_pkg::RESULT_MALFORMED;
    if (status == peerlane_pkg::STATUS_ABORT) failure = peerlane_pkg::RESULT_ABORT;
    else if (status == peerlane_pkg::STATUS_RETRY) failure = peerlane_pkg::RESULT_RETRY;
    else if (status != peerlane_pkg::STATUS_SUCCESSFUL) failure = peerlane_pkg::RESULT_UNSUPPORTED;
    else if (has_data && byte_count == left && (carried < byte_count + 13'd4)) fails = 1'b0;
  end

  // The payload of a completion that is stored, from its header on.
  logic            storing_q;
  logic [TAG_BITS-1:0] tag_q;
  logic [1:0]      offset_q;
  logic [PLACE_BITS+BITS-1:0] came_before_q;
  logic [12:0]     total_here_q;
  logic [12:0]     left_q;
  logic            ends_q;
  logic            poisoned_here_q;
  logic [PLACE_BITS-1:0] place_q;
  logic            accepts;
  logic            feed;
  logic [12:0]     reach;
  logic [BITS:0]   bytes;
  logic            feed_last;
  logic [W-1:0]    out_data;
  logic [BITS:0]   out_bytes;
  logic            out_first;
  logic            out_last;
  logic            out_valid;
  logic            end_now;

  assign stores    = at_header && is_open && !fails;
  assign feed      = valid_i && (at_header ? stores : storing_q);
  // Lanes from the front of the beat to the end of the data.
  assign reach     = at_header ? length + 13'(HEADER % N) + {11'b0, offset} : left_q;
  assign feed_last = reach <= 13'(N);
  assign bytes     = feed_last ? reach[BITS:0] : (BITS + 1)'(N);
  assign ready_o   = accepts;

  byte_shifter #(
      .W(W)
  ) shifter (
      .clk_i,
      .rst_i,
      .skip_i (BITS'(HEADER % N) + {{BITS - 2{1'b0}}, at_header ? offset : offset_q}),
      .lead_i (at_header ? came[BITS-1:0] : came_before_q[BITS-1:0]),
      .data_i,
      .bytes_i(bytes),
      .first_i(at_header),
      .last_i (feed_last),
      .valid_i(feed),
      .ready_o(accepts),
      .data_o (out_data),
      .bytes_o(out_bytes),
      .first_o(out_first),
      .last_o (out_last),
      .valid_o(out_valid),
      .ready_i(1'b1)
  );

  // In the cycle of the header what is noted of the completion is not in its registers yet.
  logic                here;
  logic [TAG_BITS-1:0] here_tag;
  logic [PLACE_BITS+BITS-1:0] here_came;
  logic [12:0]         here_total;
  logic                here_ends;
  logic                here_poisoned;
  assign here          = valid_i && ready_o && at_header;
  assign here_tag      = here ? tag : tag_q;
  assign here_came     = here ? came[PLACE_BITS+BITS-1:0] : came_before_q;
  assign here_total    = here ? total_q[tag] : total_here_q;
  assign here_ends     = here ? is_whole : ends_q;
  assign here_poisoned = here ? poisoned_q[tag] || header[peerlane_pkg::TLP_POISONED] : poisoned_here_q;

  always_comb begin
    for (int k = 0; k < N; k = k + 1) begin
      write_lanes_o[k] = k[BITS:0] < out_bytes && !(out_first && k[BITS-1:0] < here_came[BITS-1:0]);
    end
  end
  assign write_tag_o   = here_tag;
  assign write_place_o = out_first ? here_came[BITS+:PLACE_BITS] : place_q;
  assign write_data_o  = out_data;
  assign write_o       = out_valid;

  assign write_poisoned_o = here_poisoned;


  assign end_now      = here && is_open && fails;
  assign end_o        = end_now || (out_valid && out_last && here_ends);
  assign end_tag_o    = here_tag;
  assign end_result_o = end_now ? failure : here_poisoned ? peerlane_pkg::RESULT_POISONED : peerlane_pkg::RESULT_SUCCESSFUL;
  assign end_bytes_o  = end_now ? '0 : here_total;
  assign unexpected_o = here && !is_open;

  always_ff @(posedge clk_i) begin
    if (open_i) begin
      came_q[open_tag_i]  <= '0;
      total_q[open_tag_i] <= open_bytes_i;
    end
    if (here && stores) came_q[tag] <= came + length;
  end

  always_ff @(posedge clk_i) begin
    if (here) begin
      storing_q       <= stores && !feed_last;
      tag_q           <= tag;
      offset_q        <= offset;
      came_before_q   <= came[PLACE_BITS+BITS-1:0];
      total_here_q    <= total_q[tag];
      ends_q          <= is_whole;
      poisoned_here_q <= here_poisoned;
    end else if (valid_i && ready_o && feed_last) begin
      storing_q <= 1'b0;
    end
    if (feed && ready_o) left_q <= reach - 13'(N);
    if (out_valid) place_q <= write_place_o + 1'b1;
    if (open_i) begin
      open_q[open_tag_i]     <= 1'b1;
      poisoned_q[open_tag_i] <= 1'b0;
    end
    if (here && stores && header[peerlane_pkg::TLP_POISONED]) poisoned_q[tag] <= 1'b1;
    if (here && is_open && (fails || is_whole)) open_q[tag] <= 1'b0;
    if (rst_i) begin
      open_q    <= '0;
      storing_q <= 1'b0;
    end
  end

  // The number of bytes comes from the header; the beats only have to agree with it.
  logic unused;
  assign unused = &{1'b0, bytes_i, last_i};

`ifdef FORMAL
  `include "completion_reassembly.svh"
`endif

endmodule
