/* SPDX-License-Identifier: Apache-2.0 */
/* One of several processes on a card.
 *
 * two hold    opens the card, says so, and closes it when a byte comes
 * two share   the same, but lets others open it who do
 * two busy    finds that another has it
 * two copy    has it for itself, and uses it
 */
#include "nlb.h"

static void hold(int flags)
{
	fpga_token token = the_only(FPGA_ACCELERATOR, NLB_0);
	fpga_handle handle = NULL;
	struct buffer buffer;
	char told;

	OK(fpgaOpen(token, &handle, flags));
	OK(fpgaDestroyToken(&token));
	buffer = pin(handle, 1 << 20);
	memset(buffer.bytes, 1, 1 << 20);
	printf("open\n");
	fflush(stdout);
	CHECK(read(STDIN_FILENO, &told, 1) == 1);
	OK(fpgaClose(handle));
}

static void busy(void)
{
	fpga_token token = the_only(FPGA_ACCELERATOR, NLB_0);
	fpga_handle handle = NULL;

	SAYS(FPGA_BUSY, fpgaOpen(token, &handle, 0));
	OK(fpgaDestroyToken(&token));
	printf("busy\n");
}

static void copy(void)
{
	fpga_handle handle = open_accelerator(NLB_0);

	nlb_copy(handle, 1 << 16, sleep_between);
	OK(fpgaClose(handle));
	printf("copied\n");
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "hold") == 0)
		hold(0);
	else if (strcmp(what, "share") == 0)
		hold(FPGA_OPEN_SHARED);
	else if (strcmp(what, "busy") == 0)
		busy();
	else if (strcmp(what, "copy") == 0)
		copy();
	else
		return 2;
	return 0;
}
