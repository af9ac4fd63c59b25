/* Memory that is shared with devices. */
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static fpga_handle handle;

static void use(volatile uint64_t *memory, uint64_t wsid, size_t words)
{
	uint64_t address = 0;

	OK(fpgaGetIOAddress(handle, wsid, &address));
	CHECK(address % 4096 == 0);
	memory[0] = 0;
	memory[words - 1] = 0;
	start_engine(handle, address + 8 * (words - 1), 42, 1, 100);
	while (memory[words - 1] == 0)
		;
	CHECK(memory[words - 1] == 42);
}

int main(void)
{
	void *memory = NULL, *mine = NULL, *second = NULL;
	uint64_t wsid = 0, other = 0, address = 0;
	size_t sizes[] = { 1, 4096, 4097, 2 << 20, (2 << 20) + 1, 3 << 20 }, i;
	int order = 1, file;
	char text[16] = "";

	handle = open_one(FPGA_ACCELERATOR);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memory = NULL;
		OK(fpgaPrepareBuffer(handle, sizes[i], &memory, &wsid, FPGA_BUF_QUIET));
		CHECK(memory && wsid);
		use(memory, wsid, sizes[i] < 8 ? 1 : sizes[i] / 8);
		OK(fpgaGetIOAddress(handle, wsid, &address));
		if (sizes[i] > 2 << 20)
			CHECK(address % (1 << 30) == 0);
		else if (sizes[i] > 4096)
			CHECK(address % (2 << 20) == 0);
		OK(fpgaReleaseBuffer(handle, wsid));
		SAYS(FPGA_INVALID_PARAM, fpgaReleaseBuffer(handle, wsid));
	}

	/* Memory of the program keeps what is in it, before and after. */
	CHECK(posix_memalign(&mine, 4096, 1 << 20) == 0);
	memset(mine, 0x5a, 1 << 20);
	second = mine;
	OK(fpgaPrepareBuffer(handle, 1 << 20, &second, &wsid, FPGA_BUF_PREALLOCATED));
	CHECK(second == mine && ((unsigned char *)mine)[12345] == 0x5a);
	SAYS(FPGA_INVALID_PARAM, fpgaPrepareBuffer(handle, 4096, &second, &other, FPGA_BUF_PREALLOCATED));
	use(mine, wsid, 1000);
	OK(fpgaReleaseBuffer(handle, wsid));
	CHECK(((uint64_t *)mine)[999] == 42 && ((unsigned char *)mine)[12345] == 0x5a);
	memset(mine, 0, 1 << 20);
	free(mine);

	/* The functions that work on them. */
	OK(fpgaPrepareBuffer(handle, 8192, &memory, &wsid, 0));
	second = NULL;
	OK(fpgaPrepareBuffer(handle, 4096, &second, &other, FPGA_BUF_READ_ONLY));
	OK(fpgaBufMemSet(handle, wsid, 0, 7, 4096));
	OK(fpgaBufMemCpyToRemote(handle, other, 0, memory, 4096));
	OK(fpgaBufMemCmp(handle, wsid, 0, other, 0, 4096, &order));
	CHECK(order == 0);
	SAYS(FPGA_EXCEPTION, fpgaBufMemSet(handle, other, 4000, 7, 4096));
	SAYS(FPGA_NOT_FOUND, fpgaBufMemSet(handle, 999, 0, 7, 1));
	OK(fpgaGetIOAddress(handle, wsid, &address));
	start_engine(handle, address, 9, 1, 50000);
	OK(fpgaBufPoll(handle, wsid, 0, 8, -1, 9, 10, 100));
	SAYS(FPGA_NOT_FOUND, fpgaBufPoll(handle, wsid, 0, 8, -1, 8, 10, 10));
	SAYS(FPGA_INVALID_PARAM, fpgaBufPoll(handle, wsid, 0, 3, -1, 8, 10, 10));

	/* A result, and what the system reads and writes, may be in one. */
	OK(fpgaWriteMMIO64(handle, 0, SCRATCH, 0x77));
	OK(fpgaReadMMIO64(handle, 0, SCRATCH, memory));
	CHECK(*(uint64_t *)memory == 0x77);
	OK(fpgaGetOPAECVersionString((char *)memory + 4090, 10));
	OK(fpgaWriteMMIO64(handle, 0, SCRATCH, 0));
	file = open("/dev/zero", O_RDONLY);
	CHECK(file >= 0 && read(file, memory, 8192) == 8192);
	close(file);
	strcpy((char *)memory + 5000, "in a buffer");
	OK(fpgaWriteMMIO64(handle, 0, SCRATCH, 0));
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (file >= 0) {
		CHECK(pwrite(file, (char *)memory + 5000, 12, 0) == 12);
		CHECK(pread(file, text, 12, 0) == 12 && strcmp(text, "in a buffer") == 0);
		close(file);
	}
	OK(fpgaReleaseBuffer(handle, other));

	/* What was not given back is the program's when the accelerator is closed. */
	start_engine(handle, address, 1, 1, 1000000);
	OK(fpgaClose(handle));
	memset(memory, 1, 8192);
	return 0;
}
