/* Threads that use registers and buffers at the same time, and a child process that does not. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
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

enum { SLEEPERS = 3, TURNS = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

/* Sleeps so many milliseconds, in turns. */
static void *sleep_for(void *number)
{
	uint64_t span = (uint64_t)number, began = monotonic(), took;

	for (int turn = 0; turn < TURNS; turn++)
		usleep((useconds_t)span * 1000);
	took = (monotonic() - began) / 1000;
	CHECK(took >= TURNS * span * 1000 && took < 2 * TURNS * span * 1000);
	return NULL;
}

/* Waits for nobody, with a limit. */
static void *wait_for(void *number)
{
	uint64_t began = monotonic(), limit = began + (uint64_t)number * 1000000, took;
	struct timespec until = { (time_t)(limit / 1000000000), (long)(limit % 1000000000) };

	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_cond_clockwait(&never, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	/* Nobody gets the mutex meanwhile, but time passes. */
	usleep(1000);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	took = (monotonic() - began) / 1000;
	CHECK(took >= (uint64_t)number * 1000 + 1000);
	return NULL;
}

/* All at the same time: it takes as long as the longest, and not 360 ms. */
static void sleep_together(void)
{
	pthread_t threads[2 * SLEEPERS];
	uint64_t began = monotonic(), took;

	for (size_t i = 0; i < SLEEPERS; i++) {
		CHECK(pthread_create(&threads[i], NULL, sleep_for, (void *)((i + 1) * 10)) == 0);
		CHECK(pthread_create(&threads[SLEEPERS + i], NULL, wait_for,
				     (void *)((i + 1) * 20)) == 0);
	}
	for (size_t i = 0; i < 2 * SLEEPERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	took = (monotonic() - began) / 1000;
	CHECK(took >= SLEEPERS * TURNS * 10000 && took < 200000);
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
	if (time(NULL) < 1750000000)
		sleep_together();
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
