/* SPDX-License-Identifier: Apache-2.0 */
/* A host exerciser of the later cards: copies, reads and writes, of host memory alone or with the card's memory; and copies with
 * atomic functions.
 *
 * exerciser lb|mem copy|read|write|both [interrupt]
 */
#include "check.h"
#include <poll.h>
#include <unistd.h>

#define HOST_EXERCISER "56e203e9-864f-49a7-b94b-12284c31e02b"
#define MEMORY_EXERCISER "8568ab4e-6ba5-4616-bb65-2a578330a8eb"

enum {
	SCRATCH = 0x100,
	STATUS_LOW = 0x110,
	STATUS_HIGH = 0x114,
	SOURCE = 0x120,
	TARGET = 0x128,
	LAST_LINE = 0x130,
	CONTROL = 0x138,
	CONFIGURATION = 0x140,
	INTERRUPT = 0x150,
	COUNTS = 0x160,
	PENDING = 0x168,
	INFORMATION = 0x180
};

enum { OUT_OF_RESET = 1, START = 2, STOP = 4 };
enum { CONTINUOUS = 1 << 1, TEST_INTERRUPT = 1 << 29 };
enum { ATOMIC = 1 << 7, EIGHT_BYTES = 1 << 8, FETCH_ADD = 0 << 9, SWAP = 1 << 9, COMPARE = 2 << 9 };
enum { SIZE = 1 << 16, LINES = SIZE / 64, VECTOR = 2 };

static fpga_handle handle;

static void set32(uint64_t offset, uint32_t value)
{
	OK(fpgaWriteMMIO32(handle, 0, offset, value));
}

static uint64_t get64(uint64_t offset)
{
	uint64_t value = 0;

	OK(fpgaReadMMIO64(handle, 0, offset, &value));
	return value;
}

/* Waits for the flag of completion in memory, as the published program does. */
static void wait_for(volatile const uint8_t *flag)
{
	for (int tries = 0; !(*flag & 1); tries++) {
		CHECK(tries < 30000);
		usleep(100);
	}
}

static void reset(void)
{
	set32(CONTROL, 0);
	usleep(1000);
	set32(CONTROL, OUT_OF_RESET);
}

/* A copy with an atomic function: the source is changed, and the old values are copied. */
static void copy_atomically(struct buffer *source, struct buffer *target, struct buffer *status)
{
	static const uint32_t functions[] = { FETCH_ADD, SWAP, COMPARE };
	volatile const uint32_t *words = (volatile const uint32_t *)status->bytes;
	uint64_t *changed = (uint64_t *)source->bytes, *copied = (uint64_t *)target->bytes;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		memset(source->bytes, 0, SIZE);
		memset(target->bytes, 0xbe, SIZE);
		memset(status->bytes, 0, 4096);
		for (uint64_t line = 0; line < LINES; line++)
			changed[line * 8] = line % 2 ? line : 1000000 + line;
		reset();
		OK(fpgaWriteMMIO64(handle, 0, LAST_LINE, LINES - 1));
		OK(fpgaWriteMMIO64(handle, 0, CONFIGURATION, ATOMIC | EIGHT_BYTES | functions[i]));
		set32(CONTROL, OUT_OF_RESET | START);
		wait_for(status->bytes);
		CHECK(words[1] == 0 && words[4] == LINES && words[5] == LINES);
		for (uint64_t line = 0; line < LINES; line++) {
			uint64_t old = line % 2 ? line : 1000000 + line;
			uint64_t expected = functions[i] == FETCH_ADD ? old + line :
					    functions[i] == SWAP      ? line :
					    old == line               ? ~old :
									old;

			CHECK(copied[line * 8] == old);
			CHECK(changed[line * 8] == expected);
		}
	}
	printf("atomic functions are right\n");
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "copy", "read", "write", "both" };
	int has_memory = argc > 1 && strcmp(argv[1], "mem") == 0, interrupts = argc > 3;
	uint32_t mode = 0, lines_code;
	struct buffer source, target, status;
	fpga_event_handle event = NULL;
	struct pollfd polled = { .events = POLLIN };

	CHECK(argc > 2);
	while (strcmp(argv[2], names[mode]) != 0)
		CHECK(++mode < 4);
	handle = open_accelerator(has_memory ? MEMORY_EXERCISER : HOST_EXERCISER);
	OK(fpgaReset(handle));
	CHECK((get64(INFORMATION) & 0xffff) == 200);
	CHECK((get64(INFORMATION) >> 16 & 0xff) == 2 && !(get64(INFORMATION) >> 24 & 1));
	OK(fpgaWriteMMIO64(handle, 0, SCRATCH, 0x1234567890abcdef));
	CHECK(get64(SCRATCH) == 0x1234567890abcdef);
	source = pin(handle, SIZE);
	target = pin(handle, SIZE);
	status = pin(handle, 4096);
	if (interrupts) {
		OK(fpgaCreateEventHandle(&event));
		OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, VECTOR));
		OK(fpgaGetOSObjectFromEventHandle(event, &polled.fd));
	}
	/* Requests of 1, 2, 4, 8 and 16 lines. */
	for (lines_code = 0; lines_code < 5; lines_code++) {
		volatile const uint32_t *words = (volatile const uint32_t *)status.bytes;
		uint32_t reads = mode == 2 ? 0 : LINES, writes = mode == 1 ? 0 : LINES;
		uint64_t cycles;

		fill(source.bytes, SIZE, lines_code + 1);
		memset(target.bytes, 0xbe, SIZE);
		memset(status.bytes, 0, 4096);
		reset();
		OK(fpgaWriteMMIO64(handle, 0, SOURCE, source.address / LINE));
		OK(fpgaWriteMMIO64(handle, 0, TARGET, target.address / LINE));
		set32(STATUS_LOW, (uint32_t)(status.address / LINE));
		set32(STATUS_HIGH, (uint32_t)(status.address / LINE >> 32));
		OK(fpgaWriteMMIO64(handle, 0, LAST_LINE, LINES - 1));
		OK(fpgaWriteMMIO64(handle, 0, CONFIGURATION,
				   mode << 2 | (lines_code & 3) << 5 | (lines_code >> 2) << 30 |
					   (interrupts ? TEST_INTERRUPT : 0)));
		if (interrupts)
			set32(INTERRUPT, VECTOR << 16);
		set32(CONTROL, OUT_OF_RESET | START);
		if (interrupts) {
			uint64_t count = 0;

			CHECK(poll(&polled, 1, 10000) == 1);
			CHECK(read(polled.fd, &count, sizeof(count)) == sizeof(count) && count == 1);
			CHECK(status.bytes[0] & 1);
		} else {
			wait_for(status.bytes);
		}
		cycles = words[2] | (uint64_t)(words[3] & 0xff) << 32;
		/* From the first line to the last, one a cycle at most. */
		CHECK(words[1] == 0 && cycles + 1 >= LINES);
		CHECK(words[4] == reads && words[5] == writes);
		CHECK(get64(COUNTS) == ((uint64_t)reads << 32 | writes));
		for (int tries = 0; get64(PENDING) != 0; tries++)
			CHECK(tries < 100);
		if (mode == 0)
			CHECK(memcmp(source.bytes, target.bytes, SIZE) == 0);
		else if (has_memory || mode == 1)
			CHECK(target.bytes[0] == 0xbe && target.bytes[SIZE - 1] == 0xbe);
		else
			for (uint32_t line = 0; line < LINES; line++)
				CHECK(((uint32_t *)target.bytes)[line * 16] == line);
		printf("%u lines: %llu cycles, %.3f GB/s\n", 1u << lines_code,
		       (unsigned long long)cycles, SIZE * 0.2 / (double)cycles);
	}
	/* One line, and then for ever until it is told to complete. */
	for (int ever = 0; ever < 2 && !interrupts; ever++) {
		volatile const uint32_t *words = (volatile const uint32_t *)status.bytes;

		memset(status.bytes, 0, 4096);
		reset();
		OK(fpgaWriteMMIO64(handle, 0, LAST_LINE, ever ? LINES - 1 : 0));
		OK(fpgaWriteMMIO64(handle, 0, CONFIGURATION, mode << 2 | (ever ? CONTINUOUS : 0)));
		set32(CONTROL, OUT_OF_RESET | START);
		if (ever) {
			usleep(1000);
			CHECK(!(status.bytes[0] & 1));
			set32(CONTROL, OUT_OF_RESET | STOP);
		}
		wait_for(status.bytes);
		CHECK(words[2] > 0 && words[4] + words[5] > (ever ? 2u * LINES : 0));
	}
	if (mode == 0 && !interrupts)
		copy_atomically(&source, &target, &status);
	set32(CONTROL, 0);
	if (interrupts) {
		OK(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
		OK(fpgaDestroyEventHandle(&event));
	}
	unpin(handle, &status);
	unpin(handle, &target);
	unpin(handle, &source);
	OK(fpgaClose(handle));
	return 0;
}
