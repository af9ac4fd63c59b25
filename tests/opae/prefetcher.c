/* SPDX-License-Identifier: Apache-2.0 */
/* The streaming DMA with descriptors in host memory: blocks in a ring, and two threads that spin, one of which hands descriptors over
 * and one of which looks for their end. What one engine reads, the other writes.
 *
 * prefetcher [KIB]
 */
#include "check.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { BLOCKS = 4, PER_BLOCK = 8, DESCRIPTORS = BLOCKS * PER_BLOCK, PIECE = 16 << 10 };

/* Of an engine, from its feature. */
enum { STATUS = 0x40, CONTROL = 0x44, FETCH_CONTROL = 0x80, FETCH_START = 0x88, FETCH_STATUS = 0xa0 };
enum { MULTIPLEXER = 0x40, DEMULTIPLEXER = 0x50 };
enum { STOPPED = 1 << 5, STOP = 1, FETCH_IDLE = 1 << 1, STORE_IDLE = 1 << 2 };
enum { GENERATE_END = 1 << 9, END_ON_END = 1 << 12, EARLY_DONE = 1 << 24 };
#define GO (1u << 31)
#define HOST 0x1000000000000ull

struct descriptor {
	uint8_t format, block_size;
	volatile uint8_t owned;
	uint8_t reserved1;
	uint32_t control;
	uint64_t source, target;
	uint32_t length, reserved2;
	uint64_t numbers;
	volatile uint32_t bytes;
	volatile uint8_t error, end_of_packet, early_end;
	uint8_t reserved3;
	uint64_t reserved4, next;
};

struct engine {
	uint64_t base;
	int is_source;
	struct buffer blocks[BLOCKS], data;
	uint64_t pieces;
	/* Pieces that the program wants moved, that were handed over, and that are done. */
	atomic_ulong wanted, given, done;
	uint64_t bytes;
	pthread_t giver, finisher;
	sem_t all_done;
};

static volatile uint8_t *registers;

static volatile uint64_t *at(uint64_t offset)
{
	return (volatile uint64_t *)(registers + offset);
}

static struct descriptor *place(struct engine *engine, uint64_t number)
{
	uint8_t *block = engine->blocks[number / PER_BLOCK % BLOCKS].bytes;

	return (struct descriptor *)block + number % PER_BLOCK;
}

/* Hands over a block when all its descriptors are filled: the first is marked last. */
static void *give(void *argument)
{
	struct engine *engine = argument;
	uint64_t number = 0;

	while (number < engine->pieces) {
		struct descriptor *one = place(engine, number), *first = one - number % PER_BLOCK;
		uint64_t address = (engine->data.address + number * PIECE) | HOST;

		/* Spins, without any call. */
		while (atomic_load(&engine->wanted) <= number || number - atomic_load(&engine->done) >= DESCRIPTORS)
			;
		one->source = engine->is_source ? address : 0;
		one->target = engine->is_source ? 0 : address;
		one->length = PIECE;
		one->control = GO | EARLY_DONE |
			       (engine->is_source ? (number % 3 == 0 ? GENERATE_END : 0) : END_ON_END);
		one->format = one == first ? 1 : number % PER_BLOCK == PER_BLOCK - 1 ? 2 : 0;
		one->block_size = one == first ? PER_BLOCK - 1 : 0;
		if (one != first)
			one->owned = 1;
		number++;
		if (number % PER_BLOCK == 0) {
			atomic_thread_fence(memory_order_seq_cst);
			first->owned = 1;
			atomic_store(&engine->given, number);
		}
	}
	return NULL;
}

static void *finish(void *argument)
{
	struct engine *engine = argument;

	for (uint64_t number = 0; number < engine->pieces; number++) {
		struct descriptor *one = place(engine, number);

		while (atomic_load(&engine->given) <= number)
			;
		while (one->owned == 1)
			;
		CHECK(one->error == 0 && one->bytes == PIECE && one->early_end == 0);
		CHECK(engine->is_source || one->end_of_packet == (number % 3 == 0));
		engine->bytes += one->bytes;
		atomic_store(&engine->done, number + 1);
	}
	sem_post(&engine->all_done);
	return NULL;
}

static void open_engine(struct engine *engine, fpga_handle handle, uint64_t base, int is_source, uint64_t size)
{
	CHECK(base != 0);
	memset(engine, 0, sizeof(*engine));
	engine->base = base;
	engine->is_source = is_source;
	engine->pieces = size / PIECE;
	engine->data = pin(handle, size);
	CHECK(sem_init(&engine->all_done, 0, 0) == 0);
	for (int i = 0; i < BLOCKS; i++)
		engine->blocks[i] = pin(handle, 4096);
	for (int i = 0; i < BLOCKS; i++) {
		memset(engine->blocks[i].bytes, 0, 4096);
		((struct descriptor *)engine->blocks[i].bytes)->next = engine->blocks[(i + 1) % BLOCKS].address;
	}
	*(volatile uint32_t *)at(base + CONTROL) = 0;
	*at(base + FETCH_START) = engine->blocks[0].address;
	*at(base + FETCH_CONTROL) = 0xff << 16 | 1 << 3 | 1;
	CHECK(pthread_create(&engine->giver, NULL, give, engine) == 0);
	CHECK(pthread_create(&engine->finisher, NULL, finish, engine) == 0);
}

static void close_engine(struct engine *engine, fpga_handle handle)
{
	CHECK(pthread_join(engine->giver, NULL) == 0 && pthread_join(engine->finisher, NULL) == 0);
	*(volatile uint32_t *)at(engine->base + CONTROL) = STOP;
	*at(engine->base + FETCH_CONTROL) = 0xff << 16;
	while (!(*at(engine->base + FETCH_STATUS) & FETCH_IDLE))
		;
	while (!(*at(engine->base + FETCH_STATUS) & STORE_IDLE))
		;
	while (!(*(volatile uint32_t *)at(engine->base + STATUS) & STOPPED))
		;
	for (int i = 0; i < BLOCKS; i++)
		unpin(handle, &engine->blocks[i]);
	unpin(handle, &engine->data);
}

int main(int argc, char **argv)
{
	uint64_t size = (argc > 1 ? strtoull(argv[1], NULL, 0) : 4 << 10) << 10, began, took;
	fpga_handle handle = open_accelerator(STREAMING_DMA);
	static struct engine m2s, s2m;
	uint64_t *mapped = NULL;

	CHECK(sizeof(struct descriptor) == 64 && size % (PIECE * PER_BLOCK) == 0);
	OK(fpgaReset(handle));
	OK(fpgaMapMMIO(handle, 0, &mapped));
	registers = (volatile uint8_t *)mapped;
	*(volatile uint32_t *)at(DEMULTIPLEXER) = 1;
	*(volatile uint32_t *)at(MULTIPLEXER) = 1;
	open_engine(&s2m, handle, feature(mapped, 0xf118209ad59a4b3f, 0xa66cd700a658a015), 0, size);
	open_engine(&m2s, handle, feature(mapped, 0xfee69b442f7743ed, 0x9ff49b8cf9ee6335), 1, size);
	fill(m2s.data.bytes, size, 11);
	memset(s2m.data.bytes, 0, size);

	began = now_ns();
	atomic_store(&s2m.wanted, s2m.pieces);
	atomic_store(&m2s.wanted, m2s.pieces);
	CHECK(sem_wait(&m2s.all_done) == 0 && sem_wait(&s2m.all_done) == 0);
	took = now_ns() - began;
	CHECK(m2s.bytes == size && s2m.bytes == size);
	CHECK(memcmp(m2s.data.bytes, s2m.data.bytes, size) == 0);
	printf("looped %llu bytes back: %.3f GB/s\n", (unsigned long long)size, (double)size / (double)took);

	close_engine(&m2s, handle);
	close_engine(&s2m, handle);
	OK(fpgaUnmapMMIO(handle, 0));
	OK(fpgaClose(handle));
	return 0;
}
