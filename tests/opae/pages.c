/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the program that is pinned page by page, large pages and small ones, as libraries that make page tables for devices pin it:
 * they take the lower bits of a device's address from the program's address.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "nlb.h"

enum { SMALL = 4096, LARGE = 2 << 20, REGION = 3 * LARGE, PAGES = 2 + LARGE / SMALL };

struct page {
	uint64_t wsid, address, size;
};

/* Pins the page at `place`. */
static struct page pin_at(fpga_handle handle, uint8_t *place, uint64_t size)
{
	struct page page = { .size = size };
	void *given = place;

	OK(fpgaPrepareBuffer(handle, size, &given, &page.wsid, FPGA_BUF_PREALLOCATED));
	CHECK(given == place);
	OK(fpgaGetIOAddress(handle, page.wsid, &page.address));
	CHECK(page.address % size == 0);
	return page;
}

int main(void)
{
	static struct page pages[PAGES];
	fpga_handle handle = open_accelerator(NLB_0);
	/* With it, the next address of a device is no multiple of a large page. */
	struct buffer first = pin(handle, SMALL);
	uint8_t *all = mmap(NULL, REGION + LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *base = all + (LARGE - (uintptr_t)all % LARGE) % LARGE, *place = base, *expected = malloc(REGION);
	uint64_t wsid;
	void *again = base + SMALL;

	CHECK(all != MAP_FAILED && expected);
	fill(base, REGION, 1);
	fill(expected, REGION, 1);
	/* This asks whether memory of the program can be pinned. */
	OK(fpgaPrepareBuffer(handle, 0, NULL, &wsid, FPGA_BUF_PREALLOCATED));
	for (int i = 0; i < PAGES; i++) {
		pages[i] = pin_at(handle, place, i == 0 || i == PAGES - 1 ? LARGE : SMALL);
		place += pages[i].size;
	}
	CHECK(place == base + REGION);
	SAYS(FPGA_INVALID_PARAM, fpgaPrepareBuffer(handle, SMALL, &again, &wsid, FPGA_BUF_PREALLOCATED));
	CHECK(memcmp(base, expected, REGION) == 0);
	for (int i = 0; i < PAGES; i++)
		OK(fpgaReleaseBuffer(handle, pages[i].wsid));
	CHECK(memcmp(base, expected, REGION) == 0);
	unpin(handle, &first);
	CHECK(munmap(all, REGION + LARGE) == 0);
	OK(fpgaClose(handle));
	free(expected);
	printf("the pages are right\n");
	return 0;
}
