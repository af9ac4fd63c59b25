/* How long the library takes, in real time: read by the system call that it does not stand in the way of. */
#include "check.h"
#include <sys/syscall.h>
#include <unistd.h>

enum { TIMES = 20000, PAGES = 4096 };

static double real(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(void)
{
	fpga_handle handle = open_one(FPGA_ACCELERATOR);
	volatile char *regs = NULL;
	volatile char *memory = NULL;
	uint64_t wsid, value;
	double start;
	int i;

	OK(fpgaMapMMIO(handle, 0, (uint64_t **)&regs));
	OK(fpgaPrepareBuffer(handle, 4096 * PAGES, (void **)&memory, &wsid, 0));
#define MEASURE(name, times, statement) \
	start = real(); \
	for (i = 0; i < (times); i++) \
		statement; \
	printf("%s: %.0f ns\n", name, (real() - start) / (times));
	MEASURE("a read by a call", TIMES, fpgaReadMMIO64(handle, 0, SCRATCH, &value));
	MEASURE("a read by the pointer", TIMES, *(volatile uint64_t *)(regs + SCRATCH));
	MEASURE("a write by the pointer", TIMES, *(volatile uint64_t *)(regs + SCRATCH) = 1);
	MEASURE("a page that is touched", PAGES, memory[4096 * i] = 1);
	fpgaReadMMIO64(handle, 0, SCRATCH, &value);
	MEASURE("the same again", PAGES, memory[4096 * i] = 1);
	MEASURE("a look at the clock", TIMES, monotonic());
	OK(fpgaClose(handle));
	return 0;
}
