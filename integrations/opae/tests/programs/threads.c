/* Threads that use registers and buffers at the same time, and a child process that does not. */
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 200 };

static fpga_handle handle;
static volatile char *regs;

static void *work(void *number)
{
	size_t me = (size_t)number;
	volatile uint64_t *mine = (volatile uint64_t *)(regs + SCRATCH + 64 * me);
	void *memory = NULL;
	uint64_t wsid, i;

	OK(fpgaPrepareBuffer(handle, 16384, &memory, &wsid, 0));
	for (i = 0; i < ROUNDS; i++) {
		*mine = i * 1000 + me;
		((volatile uint64_t *)memory)[i] = i;
		((volatile uint64_t *)memory)[1024 + i] = i;
		CHECK(*mine == i * 1000 + me);
		CHECK(((volatile uint64_t *)memory)[i] == i);
		CHECK(reg(handle, SCRATCH + 64 * me) == i * 1000 + me);
		usleep(1);
	}
	OK(fpgaReleaseBuffer(handle, wsid));
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *memory = NULL;
	uint64_t wsid, number;
	uint32_t matches = 0;
	size_t i;
	int status;
	pid_t child;

	handle = open_one(FPGA_ACCELERATOR);
	OK(fpgaMapMMIO(handle, 0, (uint64_t **)&regs));
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);

	OK(fpgaPrepareBuffer(handle, 16384, &memory, &wsid, 0));
	child = fork();
	if (child == 0) {
		memset(memory, 1, 16384);
		if (fpgaReadMMIO64(handle, 0, SCRATCH, &number) == FPGA_OK)
			_exit(2);
		if (fpgaEnumerate(NULL, 0, NULL, 0, &matches) == FPGA_OK)
			_exit(3);
		usleep(10);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(*(volatile char *)memory == 1);
	OK(fpgaClose(handle));
	return 0;
}
