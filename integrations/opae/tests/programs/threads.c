/* Threads that use registers and buffers at the same time, and a child process that does not. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <threads.h>
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

enum { BUSY = 1000 };

static sem_t done;

static void *load(void *unused)
{
	for (int i = 0; i < BUSY; i++)
		(void)*(volatile uint64_t *)(regs + SCRATCH);
	CHECK(sem_post(&done) == 0);
	return unused;
}

/* A thread that is busy with registers is waited for, as it lets time pass itself: here some 1 us a load. */
static void wait_for_busy(void)
{
	struct timespec until;
	uint64_t began, took;
	pthread_t thread;

	CHECK(sem_init(&done, 0, 0) == 0);
	began = monotonic();
	CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
	until.tv_sec += 2;
	CHECK(pthread_create(&thread, NULL, load, NULL) == 0);
	CHECK(sem_timedwait(&done, &until) == 0);
	took = monotonic() - began;
	CHECK(took >= BUSY * 1000 && took < BUSY * 1100);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* Ends when the mutex is given back. */
static void *wait_for_mutex(void *unused)
{
	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	return unused;
}

static void *lock_and_wait(void *lock)
{
	CHECK(pthread_rwlock_wrlock(lock) == 0);
	wait_for_mutex(NULL);
	CHECK(pthread_rwlock_unlock(lock) == 0);
	return NULL;
}

/* A wait with a limit of 2 ms that ends in the one way or the other. */
#define ENDS(with, call) \
	do { \
		uint64_t start_ = monotonic(), took_; \
		clock_gettime(CLOCK_REALTIME, &until); \
		until.tv_nsec += 2000000; \
		until.tv_sec += until.tv_nsec / 1000000000; \
		until.tv_nsec %= 1000000000; \
		CHECK((call) == (with)); \
		took_ = monotonic() - start_; \
		CHECK((with) == 0 ? took_ < 1000000 : took_ >= 2000000 && took_ < 2100000); \
	} while (0)

static void limits(void)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER, taken = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec until, span = { 0, 2000000 };
	pthread_t waiter, writer;
	sigset_t signals;
	cnd_t condition;

	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_create(&waiter, NULL, wait_for_mutex, NULL) == 0);
	CHECK(pthread_create(&writer, NULL, lock_and_wait, &taken) == 0);
	while (pthread_rwlock_tryrdlock(&taken) == 0) {
		CHECK(pthread_rwlock_unlock(&taken) == 0);
		usleep(1);
	}
	ENDS(ETIMEDOUT, pthread_mutex_timedlock(&mutex, &until));
	ENDS(ETIMEDOUT, pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &until));
	ENDS(thrd_timedout, mtx_timedlock((mtx_t *)&mutex, &until));
	ENDS(ETIMEDOUT, pthread_rwlock_timedrdlock(&taken, &until));
	ENDS(ETIMEDOUT, pthread_rwlock_timedwrlock(&taken, &until));
	ENDS(ETIMEDOUT, pthread_rwlock_clockwrlock(&taken, CLOCK_REALTIME, &until));
	ENDS(ETIMEDOUT, pthread_timedjoin_np(waiter, NULL, &until));
	ENDS(ETIMEDOUT, pthread_clockjoin_np(waiter, NULL, CLOCK_REALTIME, &until));
	CHECK(cnd_init(&condition) == thrd_success);
	ENDS(thrd_timedout, cnd_timedwait(&condition, (mtx_t *)&mutex, &until));
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
	ENDS(-1, sigtimedwait(&signals, NULL, &span));
	CHECK(errno == EAGAIN);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(sigtimedwait(&signals, NULL, &span) == SIGUSR1);
	ENDS(0, pthread_rwlock_timedrdlock(&lock, &until));
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	ENDS(0, pthread_timedjoin_np(waiter, NULL, &until));
	ENDS(0, pthread_clockjoin_np(writer, NULL, CLOCK_REALTIME, &until));
	ENDS(0, pthread_mutex_timedlock(&mutex, &until));
	CHECK(pthread_mutex_unlock(&mutex) == 0);
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
	if (time(NULL) < 1750000000) {
		if (!getenv("ON_VALGRIND"))
			sleep_together();
		wait_for_busy();
		limits();
	}
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
