/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of more than a millisecond between accesses, spins and transfers; prints the simulated time after each turn.
 *
 * pauses [TURNS]
 */
#include "dma.h"

int main(int argc, char **argv)
{
	uint64_t turns = argc > 1 ? strtoull(argv[1], NULL, 0) : 50;
	static uint8_t sent[4096], came[4096];
	fpga_handle handle = open_accelerator(MEMORY_DMA);
	uint64_t began = now_ns();
	struct dma dma;

	dma_open(&dma, handle);
	fill(sent, sizeof(sent), turns);
	for (uint64_t i = 0; i < turns; i++) {
		struct timespec pause = { .tv_nsec = (long)(1000000 + i * 37111) };

		CHECK(nanosleep(&pause, NULL) == 0);
		(void)*dma_32(&dma, STATUS);
		dma_write(&dma, i * 4096, sent, sizeof(sent));
		dma_read(&dma, came, i * 4096, sizeof(came));
		CHECK(memcmp(sent, came, sizeof(sent)) == 0);
		printf("%llu ns\n", (unsigned long long)(now_ns() - began));
	}
	dma_close(&dma);
	OK(fpgaClose(handle));
	return 0;
}
