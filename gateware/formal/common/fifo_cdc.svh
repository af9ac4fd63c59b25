// Properties of the FIFO between two clocks, from its configuration on, with clocks that change at any step: words come out in order,
// unchanged, none is lost or written over, and of a gray pointer one bit changes at a time.

(* gclk *) logic step;
always_comb assume (!write_rst_i && !read_rst_i);

// One word is watched: the number of words before it, and its value when it came.
(* anyconst *) logic [4:0] number;
logic [4:0]       pushed_q;
logic [4:0]       popped_q;
logic             came_q;
logic [WIDTH-1:0] word_q;
initial pushed_q = '0;
initial popped_q = '0;
initial came_q   = 1'b0;
always_ff @(posedge write_clk_i) if (push) begin
  pushed_q <= pushed_q + 1'b1;
  if (pushed_q == number) came_q <= 1'b1;
  if (pushed_q == number) word_q <= data_i;
end
always_ff @(posedge read_clk_i) if (valid_o && ready_i) popped_q <= popped_q + 1'b1;

// The pointers a step before.
logic [BITS:0] write_before_q;
logic [BITS:0] read_before_q;
logic [BITS:0] write_change;
logic [BITS:0] read_change;
initial write_before_q = '0;
initial read_before_q  = '0;
always_ff @(posedge step) begin
  write_before_q <= write_gray_q;
  read_before_q  <= read_gray_q;
end
assign write_change = write_before_q ^ write_gray_q;
assign read_change  = read_before_q ^ read_gray_q;

always_comb begin
  one_bit_of_the_write_pointer_changes: assert ((write_change & (write_change - 1'b1)) == '0);
  one_bit_of_the_read_pointer_changes: assert ((read_change & (read_change - 1'b1)) == '0);
  a_word_is_unchanged: assert (!(valid_o && popped_q == number) || came_q && data_o == word_q);
  no_word_comes_of_nothing: assert (!valid_o || popped_q < pushed_q);
  the_memory_is_not_overfull: assert (write_q - read_q <= (BITS + 1)'(DEPTH));
  full_then_a_word_leaves: cover (!ready_o && popped_q != '0 && valid_o);
end
