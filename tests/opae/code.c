/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the processor executes cannot be pinned, and stays as it was; memory beside it can. */
#include <stdint.h>
#include <sys/mman.h>

#include "check.h"

#define SIZE_OF_PAGE 4096

int main(void)
{
	fpga_handle handle = open_accelerator(MEMORY_DMA);
	uint8_t *memory = mmap(NULL, 4 * SIZE_OF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *code = memory + SIZE_OF_PAGE;
	void *address = memory;
	uint64_t wsid = 0;

	CHECK(memory != MAP_FAILED);
	code[0] = 0xc3; /* ret */
	CHECK(mprotect(code, SIZE_OF_PAGE, PROT_READ | PROT_EXEC) == 0);
	SAYS(FPGA_INVALID_PARAM, fpgaPrepareBuffer(handle, 4 * SIZE_OF_PAGE, &address, &wsid, FPGA_BUF_PREALLOCATED));
	((void (*)(void))(uintptr_t)code)();
	address = code + SIZE_OF_PAGE;
	OK(fpgaPrepareBuffer(handle, 2 * SIZE_OF_PAGE, &address, &wsid, FPGA_BUF_PREALLOCATED));
	OK(fpgaReleaseBuffer(handle, wsid));
	OK(fpgaClose(handle));
	return 0;
}
