/* SPDX-License-Identifier: Apache-2.0 */
/* The user clock: it is set and read as the published tool does, and the unit runs at it.
 *
 * user_clock FILE.gbs: a bitstream that is made for 200 MHz
 */
#include "nlb.h"

enum { SIZE = 1 << 20 };

static void expect(fpga_handle handle, uint64_t hertz)
{
	uint64_t high = 0, low = 0;

	OK(fpgaGetUserClock(handle, &high, &low, 0));
	CHECK(high == hertz && low == hertz / 2);
}

/* The content of a bitstream. */
static uint8_t *read_image(const char *name, size_t *size)
{
	static uint8_t bytes[4096];
	FILE *file = fopen(name, "rb");

	CHECK(file != NULL);
	*size = fread(bytes, 1, sizeof(bytes), file);
	CHECK(fclose(file) == 0 && *size > 0 && *size < sizeof(bytes));
	return bytes;
}

/* Nanoseconds of a copy at so many MHz. */
static uint64_t copy_at(fpga_handle handle, uint64_t megahertz)
{
	uint64_t took;

	OK(fpgaSetUserClock(handle, megahertz, megahertz / 2, 0));
	expect(handle, megahertz * 1000000);
	took = nlb_copy(handle, SIZE, spin);
	printf("%llu MHz: %llu ns\n", (unsigned long long)megahertz, (unsigned long long)took);
	return took;
}

int main(int argc, char **argv)
{
	fpga_handle handle = open_accelerator(NLB_0), device = NULL;
	fpga_token token = the_only(FPGA_DEVICE, NULL);
	fpga_object object = NULL;
	char text[64] = "";
	uint32_t length = 0;
	uint64_t slow;
	size_t size;
	uint8_t *image;

	CHECK(argc == 2);
	/* 64 bytes a cycle: at 50 MHz that is far less than the link takes. */
	slow = copy_at(handle, 50);
	CHECK(slow >= SIZE / LINE * 20 && slow < SIZE / LINE * 21);
	CHECK(copy_at(handle, 25) > slow + SIZE / LINE * 19);
	CHECK(copy_at(handle, 400) < slow);
	OK(fpgaHandleGetObject(handle, "dfl_dev*/userclk/frequency", &object, FPGA_OBJECT_GLOB));
	OK(fpgaObjectGetSize(object, &length, 0));
	CHECK(length < sizeof(text));
	OK(fpgaObjectRead(object, (uint8_t *)text, 0, length, 0));
	CHECK(strncmp(text, "200000 400000", 13) == 0);
	OK(fpgaDestroyObject(&object));

	SAYS(FPGA_INVALID_PARAM, fpgaSetUserClock(handle, 24, 12, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaSetUserClock(handle, 1201, 600, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaSetUserClock(handle, 100, 101, 0));
	expect(handle, 400000000);
	OK(fpgaClose(handle));

	/* A bitstream sets the clock that it is made for, unless it is told not to. */
	OK(fpgaOpen(token, &device, 0));
	image = read_image(argv[1], &size);
	OK(fpgaReconfigureSlot(device, 0, image, size, FPGA_RECONF_SKIP_USRCLK));
	handle = open_accelerator(NLB_0);
	expect(handle, 400000000);
	OK(fpgaClose(handle));
	OK(fpgaReconfigureSlot(device, 0, image, size, 0));
	handle = open_accelerator(NLB_0);
	expect(handle, 200000000);
	OK(fpgaClose(handle));
	OK(fpgaClose(device));
	OK(fpgaDestroyToken(&token));
	printf("the clock is right\n");
	return 0;
}
