/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a card's memory and reads it back, and compares every byte.
 *
 * dma_sweep [MIB] [words|struct]: how many, and how descriptors are stored.
 */
#include "dma.h"

static double megabytes_per_second(uint64_t size, uint64_t ns)
{
	return (double)size / (double)ns * 1e3;
}

static void sweep(struct dma *dma, uint64_t size)
{
	uint8_t *sent = malloc(size), *came = malloc(size);
	uint64_t began, to_card, from_card;

	CHECK(sent && came);
	fill(sent, size, 1);
	memset(came, 0, size);
	began = now_ns();
	dma_write(dma, 0, sent, size);
	to_card = now_ns() - began;
	began = now_ns();
	dma_read(dma, came, 0, size);
	from_card = now_ns() - began;
	CHECK(memcmp(sent, came, size) == 0);
	printf("%llu bytes to the card: %.2f MB/s\n", (unsigned long long)size,
	       megabytes_per_second(size, to_card));
	printf("%llu bytes from the card: %.2f MB/s\n", (unsigned long long)size,
	       megabytes_per_second(size, from_card));
	free(sent);
	free(came);
}

/* Some bytes to where no line begins, between others that stay as they were. */
static void transfer(struct dma *dma, uint64_t address, uint64_t count)
{
	enum { AROUND = 70 };
	static uint8_t before[1 << 16], after[1 << 16];
	uint64_t all = count + 2 * AROUND;

	CHECK(all <= sizeof(before));
	fill(before, all, address);
	dma_write(dma, address - AROUND, before, all);
	fill(before + AROUND, count, count);
	dma_write(dma, address, before + AROUND, count);
	memset(after, 0, sizeof(after));
	dma_read(dma, after, address - AROUND, all);
	CHECK(memcmp(before, after, all) == 0);
	memset(after, 0, sizeof(after));
	dma_read(dma, after, address, count);
	CHECK(memcmp(before + AROUND, after, count) == 0);
}

static void transfers(struct dma *dma)
{
	static const uint64_t counts[] = { 1, 3, 4, 7, 8, 63, 64, 65, 127, 200, 256, 320, 5000 };
	static const uint64_t addresses[] = { 1 << 20, (1 << 20) + 1, (1 << 20) + 4, (1 << 20) - 60,
					      (3ull << 30) + 4093 };
	int done = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (size_t j = 0; j < sizeof(addresses) / sizeof(*addresses); j++, done++)
			transfer(dma, addresses[j], counts[i]);
	printf("%d transfers of any length to and from any byte\n", done);
}

int main(int argc, char **argv)
{
	uint64_t size = (argc > 1 ? strtoull(argv[1], NULL, 0) : 64) << 20;
	fpga_handle handle = open_accelerator(MEMORY_DMA);
	struct dma dma;

	OK(fpgaReset(handle));
	dma_open(&dma, handle);
	dma.copies_descriptors = argc > 2 && strcmp(argv[2], "struct") == 0;
	if (size)
		sweep(&dma, size);
	transfers(&dma);
	CHECK(!(*dma_32(&dma, STATUS) & BUSY));
	dma_close(&dma);
	OK(fpgaClose(handle));
	return 0;
}
