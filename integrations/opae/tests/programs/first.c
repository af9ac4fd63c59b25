/* Finds a card, opens it, uses registers by call and by pointer, and has a buffer written. */
#include "check.h"
#include <unistd.h>

int main(void)
{
	fpga_handle handle = open_one(FPGA_ACCELERATOR);
	uint64_t *registers = NULL, address = 0, wsid = 0;
	volatile uint64_t *memory = NULL;

	OK(fpgaWriteMMIO64(handle, 0, SCRATCH, 0x1122334455667788));
	CHECK(reg(handle, SCRATCH) == 0x1122334455667788);

	OK(fpgaMapMMIO(handle, 0, &registers));
	CHECK(*(volatile uint64_t *)((char *)registers + SCRATCH) == 0x1122334455667788);
	*(volatile uint32_t *)((char *)registers + SCRATCH + 8) = 0xcafe;
	CHECK(reg(handle, SCRATCH + 8) == 0xcafe);

	OK(fpgaPrepareBuffer(handle, 4096, (void **)&memory, &wsid, 0));
	OK(fpgaGetIOAddress(handle, wsid, &address));
	memory[5] = 7;
	start_engine(handle, address + 64, 42, 1, 30000);
	while (memory[8] == 0)
		usleep(10);
	CHECK(memory[8] == 42 && memory[5] == 7);
	OK(fpgaReleaseBuffer(handle, wsid));
	OK(fpgaUnmapMMIO(handle, 0));
	OK(fpgaClose(handle));
	return 0;
}
