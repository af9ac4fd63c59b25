/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of the native loopback, as the published diagnostics set them.
 *
 * nlb_modes copy|read|write|both|exchange|other [STRIDE]
 */
#include <stdlib.h>

#include "nlb.h"

#define NLB_3 "f7df405c-bd7a-cf72-22f1-44b0b93acd18"
#define NLB_7 "7baf4dea-a57c-e91e-168a-455d9bda88a3"

enum { NOTICE = 0x158, COUNTS = 0x160, ERRORS = 0x170, STRIDES = 0x178 };
enum { COPY, READ, WRITE, BOTH, EXCHANGE = 7, OTHER = 5 };
enum { CONTINUOUS = 1 << 1, MIXED_READS = 3 << 9, BY_REGISTER = 1 << 26 };
enum { MOST_LINES = 4096, MOST = MOST_LINES * 64 };

static fpga_handle handle;
static struct buffer status, source, target;

static void start_test(uint32_t lines, uint32_t configuration)
{
	memset(status.bytes, 0, 4096);
	set64(handle, STATUS_BASE, status.address);
	set32(handle, CONTROL, 0);
	set32(handle, CONTROL, OUT_OF_RESET);
	set64(handle, SOURCE, source.address / LINE);
	set64(handle, TARGET, target.address / LINE);
	set32(handle, LINES, lines);
	set32(handle, CONFIGURATION, configuration);
	set32(handle, CONTROL, OUT_OF_RESET | START);
}

/* The words of the status line, when the test is done. */
static volatile const uint32_t *end_test(void)
{
	volatile const uint32_t *words = (volatile const uint32_t *)(status.bytes + STATUS);

	for (int tries = 0; !(words[0] & 1); tries++) {
		CHECK(tries < 100000);
		usleep(100);
	}
	return words;
}

/* A test by lines and requests, and by time. */
static void move(uint32_t mode, uint32_t stride)
{
	uint32_t reads = mode != WRITE, writes = mode != READ;
	volatile const uint32_t *words;
	uint64_t registers;

	for (uint32_t request = 0; request < 4; request += request + 1)
		for (uint32_t lines = 4; lines <= MOST_LINES / (1 + stride); lines *= 8) {
			double cycles;

			if (stride)
				set64(handle, STRIDES, stride);
			start_test(lines, mode << 2 | request << 5 | MIXED_READS);
			words = end_test();
			cycles = words[2] | (uint64_t)words[3] << 32;
			CHECK(words[1] == 0 && cycles >= lines);
			CHECK(words[4] == reads * lines && words[5] == writes * lines);
			OK(fpgaReadMMIO64(handle, 0, COUNTS, &registers));
			CHECK(registers == ((uint64_t)reads * lines << 32 | writes * lines));
			printf("%u lines in requests of %u: %.0f cycles\n", lines, request + 1, cycles);
		}
	OK(fpgaReadMMIO64(handle, 0, ERRORS, &registers));
	CHECK(registers == 200ull << 32);
	start_test(64, mode << 2 | CONTINUOUS);
	usleep(2000);
	CHECK(!(status.bytes[STATUS] & 1));
	set32(handle, CONTROL, OUT_OF_RESET | START | STOP);
	words = end_test();
	/* 2 ms at more than 2 GB/s. */
	CHECK(words[4] + words[5] > 2000 * 2000 / 64);
}

/* Lines go to the program and back, with a notice in memory or by a register. */
static void exchange(int by_register)
{
	enum { COUNT = 64 };
	volatile uint32_t *told = (volatile uint32_t *)(target.bytes + COUNT * LINE);
	uint32_t *answer = (uint32_t *)(source.bytes + COUNT * LINE);
	volatile const uint32_t *words;

	memset(target.bytes, 0, (COUNT + 1) * LINE);
	memset(source.bytes, 0, (COUNT + 1) * LINE);
	start_test(COUNT, EXCHANGE << 2 | (by_register ? BY_REGISTER : 0));
	for (int tries = 0; told[0] != 0xffffffff; tries++) {
		CHECK(tries < 100000);
		usleep(100);
	}
	memcpy(source.bytes, target.bytes, COUNT * LINE);
	if (by_register)
		set32(handle, NOTICE, 1);
	else
		answer[0] = answer[1] = answer[2] = 0xffffffff;
	words = end_test();
	CHECK(words[1] == 0);
	printf("exchanged in %u cycles\n", words[2]);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "copy", "read", "write", "both", "", "other", "", "exchange" };
	uint32_t mode = 0;

	CHECK(argc > 1);
	while (strcmp(argv[1], names[mode]) != 0)
		CHECK(++mode < 8);
	handle = open_accelerator(mode == COPY ? NLB_0 : mode == EXCHANGE ? NLB_7 : NLB_3);
	status = pin(handle, 2 << 20);
	source = pin(handle, MOST + 4096);
	target = pin(handle, MOST + 4096);
	OK(fpgaReset(handle));
	if (mode == EXCHANGE) {
		exchange(0);
		exchange(1);
	} else if (mode == OTHER) {
		start_test(64, OTHER << 2);
		CHECK(end_test()[1] != 0);
	} else {
		move(mode, argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 0);
	}
	unpin(handle, &target);
	unpin(handle, &source);
	unpin(handle, &status);
	OK(fpgaClose(handle));
	printf("the test is right\n");
	return 0;
}
