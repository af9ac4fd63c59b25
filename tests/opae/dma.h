/* SPDX-License-Identifier: Apache-2.0 */
/* The memory-mapped DMA by the pointer to its registers, as the published driver uses it: chunks of 1023 KiB through eight pinned
 * buffers, of which one half is copied while the engine has the other.
 */
#ifndef DMA_H
#define DMA_H

#include "check.h"
#include <poll.h>
#include <unistd.h>

#define CHUNK (1023ull * 1024)
#define BURST (4 * LINE)
#define WINDOW_SIZE 4096ull

enum { BUFFERS = 8, HALF = BUFFERS / 2 };

/* From the feature. */
enum { STATUS = 0x40, CONTROL = 0x44, DESCRIPTOR = 0x60, WINDOW_PAGE = 0x200, WINDOW = 0x1000 };

/* Bits of the status, of control, and of a descriptor's control. */
enum { BUSY = 1 << 0, FULL = 1 << 2, INTERRUPT = 1 << 9 };
enum { INTERRUPTS_ENABLED = 1 << 4 };
#define GO (1u << 31)
#define EARLY_DONE (1u << 24)
#define INTERRUPT_AT_END (1u << 14)

/* What an address means: the card's memory, a word that is the same everywhere, or memory of the host, behind all writes before. */
#define MAGIC_ROM 0x1000000000000ull
#define HOST 0x2000000000000ull
#define HOST_FENCED 0x3000000000000ull
#define MAGIC 0x5772745f53796e63ull

struct descriptor {
	uint32_t source, target, length;
	uint16_t number;
	uint8_t read_burst, write_burst;
	uint16_t read_stride, write_stride;
	uint32_t source_high, target_high, control;
};

struct dma {
	fpga_handle handle;
	volatile uint8_t *registers;
	struct buffer buffers[BUFFERS], magic;
	fpga_event_handle event;
	struct pollfd interrupt;
	/* Whether descriptors are copied as what they are, instead of word by word. */
	int copies_descriptors;
};

static inline volatile uint32_t *dma_32(struct dma *dma, uint64_t offset)
{
	return (volatile uint32_t *)(dma->registers + offset);
}

static inline volatile uint64_t *dma_64(struct dma *dma, uint64_t offset)
{
	return (volatile uint64_t *)(dma->registers + offset);
}

static inline void dma_open(struct dma *dma, fpga_handle handle)
{
	uint64_t *registers = NULL, base;

	memset(dma, 0, sizeof(*dma));
	dma->handle = handle;
	OK(fpgaMapMMIO(handle, 0, &registers));
	base = feature(registers, 0xef82def7f6ec40fc, 0xa9149a35bace01ea);
	CHECK(base != 0);
	dma->registers = (volatile uint8_t *)registers + base;
	for (int i = 0; i < BUFFERS; i++)
		dma->buffers[i] = pin(handle, CHUNK);
	dma->magic = pin(handle, LINE);
	memset(dma->magic.bytes, 0, LINE);
	*dma_32(dma, CONTROL) = INTERRUPTS_ENABLED;
	OK(fpgaCreateEventHandle(&dma->event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, dma->event, 0));
	OK(fpgaGetOSObjectFromEventHandle(dma->event, &dma->interrupt.fd));
	dma->interrupt.events = POLLIN;
}

static inline void dma_close(struct dma *dma)
{
	*dma_32(dma, CONTROL) = 0;
	OK(fpgaUnregisterEvent(dma->handle, FPGA_EVENT_INTERRUPT, dma->event));
	OK(fpgaDestroyEventHandle(&dma->event));
	unpin(dma->handle, &dma->magic);
	for (int i = 0; i < BUFFERS; i++)
		unpin(dma->handle, &dma->buffers[i]);
	OK(fpgaUnmapMMIO(dma->handle, 0));
}

static inline void dma_descriptor(struct dma *dma, uint64_t target, uint64_t source,
				  uint64_t length, uint8_t burst, uint32_t control)
{
	struct descriptor descriptor = {
		.source = (uint32_t)source,
		.target = (uint32_t)target,
		.length = (uint32_t)length,
		.read_burst = burst,
		.write_burst = burst,
		.read_stride = 1,
		.write_stride = 1,
		.source_high = (uint32_t)(source >> 32),
		.target_high = (uint32_t)(target >> 32),
		.control = control | GO,
	};
	uint64_t words[4];

	while (*dma_32(dma, STATUS) & FULL)
		;
	if (dma->copies_descriptors) {
		*(volatile struct descriptor *)dma_64(dma, DESCRIPTOR) = descriptor;
		return;
	}
	memcpy(words, &descriptor, sizeof(words));
	for (int i = 0; i < 4; i++)
		dma_64(dma, DESCRIPTOR)[i] = words[i];
}

/* Whole lines. What is left of the last burst is a descriptor of its own, of single lines. */
static inline void dma_copy(struct dma *dma, uint64_t target, uint64_t source, uint64_t length,
			    uint32_t control)
{
	uint64_t rest = length % BURST, even = length - rest;
	uint32_t quiet = control & ~INTERRUPT_AT_END;

	if (even)
		dma_descriptor(dma, target, source, even, 4, rest ? quiet : control);
	if (rest)
		dma_descriptor(dma, target + even, source + even, rest, 1, control);
}

/* Sleeps until the next interrupt. */
static inline void dma_sleep(struct dma *dma)
{
	uint64_t count = 0;

	CHECK(poll(&dma->interrupt, 1, -1) == 1 && dma->interrupt.revents & POLLIN);
	CHECK(read(dma->interrupt.fd, &count, sizeof(count)) == sizeof(count) && count > 0);
	*dma_32(dma, STATUS) = INTERRUPT;
}

/* Has the engine write a word behind all that it has written before. */
static inline void dma_announce(struct dma *dma)
{
	*(volatile uint64_t *)dma->magic.bytes = 0;
	(void)*dma_32(dma, STATUS);
	dma_copy(dma, dma->magic.address | HOST_FENCED, MAGIC_ROM, LINE, INTERRUPT_AT_END);
}

static inline void dma_await(struct dma *dma)
{
	volatile uint64_t *word = (volatile uint64_t *)dma->magic.bytes;

	dma_sleep(dma);
	while (*word != MAGIC)
		;
	*word = 0;
}

/* Words of the card's memory through a window; of those that are not whole, the other bytes are kept. */
static inline void window_write(struct dma *dma, uint64_t to, const uint8_t *from, uint64_t count)
{
	while (count) {
		uint64_t skip = to % 8, part = 8 - skip < count ? 8 - skip : count, word;
		volatile uint64_t *place = dma_64(dma, WINDOW + (to - skip) % WINDOW_SIZE);

		if (*dma_64(dma, WINDOW_PAGE) != to - to % WINDOW_SIZE)
			*dma_64(dma, WINDOW_PAGE) = to - to % WINDOW_SIZE;
		word = part < 8 ? *place : 0;
		memcpy((uint8_t *)&word + skip, from, part);
		*place = word;
		to += part, from += part, count -= part;
	}
}

static inline void window_read(struct dma *dma, uint8_t *to, uint64_t from, uint64_t count)
{
	while (count) {
		uint64_t skip = from % 8, part = 8 - skip < count ? 8 - skip : count, word;

		if (*dma_64(dma, WINDOW_PAGE) != from - from % WINDOW_SIZE)
			*dma_64(dma, WINDOW_PAGE) = from - from % WINDOW_SIZE;
		word = *dma_64(dma, WINDOW + (from - skip) % WINDOW_SIZE);
		memcpy(to, (uint8_t *)&word + skip, part);
		to += part, from += part, count -= part;
	}
}

/* Bytes up to the next line of the card's memory, or fewer. */
static inline uint64_t before_line(uint64_t address, uint64_t count)
{
	uint64_t head = -address % LINE;

	return head < count ? head : count;
}

/* To the card's memory, from and to any byte. */
static inline void dma_write(struct dma *dma, uint64_t to, const uint8_t *from, uint64_t count)
{
	uint64_t head = before_line(to, count), chunks = (count - head) / CHUNK, rest;
	int is_awaited = 0;

	window_write(dma, to, from, head);
	to += head, from += head, count -= head;
	for (uint64_t i = 0; i < chunks; i++, to += CHUNK, from += CHUNK, count -= CHUNK) {
		struct buffer *buffer = &dma->buffers[i % BUFFERS];
		uint32_t control = EARLY_DONE;

		memcpy(buffer->bytes, from, CHUNK);
		if (i % HALF == HALF - 1 || i == chunks - 1) {
			if (is_awaited)
				dma_sleep(dma);
			control |= INTERRUPT_AT_END;
			is_awaited = 1;
		}
		dma_copy(dma, to, buffer->address | HOST, CHUNK, control);
	}
	if (is_awaited)
		dma_sleep(dma);
	rest = count - count % LINE;
	if (rest) {
		memcpy(dma->buffers[0].bytes, from, rest);
		dma_copy(dma, to, dma->buffers[0].address | HOST, rest, INTERRUPT_AT_END);
		dma_sleep(dma);
	}
	window_write(dma, to + rest, from + rest, count - rest);
}

/* From the card's memory, from and to any byte. */
static inline void dma_read(struct dma *dma, uint8_t *to, uint64_t from, uint64_t count)
{
	uint64_t head = before_line(from, count), chunks = (count - head) / CHUNK, rest, taken = 0;
	int is_announced = 0;

	window_read(dma, to, from, head);
	to += head, from += head, count -= head;
	for (uint64_t i = 0; i < chunks; i++, from += CHUNK, count -= CHUNK) {
		uint64_t pending = i - taken + 1;

		dma_copy(dma, dma->buffers[i % BUFFERS].address | HOST, from, CHUNK, 0);
		if (pending == HALF) {
			dma_announce(dma);
			is_announced = 1;
		}
		if (pending == BUFFERS || i == chunks - 1) {
			if (is_announced) {
				dma_await(dma);
				for (int j = 0; j < HALF; j++, taken++, to += CHUNK)
					memcpy(to, dma->buffers[taken % BUFFERS].bytes, CHUNK);
			}
			dma_announce(dma);
			is_announced = 1;
		}
	}
	if (is_announced)
		dma_await(dma);
	for (; taken < chunks; taken++, to += CHUNK)
		memcpy(to, dma->buffers[taken % BUFFERS].bytes, CHUNK);
	rest = count - count % LINE;
	if (rest) {
		dma_copy(dma, dma->buffers[0].address | HOST, from, rest, 0);
		dma_announce(dma);
		dma_await(dma);
		memcpy(to, dma->buffers[0].bytes, rest);
	}
	window_read(dma, to + rest, from + rest, count - rest);
}

#endif
