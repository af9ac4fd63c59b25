/* A fault that is the program's own goes to the program. */
#include "check.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;
static volatile int count;

static void caught(int number)
{
	count++;
	siglongjmp(back, number);
}

static void caught_with_more(int number, siginfo_t *info, void *context)
{
	CHECK(info->si_addr != NULL && context != NULL);
	caught(number);
}

static void touch(volatile char *bad)
{
	if (sigsetjmp(back, 1) == 0)
		*bad = 1;
}

int main(void)
{
	struct sigaction action = { .sa_handler = caught }, before;
	fpga_handle handle = open_one(FPGA_ACCELERATOR);
	volatile char *regs = NULL, *bad;

	bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(bad != MAP_FAILED);
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	OK(fpgaMapMMIO(handle, 0, (uint64_t **)&regs));
	touch(bad);
	CHECK(count == 1);
	regs[SCRATCH] = 5;
	CHECK(regs[SCRATCH] == 5);

	/* One that is set later, too. */
	action.sa_sigaction = caught_with_more;
	action.sa_flags = SA_SIGINFO;
	CHECK(sigaction(SIGSEGV, &action, &before) == 0);
	CHECK(before.sa_handler == caught);
	touch(bad);
	CHECK(count == 2);
	CHECK(signal(SIGSEGV, caught) != SIG_ERR);
	touch(bad);
	CHECK(count == 3);
	CHECK(regs[SCRATCH] == 5);
	/* Registers that were unmapped are none. */
	OK(fpgaUnmapMMIO(handle, 0));
	touch(regs);
	CHECK(count == 4);
	OK(fpgaClose(handle));
	return 0;
}
