// The lemmas of part LINK: with them the properties are true of any step, and so of all cycles.
//
// Beside each unit is the position that the host expects there: of the splitter, and of each packet from there to the port.

// Signals of the units and of the link.
(* hierconn *) logic [1:0] \engine.flr.state_q ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.loads ;
(* hierconn *) logic \engine.units.reader.loads ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.loads ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.leaves ;
(* hierconn *) logic \engine.units.reader.leaves ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.leaves ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.packet_q ;
(* hierconn *) logic \engine.units.reader.request_q ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.packet_q ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.splitter.busy_q ;
(* hierconn *) logic \engine.units.reader.splitter.busy_q ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.splitter.busy_q ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.splitter.valid_q ;
(* hierconn *) logic \engine.units.reader.splitter.valid_q ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.splitter.valid_q ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.splitter.last_q ;
(* hierconn *) logic \engine.units.reader.splitter.last_q ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.splitter.last_q ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.splitter.fills_q ;
(* hierconn *) logic \engine.units.reader.splitter.fills_q ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.splitter.fills_q ;
(* hierconn *) logic [63:0] \engine.units.gen_sender[0].sender.splitter.address_q ;
(* hierconn *) logic [63:0] \engine.units.reader.splitter.address_q ;
(* hierconn *) logic [63:0] \engine.units.gen_sender[1].sender.splitter.address_q ;
(* hierconn *) logic [31:0] \engine.units.gen_sender[0].sender.splitter.left_q ;
(* hierconn *) logic [31:0] \engine.units.reader.splitter.left_q ;
(* hierconn *) logic [31:0] \engine.units.gen_sender[1].sender.splitter.left_q ;
(* hierconn *) logic [12:0] \engine.units.gen_sender[0].sender.splitter.bytes_q ;
(* hierconn *) logic [12:0] \engine.units.reader.splitter.bytes_q ;
(* hierconn *) logic [12:0] \engine.units.gen_sender[1].sender.splitter.bytes_q ;
(* hierconn *) logic [63:2] \engine.units.gen_sender[0].sender.builder.address_q ;
(* hierconn *) logic [63:2] \engine.units.reader.builder.address_q ;
(* hierconn *) logic [63:2] \engine.units.gen_sender[1].sender.builder.address_q ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.builder.wide_q ;
(* hierconn *) logic \engine.units.reader.builder.wide_q ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.builder.wide_q ;
(* hierconn *) logic [10:0] \engine.units.gen_sender[0].sender.builder.dwords_q ;
(* hierconn *) logic [10:0] \engine.units.reader.builder.dwords_q ;
(* hierconn *) logic [10:0] \engine.units.gen_sender[1].sender.builder.dwords_q ;
(* hierconn *) logic [3:0] \engine.units.gen_sender[0].sender.builder.first_be_q ;
(* hierconn *) logic [3:0] \engine.units.reader.builder.first_be_q ;
(* hierconn *) logic [3:0] \engine.units.gen_sender[1].sender.builder.first_be_q ;
(* hierconn *) logic [3:0] \engine.units.gen_sender[0].sender.builder.last_be_q ;
(* hierconn *) logic [3:0] \engine.units.reader.builder.last_be_q ;
(* hierconn *) logic [3:0] \engine.units.gen_sender[1].sender.builder.last_be_q ;
(* hierconn *) logic [1:0] \engine.units.gen_sender[0].sender.assembler.at_q ;
(* hierconn *) logic [1:0] \engine.units.reader.assembler.at_q ;
(* hierconn *) logic [1:0] \engine.units.gen_sender[1].sender.assembler.at_q ;
(* hierconn *) logic [6:0] \engine.transmit.valid_q ;
(* hierconn *) logic [6:0] \engine.transmit.first_q ;
(* hierconn *) logic [6:0] \engine.transmit.last_q ;
(* hierconn *) logic [447:0] \engine.transmit.data_q ;
(* hierconn *) logic [111:0] \engine.transmit.label_q ;
(* hierconn *) logic [6:0] \engine.transmit.offered_q ;
(* hierconn *) logic [6:0] \engine.transmit.moves ;
(* hierconn *) logic \engine.transmit.offers ;
(* hierconn *) logic \engine.transmit.last ;
(* hierconn *) logic [6:0] \engine.transmit.sends.held_q ;
(* hierconn *) logic \engine.transmit.sends.locked_q ;
(* hierconn *) logic [92:0] \engine.transmit.out.data_q ;
(* hierconn *) logic [92:0] \engine.transmit.out.spare_q ;
(* hierconn *) logic \engine.transmit.out.valid_q ;
(* hierconn *) logic \engine.transmit.out.full_q ;
(* hierconn *) logic \engine.units.gen_sender[0].sender.within_q ;
(* hierconn *) logic \engine.units.gen_sender[1].sender.within_q ;
(* hierconn *) logic [2:0] \engine.busy ;
(* hierconn *) logic [47:0] \engine.unit_label ;
(* hierconn *) logic \engine.read_failed ;
(* hierconn *) logic \engine.units.reader.splitter.stop_i ;

logic [UNITS-1:0] loads;
logic [UNITS-1:0] leaves_unit;
logic [UNITS-1:0] waits;
logic [UNITS-1:0] cutting;
logic [UNITS-1:0] cut;
logic [UNITS-1:0] cut_last;
logic [UNITS-1:0] cut_fills;
logic [UNITS-1:0][63:0] cut_address;
logic [UNITS-1:0][31:0] cut_left;
logic [UNITS-1:0][12:0] cut_bytes;
logic [UNITS-1:0][61:0] made_address;
logic [UNITS-1:0] made_wide;
logic [UNITS-1:0][10:0] made_dwords;
logic [UNITS-1:0][3:0] made_first_be;
logic [UNITS-1:0][3:0] made_last_be;
logic [UNITS-1:0][1:0] beat;
assign loads = {\engine.units.gen_sender[1].sender.loads , \engine.units.reader.loads , \engine.units.gen_sender[0].sender.loads };
assign leaves_unit = {\engine.units.gen_sender[1].sender.leaves , \engine.units.reader.leaves , \engine.units.gen_sender[0].sender.leaves };
assign waits = {\engine.units.gen_sender[1].sender.packet_q , \engine.units.reader.request_q , \engine.units.gen_sender[0].sender.packet_q };
assign cutting = {\engine.units.gen_sender[1].sender.splitter.busy_q , \engine.units.reader.splitter.busy_q , \engine.units.gen_sender[0].sender.splitter.busy_q };
assign cut = {\engine.units.gen_sender[1].sender.splitter.valid_q , \engine.units.reader.splitter.valid_q , \engine.units.gen_sender[0].sender.splitter.valid_q };
assign cut_last = {\engine.units.gen_sender[1].sender.splitter.last_q , \engine.units.reader.splitter.last_q , \engine.units.gen_sender[0].sender.splitter.last_q };
assign cut_fills = {\engine.units.gen_sender[1].sender.splitter.fills_q , \engine.units.reader.splitter.fills_q , \engine.units.gen_sender[0].sender.splitter.fills_q };
assign cut_address = {\engine.units.gen_sender[1].sender.splitter.address_q , \engine.units.reader.splitter.address_q , \engine.units.gen_sender[0].sender.splitter.address_q };
assign cut_left = {\engine.units.gen_sender[1].sender.splitter.left_q , \engine.units.reader.splitter.left_q , \engine.units.gen_sender[0].sender.splitter.left_q };
assign cut_bytes = {\engine.units.gen_sender[1].sender.splitter.bytes_q , \engine.units.reader.splitter.bytes_q , \engine.units.gen_sender[0].sender.splitter.bytes_q };
assign made_address = {\engine.units.gen_sender[1].sender.builder.address_q , \engine.units.reader.builder.address_q , \engine.units.gen_sender[0].sender.builder.address_q };
assign made_wide = {\engine.units.gen_sender[1].sender.builder.wide_q , \engine.units.reader.builder.wide_q , \engine.units.gen_sender[0].sender.builder.wide_q };
assign made_dwords = {\engine.units.gen_sender[1].sender.builder.dwords_q , \engine.units.reader.builder.dwords_q , \engine.units.gen_sender[0].sender.builder.dwords_q };
assign made_first_be = {\engine.units.gen_sender[1].sender.builder.first_be_q , \engine.units.reader.builder.first_be_q , \engine.units.gen_sender[0].sender.builder.first_be_q };
assign made_last_be = {\engine.units.gen_sender[1].sender.builder.last_be_q , \engine.units.reader.builder.last_be_q , \engine.units.gen_sender[0].sender.builder.last_be_q };
assign beat = {\engine.units.gen_sender[1].sender.assembler.at_q , \engine.units.reader.assembler.at_q , \engine.units.gen_sender[0].sender.assembler.at_q };

// The beat of each unit that waits for the link, and the beats in the buffer of the link: the unit, and the beat's number in its packet, 2 for
// all behind the second.
logic [UNITS-1:0]     held;
logic [UNITS-1:0]     held_last;
logic [1:0]           front_unit_q;
logic [1:0]           front_beat_q;
logic [1:0]           spare_unit_q;
logic [1:0]           spare_beat_q;
logic [1:0]           early_unit_q;
logic                 open_q;
logic [1:0]           open_unit_q;
logic [1:0]           open_beat_q;
logic [UNITS*2-1:0]   held_beats;
logic [UNITS*2-1:0]   next_beats;
logic                 front;
logic                 spare;
logic                 accepts;
logic [1:0]           moving;
logic [1:0]           moving_beat;
logic [92:0]          front_data;
logic [92:0]          spare_data;
logic [6:0]           granted;
assign held       = {\engine.transmit.valid_q [4], \engine.transmit.valid_q [1], \engine.transmit.valid_q [3]};
assign held_last  = {\engine.transmit.last_q [4], \engine.transmit.last_q [1], \engine.transmit.last_q [3]};
assign front      = \engine.transmit.out.valid_q ;
assign spare      = \engine.transmit.out.full_q ;
assign front_data = \engine.transmit.out.data_q ;
assign spare_data = \engine.transmit.out.spare_q ;
assign accepts    = \engine.transmit.offers && !spare;
assign moving     = \engine.transmit.moves [1] ? 2'(READ) : \engine.transmit.moves [3] ? 2'(WRITE) : 2'(PEER);
assign moving_beat = held_beats[2*moving+:2];
assign granted    = \engine.transmit.sends.held_q ;

always_ff @(posedge clk_i) begin
  if (!front || tx_ready) begin
    front_unit_q <= spare ? spare_unit_q : moving;
    front_beat_q <= spare ? spare_beat_q : moving_beat;
  end else if (accepts) begin
    spare_unit_q <= moving;
    spare_beat_q <= moving_beat;
  end
  if (accepts) begin
    open_q      <= !\engine.transmit.last ;
    open_unit_q <= moving;
    open_beat_q <= moving_beat;
  end
  if (leaves) early_unit_q <= front_unit_q;
  if (reset_q) open_q <= 1'b0;
end

// The packets of each unit: those that were cut, those whose second beat went to the buffer, and those whose second beat left, modulo 4.
// Of the last four, the position: the place of the first byte, the bytes from there to the end of the descriptor, those of the packet, and
// the descriptor.
logic [UNITS*2-1:0]   made;
logic [UNITS*2-1:0]   seen;
logic [UNITS*56-1:0]  at_of;
logic [UNITS*20-1:0]  bytes_of;
logic [UNITS-1:0]     lemma_set_up;
logic [UNITS-1:0]     lemma_begin;
logic [UNITS-1:0]     lemma_splitter;
logic [UNITS-1:0]     lemma_request;
logic [UNITS-1:0]     lemma_packets_are_counted;
logic [UNITS-1:0]     lemma_header;
logic [UNITS-1:0]     lemma_beats;
logic [UNITS-1:0]     lemma_held_beat;
logic [UNITS-1:0]     lemma_packets_fit;
logic [UNITS-1:0]     lemma_packets_follow;
logic [UNITS-1:0]     lemma_port;
logic [UNITS-1:0]     lemma_label;
logic [UNITS-1:0]     lemma_one_packet_is_open;

// What a header says: the bytes of the request, and the ones before its address in its first dword.
function automatic logic [14:0] said(input logic [10:0] dwords, input logic [3:0] first_be, input logic [3:0] last_be);
  logic [3:0] ends;
  logic [1:0] before;
  logic [1:0] behind;
  ends   = dwords == 11'd1 ? first_be : last_be;
  before = first_be[0] ? 2'd0 : first_be[1] ? 2'd1 : first_be[2] ? 2'd2 : 2'd3;
  behind = ends[3] ? 2'd0 : ends[2] ? 2'd1 : ends[1] ? 2'd2 : 2'd3;
  said   = {before, {dwords, 2'b0} - {11'b0, before} - {11'b0, behind}};
endfunction

// Whether a beat is the first of a packet of a unit.
function automatic logic is_first(input logic [63:0] data, input logic [1:0] of, input logic [13:0] at, input logic [4:0] bytes);
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] fields;
  /* verilator lint_on UNUSEDSIGNAL */
  fields   = peerlane_pkg::wire_order({64'b0, data});
  is_first = fields[peerlane_pkg::TLP_KIND+:8] == (of == 2'(READ) ? peerlane_pkg::TLP_MEMORY_READ : peerlane_pkg::TLP_MEMORY_WRITE)
      && said({1'b0, fields[peerlane_pkg::REQUEST_DWORDS+:10]}, fields[peerlane_pkg::REQUEST_FIRST_BE+:4], fields[peerlane_pkg::REQUEST_LAST_BE+:4])
          == {at[1:0], 8'b0, bytes};
endfunction

// Whether a beat is the second one.
function automatic logic is_second(input logic [63:0] data, input logic [13:0] at);
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] fields;
  /* verilator lint_on UNUSEDSIGNAL */
  fields    = peerlane_pkg::wire_order({data, 64'b0});
  is_second = fields[peerlane_pkg::SHORT_ADDRESS+:30] == {18'b0, at[13:2]};
endfunction

function automatic logic [1:0] follow(input logic [1:0] beat, input logic last);
  follow = last ? 2'd0 : beat == 2'd0 ? 2'd1 : 2'd2;
endfunction

for (genvar u = 0; u < UNITS; u = u + 1) begin : gen_unit
  localparam logic [2:0] FIRST_STEP = u == READ ? 3'd3 : 3'd0;
  localparam int PORT = u == READ ? 1 : u == WRITE ? 3 : 4;
  logic [25:0] place;
  logic [9:0]  size;
  logic [1:0]  count_q;
  logic [1:0]  taken_q;
  logic        started_q;
  logic        dropped_q;
  logic [13:0] cut_at_q;
  logic [4:0]  cut_until_q;
  logic [1:0]  made_q;
  logic [1:0]  sent_q;
  logic [1:0]  seen_q;
  logic [1:0]  beat_q;
  logic [55:0] at_of_q;
  logic [19:0] until_of_q;
  logic [19:0] bytes_of_q;
  logic [3:0]  index_of_q;
  logic        takes;
  logic [1:0]  listed;
  logic        sees;
  logic        stops;
  assign place = wanted_place[26*u+:26];
  assign size  = wanted_size[10*u+:10];
  assign count_q   = wanted_count[2*u+:2];
  assign taken_q   = taken_count[2*u+:2];
  assign started_q = was_started[u];
  assign takes = \engine.range_valid [u] && \engine.range_ready [u];
  assign listed = listed_q[u == READ ? 1 : 0];
  assign sees  = (reads || writes) && by == 2'(u);
  assign stops = u == READ && \engine.units.reader.splitter.stop_i ;

  assign made[2*u+:2]        = made_q;
  assign seen[2*u+:2]        = seen_q;
  assign at_of[56*u+:56]     = at_of_q;
  assign bytes_of[20*u+:20]  = bytes_of_q;
  assign held_beats[2*u+:2]  = beat_q;
  assign next_beats[2*u+:2]  = held[u] ? beat_q : beat[u];

  always_ff @(posedge clk_i) begin
    if (takes) begin
      cut_at_q    <= {1'b0, place[13*taken_q[0]+:13]};
      cut_until_q <= size[5*taken_q[0]+:5];
    end else if (loads[u]) begin
      cut_at_q    <= cut_at_q + {1'b0, cut_bytes[u]};
      cut_until_q <= cut_until_q - cut_bytes[u][4:0];
    end
    if (stops) begin
      cut_until_q <= '0;
      dropped_q   <= 1'b1;
    end
    if (loads[u]) begin
      made_q                  <= made_q + 1'b1;
      at_of_q[14*made_q+:14]  <= cut_at_q;
      until_of_q[5*made_q+:5] <= cut_until_q;
      bytes_of_q[5*made_q+:5] <= cut_bytes[u][4:0];
      index_of_q[made_q]      <= taken_q != 2'd1;
    end
    if (!held[u] || \engine.transmit.moves [PORT]) beat_q <= beat[u];
    if (accepts && moving == 2'(u) && beat_q == 2'd1) sent_q <= sent_q + 1'b1;
    if (sees) seen_q <= seen_q + 1'b1;
    if (reset_q) begin
      cut_until_q <= '0;
      dropped_q   <= 1'b0;
      made_q      <= '0;
      sent_q      <= '0;
      seen_q      <= '0;
    end
  end

  // The position of the next request of the splitter.
  logic [13:0] next_at;
  logic [4:0]  next_until;
  logic        next_index;
  always_comb begin
    if (cutting[u]) begin
      next_at    = cut_at_q;
      next_until = cut_until_q;
      next_index = taken_q != 2'd1;
    end else begin
      next_at    = {1'b0, place[13*taken_q[0]+:13]};
      next_until = taken_q < count_q ? size[5*taken_q[0]+:5] : '0;
      next_index = taken_q[0];
    end
  end

  // Of each packet whether it is on its way and fits, and whether the next one begins where it ends.
  logic [3:0] there;
  logic [3:0] follows;
  logic [3:0] fits;
  for (genvar k = 0; k < 4; k = k + 1) begin : gen_packet
    localparam int THEN = (k + 1) % 4;
    logic [13:0] at;
    logic [4:0]  bytes;
    logic [4:0]  left_of;
    logic [13:0] then_at;
    logic [4:0]  then_until;
    logic        then_index;
    logic [13:0] after_at;
    logic [4:0]  after_until;
    logic        after_index;
    logic [1:0]  rank;
    logic [1:0]  known;
    logic        is_newest;
    assign at        = at_of_q[14*k+:14];
    assign bytes     = bytes_of_q[5*k+:5];
    assign rank      = 2'(k) - seen_q;
    assign known     = made_q - seen_q;
    assign there[k]  = rank < known;
    assign is_newest = made_q == 2'(THEN);
    assign left_of   = until_of_q[5*k+:5] - bytes;
    assign fits[k]   = bytes != '0 && bytes <= until_of_q[5*k+:5] && {2'b0, at[11:0]} + {9'b0, bytes} <= 14'd4096;
    always_comb begin
      if (left_of != '0) begin
        then_at    = at + {9'b0, bytes};
        then_until = left_of;
        then_index = index_of_q[k];
      end else begin
        then_at    = {1'b0, place[13+:13]};
        then_until = !index_of_q[k] && count_q == 2'd2 ? size[5+:5] : '0;
        then_index = 1'b1;
      end
      if (is_newest) begin
        after_at    = next_at;
        after_until = next_until;
        after_index = next_index;
      end else begin
        after_at    = at_of_q[14*THEN+:14];
        after_until = until_of_q[5*THEN+:5];
        after_index = index_of_q[THEN];
      end
    end
    assign follows[k] = then_until == after_until && (then_until == '0 || then_at == after_at && then_index == after_index) || dropped_q && is_newest;
  end

  // The position at the port.
  logic [13:0] first_at;
  logic [4:0]  first_until;
  logic        first_index;
  always_comb begin
    if (made_q != seen_q) begin
      first_at    = at_of_q[14*seen_q+:14];
      first_until = until_of_q[5*seen_q+:5];
      first_index = index_of_q[seen_q];
    end else begin
      first_at    = next_at;
      first_until = next_until;
      first_index = next_index;
    end
  end

  logic [1:0]  gone;
  logic [1:0]  newest;
  logic [1:0]  seconds;
  logic [13:0] newest_at;
  logic [13:0] held_at;
  logic [13:0] page_end;
  assign gone      = made_q - {1'b0, waits[u]};
  assign newest    = made_q - 2'd1;
  assign seconds   = gone + {1'b0, beat[u] == 2'd2};
  assign newest_at = at_of_q[14*newest+:14];
  assign held_at   = at_of_q[14*sent_q+:14];
  assign page_end  = {2'b0, cut_at_q[11:0]} + {1'b0, cut_bytes[u]};

  // The list of a unit is whole before its transfer begins, and stays.
  assign lemma_set_up[u] = (count_q == '0 || step_q >= (u == WRITE ? 3'd3 : u == READ ? 3'd6 : 3'd7))
      && count_q <= (u == PEER ? 2'd1 : 2'd2) && taken_q <= count_q
      && (used[u] || count_q == '0)
      && (!used[u] || (u == PEER ? count_q == '0 || size[4:0] != '0
          : listed == (step_q <= FIRST_STEP ? 2'd0 : step_q == FIRST_STEP + 3'd1 ? 2'd1 : 2'd2)
              && (listed == 2'd0 || size[4:0] != '0) && (listed != 2'd2 || size[9:5] != '0)));
  assign lemma_begin[u] = (taken_q != '0 || !cutting[u] && made_q == seen_q && !waits[u]) && (!\engine.busy [u] && taken_q == '0 || started_q)
      && (!dropped_q || u == READ && started_q && !cutting[u] && (\engine.read_failed || !\engine.busy [u]));
  assign lemma_splitter[u] = cutting[u]
      ? cut_address[u] == {50'b0, cut_at_q} && cut_left[u] == {27'b0, cut_until_q} && cut_until_q != '0 && {1'b0, cut_at_q} + {10'b0, cut_until_q} <= 15'd8222
      : cut_until_q == '0;
  assign lemma_request[u] = !cut[u] || cutting[u] && cut_bytes[u] != '0 && {19'b0, cut_bytes[u]} <= cut_left[u]
      && cut_last[u] == ({19'b0, cut_bytes[u]} == cut_left[u])
      && page_end <= 14'd4096 && (cut_last[u] || cut_fills[u] == (page_end == 14'd4096));
  assign lemma_packets_are_counted[u] = sent_q == seconds - {1'b0, held[u] && beat_q == 2'd1}
      && sent_q == seen_q + {1'b0, front && front_unit_q == 2'(u) && front_beat_q == 2'd1} + {1'b0, spare && spare_unit_q == 2'(u) && spare_beat_q == 2'd1};
  assign lemma_header[u] = !waits[u] || !made_wide[u] && made_address[u] == {50'b0, newest_at[13:2]}
      && said(made_dwords[u], made_first_be[u], made_last_be[u]) == {newest_at[1:0], 8'b0, bytes_of_q[5*newest+:5]};
  assign lemma_beats[u] = beat[u] != 2'd3 && (beat[u] == 2'd0 || waits[u]) && (u != READ || beat[u] != 2'd2)
      && (u == READ || (u == WRITE ? \engine.units.gen_sender[0].sender.within_q : \engine.units.gen_sender[1].sender.within_q ) == (beat[u] == 2'd2));
  assign lemma_held_beat[u] = !held[u] || beat_q != 2'd3 && beat[u] == follow(beat_q, held_last[u])
      && \engine.transmit.first_q [PORT] == (beat_q == 2'd0) && (beat_q != 2'd0 || !held_last[u])
      && \engine.transmit.label_q [16*PORT+:2] == 2'(u)
      && (beat_q != 2'd0 || is_first(\engine.transmit.data_q [64*PORT+:64], 2'(u), held_at, bytes_of_q[5*sent_q+:5]))
      && (beat_q != 2'd1 || is_second(\engine.transmit.data_q [64*PORT+:64], held_at));
  assign lemma_packets_fit[u] = (there & ~fits) == '0;
  assign lemma_packets_follow[u] = (there & ~follows) == '0;
  assign lemma_port[u] = dropped_q && made_q == seen_q || until_q[u] == first_until && (first_until == '0 || at_q[u] == first_at)
      && further_q[u] == (first_until != '0 && count_q == 2'd2 && !first_index);
  assign lemma_label[u] = !started_q || \engine.unit_label [16*u+:2] == 2'(u);
  // A packet that has begun to move to the buffer has the link.
  assign lemma_one_packet_is_open[u] = open_q && open_unit_q == 2'(u)
      ? \engine.transmit.sends.locked_q && granted == 7'(1 << PORT) && next_beats[2*u+:2] == follow(open_beat_q, 1'b0)
      : next_beats[2*u+:2] == 2'd0;
end

// The two beats in the buffer, and the packet that has left in part.
logic [13:0] front_at;
logic [4:0]  front_bytes;
logic [13:0] spare_at;
logic [4:0]  spare_bytes;
logic [13:0] early_at;
logic [4:0]  early_bytes;
logic [1:0]  spare_seen;
logic        is_front;
logic        is_spare;
logic        is_early;
logic        is_end;
assign front_at    = at_of[56*front_unit_q+14*seen[2*front_unit_q+:2]+:14];
assign front_bytes = bytes_of[20*front_unit_q+5*seen[2*front_unit_q+:2]+:5];
assign spare_seen  = seen[2*spare_unit_q+:2] + {1'b0, front_unit_q == spare_unit_q && front_beat_q == 2'd1};
assign spare_at    = at_of[56*spare_unit_q+14*spare_seen+:14];
assign spare_bytes = bytes_of[20*spare_unit_q+5*spare_seen+:5];
assign early_at    = at_of[56*early_unit_q+14*seen[2*early_unit_q+:2]+:14];
assign early_bytes = bytes_of[20*early_unit_q+5*seen[2*early_unit_q+:2]+:5];

assign is_front = !front || front_unit_q != 2'd3 && front_beat_q != 2'd3 && front_data[68] == (front_beat_q == 2'd0)
    && (front_beat_q != 2'd0 || !front_data[69]) && front_data[71:70] == front_unit_q
    && (front_beat_q != 2'd0 || is_first(front_data[63:0], front_unit_q, front_at, front_bytes))
    && (front_beat_q != 2'd1 || is_second(front_data[63:0], front_at))
    && (inside_q ? front_unit_q == early_unit_q && front_beat_q == (second_q ? 2'd1 : 2'd2) : front_beat_q == 2'd0);
assign is_spare = !spare || front && spare_unit_q != 2'd3 && spare_beat_q != 2'd3 && spare_data[68] == (spare_beat_q == 2'd0)
    && (spare_beat_q != 2'd0 || !spare_data[69]) && spare_data[71:70] == spare_unit_q
    && (spare_beat_q != 2'd0 || is_first(spare_data[63:0], spare_unit_q, spare_at, spare_bytes))
    && (spare_beat_q != 2'd1 || is_second(spare_data[63:0], spare_at))
    && spare_beat_q == follow(front_beat_q, front_data[69]) && (front_data[69] || spare_unit_q == front_unit_q);
assign is_early = (!second_q || inside_q) && (!inside_q || early_unit_q != 2'd3) && (!second_q || is_first(early_q, early_unit_q, early_at, early_bytes));
assign is_end = spare ? open_q == !spare_data[69] && open_unit_q == spare_unit_q && open_beat_q == spare_beat_q
    : front ? open_q == !front_data[69] && open_unit_q == front_unit_q && open_beat_q == front_beat_q
    : open_q == inside_q && (!open_q || open_unit_q == early_unit_q && (open_beat_q == 2'd0) == second_q && open_beat_q != 2'd3);

logic is_one_port;
logic is_own_port;
logic is_kept;
logic is_set;
logic is_not_reset;
assign is_not_reset = \engine.flr.state_q == 2'd0;
assign is_one_port = !\engine.transmit.sends.locked_q || (granted & (granted - 1'b1)) == '0;
assign is_own_port = (\engine.transmit.valid_q & 7'b1100101) == '0;
assign is_kept     = !\engine.transmit.sends.locked_q || (granted & ~\engine.transmit.offered_q ) == '0;
assign is_set      = (lemma_set_up & lemma_begin & lemma_splitter & lemma_request & lemma_packets_are_counted & lemma_header & lemma_beats
    & lemma_held_beat & lemma_packets_fit & lemma_packets_follow & lemma_port & lemma_label & lemma_one_packet_is_open) == '1
    && is_not_reset && is_one_port && is_own_port && is_kept && is_front && is_spare && is_early && is_end
    && (!(reads || writes) || is_next && is_in_its_page) && (!writes || is_of_a_writer);

if (PART == LINK) begin : gen_link
  always_comb assume (later_q || reset_q || is_set);

  always_comb if (judged) begin
    the_list_is_whole_before_its_transfer: assert (lemma_set_up == '1);
    a_unit_without_a_range_has_nothing: assert (lemma_begin == '1);
    the_splitter_is_where_the_host_expects_it: assert (lemma_splitter == '1);
    a_request_is_within_its_range: assert (lemma_request == '1);
    packets_are_counted: assert (lemma_packets_are_counted == '1);
    a_header_is_that_of_its_request: assert (lemma_header == '1);
    a_packet_has_its_beats: assert (lemma_beats == '1);
    a_beat_is_that_of_its_packet: assert (lemma_held_beat == '1);
    a_packet_is_within_its_descriptor: assert (lemma_packets_fit == '1);
    a_packet_begins_where_the_last_one_ended: assert (lemma_packets_follow == '1);
    the_port_is_where_the_host_expects_it: assert (lemma_port == '1);
    a_packet_has_the_label_of_its_unit: assert (lemma_label == '1);
    one_packet_is_open: assert (lemma_one_packet_is_open == '1);
    the_function_is_not_reset: assert (is_not_reset);
    one_port_has_the_link: assert (is_one_port);
    no_other_port_holds_a_beat: assert (is_own_port);
    a_port_with_the_link_goes_on: assert (is_kept);
    the_next_beat_is_that_of_its_packet: assert (is_front);
    the_beat_behind_it_is_that_of_its_packet: assert (is_spare);
    a_header_that_has_left_in_part_is_that_of_its_request: assert (is_early);
    the_open_packet_is_the_last_one: assert (is_end);
    // What is assumed does not exclude what is judged.
    writes_are_possible: cover (writes && by == 2'(WRITE) && sent_bytes == 13'd5 && until_q[WRITE] == 5'd7);
    reads_are_possible: cover (reads && by == 2'(READ) && sent_bytes == 13'd5 && made[2*READ+:2] == seen[2*READ+:2] + 2'd2);
    commands_are_possible: cover (writes && by == 2'(PEER) && made[2*PEER+:2] == seen[2*PEER+:2] + 2'd3);
  end
end
