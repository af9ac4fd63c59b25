// Properties of the sending unit: it writes what the ranges have, all of it, within the rules of packets.

`include "packet.svh"

logic [12:0] payload_q;
always_ff @(posedge clk_i) payload_q <= payload_i;
always_comb begin
  assume (payload_i == 13'd8 || payload_i == 13'd128);
  assume (!started_q || rst_i || payload_i == payload_q);
  assume (level_i <= 13'd4096);
end

always_comb if (started_q && !rst_i) begin
  nothing_is_written_outside_the_ranges: assert (!(packet_whole && hits) || granted_q);
  a_payload_is_at_most_the_largest: assert (!packet_whole || {packet_dwords, 2'b0} <= payload_i);
  a_packet_stays_in_its_page: assert (!packet_whole || {1'b0, packet_first[11:0]} + packet_bytes <= 13'd4096);
  at_the_end_everything_is_written: assert (!done_o || moved_q == asked_q);
  two_packets_and_the_end: cover (done_o && moved_q == 32'd13);
end
