/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: a generator of a pattern to host memory (S2M), and host memory to a checker of one (M2S), by the pointer to registers.
 *
 * streaming [KIB]: of the longer transfers.
 */
#include "check.h"
#include <poll.h>
#include <unistd.h>

#define BUFFER_SIZE (1ull << 20)

enum { BUFFERS = 8 };

/* Of an engine, from its feature. */
enum { STATUS = 0x40, CONTROL = 0x44, RESPONSES = 0x4c, DESCRIPTOR = 0x60, RESPONSE_BYTES = 0x80 };
enum { RESPONSE_STATUS = 0x84, VALVE_CONTROL = 0xac };

/* Of the accelerator. A pattern has a memory, and four registers. */
enum { MULTIPLEXER = 0x40, DEMULTIPLEXER = 0x50 };
enum { CHECKER_MEMORY = 0x1000, GENERATOR_MEMORY = 0x2000, CHECKER = 0x3000, GENERATOR = 0x3010 };
enum { PATTERN_BEATS = 0, PATTERN_LENGTH = 4, PATTERN_CONTROL = 8, PATTERN_STATUS = 12 };

/* Bits of status, of control, of a descriptor's control, of a response, of the valve's control, and of a pattern's registers. */
enum { FULL = 1 << 2, STOPPED = 1 << 5, INTERRUPT = 1 << 9 };
enum { STOP = 1 << 0, INTERRUPTS_ENABLED = 1 << 4, FLUSH_DESCRIPTORS = 1 << 6, FLUSH_WRITER = 1 << 8 };
enum { MAKES_END = 1 << 9, ENDS_WITH_PACKET = 1 << 12, PACKET_INTERRUPTS = 1 << 13, INTERRUPTS = 1 << 14 };
enum { PACKET_ENDED = 1 << 9 };
enum { VALVE_OPEN = 1 << 0, UNTIL_LENGTH = 1 << 1, UNTIL_PACKET = 1 << 2 };
enum { END_OF_PACKET = 1 << 3, COMPLETE = 1 << 1, FAILED = 1 << 2 };
#define GO (1u << 31)
#define HOST 0x1000000000000ull

static volatile uint8_t *registers;
static uint8_t pattern[40 * LINE];

struct engine {
	fpga_handle handle;
	uint64_t base;
	struct buffer buffers[BUFFERS];
	fpga_event_handle event;
	struct pollfd interrupt;
	/* Descriptors that were handed over and that are done; buffers take turns. */
	uint64_t given, done;
};

static volatile uint32_t *at(uint64_t offset)
{
	return (volatile uint32_t *)(registers + offset);
}

static void open_engine(struct engine *engine, fpga_handle handle, uint64_t base, uint32_t vector)
{
	CHECK(base != 0);
	memset(engine, 0, sizeof(*engine));
	engine->handle = handle;
	engine->base = base;
	for (int i = 0; i < BUFFERS; i++)
		engine->buffers[i] = pin(handle, BUFFER_SIZE);
	OK(fpgaCreateEventHandle(&engine->event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, engine->event, vector));
	OK(fpgaGetOSObjectFromEventHandle(engine->event, &engine->interrupt.fd));
	engine->interrupt.events = POLLIN;
	*at(base + CONTROL) = INTERRUPTS_ENABLED;
}

static void close_engine(struct engine *engine)
{
	*at(engine->base + CONTROL) = 0;
	OK(fpgaUnregisterEvent(engine->handle, FPGA_EVENT_INTERRUPT, engine->event));
	OK(fpgaDestroyEventHandle(&engine->event));
	for (int i = 0; i < BUFFERS; i++)
		unpin(engine->handle, &engine->buffers[i]);
}

static uint8_t *buffer_of(struct engine *engine, uint64_t number)
{
	return engine->buffers[number % BUFFERS].bytes;
}

/* Hands over the next buffer: as the source of a stream, or as what one is written to. */
static void give(struct engine *engine, int is_source, uint64_t length, uint32_t control)
{
	uint64_t address = engine->buffers[engine->given++ % BUFFERS].address | HOST;
	uint64_t source = is_source ? address : 0, target = is_source ? 0 : address;
	volatile uint64_t *place = (volatile uint64_t *)at(engine->base + DESCRIPTOR);

	while (*at(engine->base + STATUS) & FULL)
		;
	place[0] = target << 32 | (uint32_t)source;
	place[1] = (uint32_t)length;
	place[2] = source >> 32 << 32 | 0x00010001;
	place[3] = (uint64_t)(control | GO) << 32 | target >> 32;
}

/* Sleeps until interrupts come: how many. */
static uint64_t sleep_for_interrupts(struct engine *engine)
{
	uint64_t count = 0;

	CHECK(poll(&engine->interrupt, 1, -1) == 1);
	CHECK(read(engine->interrupt.fd, &count, sizeof(count)) == sizeof(count) && count > 0);
	*at(engine->base + STATUS) = INTERRUPT;
	return count;
}

/* Waits until one more descriptor of a stream to memory is done: its bytes, and whether a packet ended with it. */
static uint32_t response(struct engine *engine, int *ends_packet)
{
	uint32_t bytes;

	while (*at(engine->base + RESPONSES) == 0)
		sleep_for_interrupts(engine);
	bytes = *at(engine->base + RESPONSE_BYTES);
	*ends_packet = (*at(engine->base + RESPONSE_STATUS) & PACKET_ENDED) != 0;
	engine->done++;
	return bytes;
}

static void set_pattern(uint64_t memory, uint64_t controls, uint64_t bytes, uint32_t control)
{
	for (uint64_t i = 0; i < sizeof(pattern); i += 8)
		*(volatile uint64_t *)at(memory + i) = *(uint64_t *)(pattern + i);
	*at(controls + PATTERN_BEATS) = (uint32_t)((bytes + LINE - 1) / LINE);
	*at(controls + PATTERN_LENGTH) = sizeof(pattern) / LINE;
	*at(controls + PATTERN_CONTROL) = control | (uint32_t)(bytes % LINE) << 8 | GO;
}

/* Whether these are the bytes of the pattern from `offset` on. */
static int is_pattern(const uint8_t *bytes, uint64_t offset, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (bytes[i] != pattern[(offset + i) % sizeof(pattern)])
			return 0;
	return 1;
}

static void make_pattern(uint8_t *bytes, uint64_t offset, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		bytes[i] = pattern[(offset + i) % sizeof(pattern)];
}

static void say(const char *what, uint64_t bytes, uint64_t began)
{
	uint64_t ns = now_ns() - began;

	printf("%s: %llu bytes, %.3f GB/s\n", what, (unsigned long long)bytes,
	       (double)bytes / (double)ns);
}

/* A stream whose length is known. */
static void generate(struct engine *s2m, uint64_t size)
{
	uint64_t began = now_ns(), asked = 0, came = 0;
	int ends;

	*at(s2m->base + VALVE_CONTROL) = VALVE_OPEN | UNTIL_LENGTH;
	set_pattern(GENERATOR_MEMORY, GENERATOR, size, 0);
	while (came < size) {
		uint32_t bytes, length;

		while (asked < size && s2m->given - s2m->done < BUFFERS) {
			length = (uint32_t)(size - asked < BUFFER_SIZE ? size - asked : BUFFER_SIZE);
			give(s2m, 0, length, INTERRUPTS);
			asked += length;
		}
		bytes = response(s2m, &ends);
		CHECK(!ends && bytes <= BUFFER_SIZE);
		CHECK(is_pattern(buffer_of(s2m, s2m->done - 1), came, bytes));
		came += bytes;
	}
	CHECK(came == size && *at(GENERATOR + PATTERN_STATUS) & COMPLETE);
	say("generated", size, began);
}

/* A packet whose length only its end tells. Buffers are there for more than comes. */
static void generate_packet(struct engine *s2m, uint64_t size)
{
	uint64_t came = 0;
	int ends = 0;

	*at(s2m->base + VALVE_CONTROL) = VALVE_OPEN | UNTIL_PACKET;
	set_pattern(GENERATOR_MEMORY, GENERATOR, size, END_OF_PACKET);
	while (!ends) {
		uint32_t bytes;

		while (s2m->given - s2m->done < BUFFERS)
			give(s2m, 0, BUFFER_SIZE, ENDS_WITH_PACKET | PACKET_INTERRUPTS | INTERRUPTS);
		bytes = response(s2m, &ends);
		CHECK(is_pattern(buffer_of(s2m, s2m->done - 1), came, bytes));
		came += bytes;
	}
	CHECK(came == size);
	printf("generated a packet: %llu bytes\n", (unsigned long long)came);
}

/* Takes back what was handed over for packets and is not needed. */
static void take_back(struct engine *s2m)
{
	*at(s2m->base + CONTROL) = FLUSH_DESCRIPTORS | STOP;
	while (!(*at(s2m->base + STATUS) & STOPPED))
		;
	*at(s2m->base + CONTROL) = FLUSH_WRITER;
	*at(s2m->base + CONTROL) = INTERRUPTS_ENABLED;
	s2m->given = s2m->done = 0;
}

/* A stream to the checker, one byte of which may be wrong: how many beats it finds so. */
static uint32_t check(struct engine *m2s, uint64_t size, uint32_t control, int is_wrong)
{
	uint64_t began = now_ns(), sent = 0;
	uint32_t status;

	set_pattern(CHECKER_MEMORY, CHECKER, size, 0);
	while (sent < size || m2s->done < m2s->given) {
		if (sent < size && m2s->given - m2s->done < BUFFERS) {
			uint64_t length = size - sent < BUFFER_SIZE ? size - sent : BUFFER_SIZE;
			uint8_t *bytes = buffer_of(m2s, m2s->given);

			make_pattern(bytes, sent, length);
			bytes[length / 2] ^= sent == 0 && is_wrong;
			sent += length;
			give(m2s, 1, length, INTERRUPTS | (sent == size ? control : 0));
		} else {
			m2s->done += sleep_for_interrupts(m2s);
		}
	}
	while (!((status = *at(CHECKER + PATTERN_STATUS)) & COMPLETE))
		;
	CHECK(!(status & FAILED) == !is_wrong);
	say("checked", size, began);
	return status >> 16;
}

/* What one engine reads, the other writes: a packet at a time. */
static void loop_back(struct engine *m2s, struct engine *s2m)
{
	static const uint64_t sizes[] = { 1, 63, 64, 100, 4096, 70000, BUFFER_SIZE };
	int ends;

	*at(DEMULTIPLEXER) = 1;
	*at(MULTIPLEXER) = 1;
	*at(s2m->base + VALVE_CONTROL) = VALVE_OPEN;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint8_t *bytes = buffer_of(m2s, m2s->given);

		fill(bytes, sizes[i], i);
		give(s2m, 0, BUFFER_SIZE, ENDS_WITH_PACKET | PACKET_INTERRUPTS);
		give(m2s, 1, sizes[i], INTERRUPTS | MAKES_END);
		CHECK(response(s2m, &ends) == sizes[i] && ends);
		while (m2s->done < m2s->given)
			m2s->done += sleep_for_interrupts(m2s);
		CHECK(memcmp(buffer_of(s2m, s2m->done - 1), bytes, sizes[i]) == 0);
	}
	*at(DEMULTIPLEXER) = 0;
	*at(MULTIPLEXER) = 0;
	printf("looped packets back\n");
}

int main(int argc, char **argv)
{
	uint64_t size = (argc > 1 ? strtoull(argv[1], NULL, 0) : 20 << 10) << 10;
	fpga_handle handle = open_accelerator(STREAMING_DMA);
	struct engine m2s, s2m;
	uint64_t *mapped = NULL;

	OK(fpgaReset(handle));
	OK(fpgaMapMMIO(handle, 0, &mapped));
	registers = (volatile uint8_t *)mapped;
	fill(pattern, sizeof(pattern), 7);
	open_engine(&m2s, handle, feature(mapped, 0xfee69b442f7743ed, 0x9ff49b8cf9ee6335), 0);
	open_engine(&s2m, handle, feature(mapped, 0xf118209ad59a4b3f, 0xa66cd700a658a015), 1);

	generate(&s2m, size);
	generate(&s2m, 64);
	generate(&s2m, size / 3 / LINE * LINE);
	generate_packet(&s2m, size + 777);
	generate_packet(&s2m, 5);
	generate_packet(&s2m, BUFFER_SIZE);
	take_back(&s2m);
	generate(&s2m, 4096);

	CHECK(check(&m2s, size, 0, 0) == 0);
	CHECK(check(&m2s, size + 777, MAKES_END, 0) == 0);
	CHECK(check(&m2s, 1, MAKES_END, 0) == 0);
	CHECK(check(&m2s, size / 2, 0, 1) == 1);
	loop_back(&m2s, &s2m);

	close_engine(&s2m);
	close_engine(&m2s);
	OK(fpgaUnmapMMIO(handle, 0));
	OK(fpgaClose(handle));
	return 0;
}
