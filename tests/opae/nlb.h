/* SPDX-License-Identifier: Apache-2.0 */
/* The native loopback copies lines from one buffer to another, and writes a line of status behind the last. */
#ifndef NLB_H
#define NLB_H

#include "check.h"
#include <unistd.h>

enum {
	STATUS_BASE = 0x110,
	SOURCE = 0x120,
	TARGET = 0x128,
	LINES = 0x130,
	CONTROL = 0x138,
	CONFIGURATION = 0x140,
	PENDING = 0x168,
	STATUS = 0x40
};

enum { OUT_OF_RESET = 1, START = 2, STOP = 4 };

/* What the published sample sets: the delay of a cache that this design does not have. */
enum { CONFIGURED = 0x42000 };

static inline void set32(fpga_handle handle, uint64_t offset, uint32_t value)
{
	OK(fpgaWriteMMIO32(handle, 0, offset, value));
}

static inline void set64(fpga_handle handle, uint64_t offset, uint64_t value)
{
	OK(fpgaWriteMMIO64(handle, 0, offset, value));
}

/* Between two looks at the status. */
static inline void sleep_between(void)
{
	usleep(100);
}

static inline void spin(void)
{
}

/* Copies `size` bytes and compares them: nanoseconds from the start until the status says so. */
static inline uint64_t nlb_copy(fpga_handle handle, uint64_t size, void (*wait)(void))
{
	struct buffer status = pin(handle, 2 << 20);
	struct buffer source = pin(handle, 2 * size), target = pin(handle, 2 * size);
	volatile uint64_t *done = (volatile uint64_t *)(status.bytes + STATUS);
	uint64_t began, took, pending, looks = 0;

	memset(status.bytes, 0, STATUS + LINE);
	memset(source.bytes, 0xaf, size);
	memset(target.bytes, 0xbe, size);
	for (uint64_t line = 0; line < size / LINE; line++)
		((uint32_t *)(source.bytes + line * LINE))[15] = (uint32_t)line + 1;

	OK(fpgaReset(handle));
	set64(handle, STATUS_BASE, status.address);
	set32(handle, CONTROL, 0);
	set32(handle, CONTROL, OUT_OF_RESET);
	set64(handle, SOURCE, source.address / LINE);
	set64(handle, TARGET, target.address / LINE);
	set32(handle, LINES, (uint32_t)(size / LINE));
	set32(handle, CONFIGURATION, CONFIGURED);
	began = now_ns();
	set32(handle, CONTROL, OUT_OF_RESET | START);
	while (!(*done & 1)) {
		wait();
		CHECK(++looks < 1000000000);
	}
	took = now_ns() - began;

	set32(handle, CONTROL, OUT_OF_RESET | START | STOP);
	for (int tries = 0;; tries++) {
		OK(fpgaReadMMIO64(handle, 0, PENDING, &pending));
		if (pending == 0)
			break;
		CHECK(tries < 100);
		usleep(1000);
	}
	CHECK(memcmp(source.bytes, target.bytes, size) == 0);
	unpin(handle, &target);
	unpin(handle, &source);
	unpin(handle, &status);
	return took;
}

#endif
