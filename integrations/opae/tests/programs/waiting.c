/* Sleep, and waiting for interrupts. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

static fpga_handle handle;

/* What poll and ppoll are with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *all, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *all, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room);

/* Nanoseconds of a statement. */
#define TAKES(statement) \
	({ \
		uint64_t start_ = monotonic(); \
		statement; \
		uint64_t took_ = monotonic() - start_ - 20; \
		took_; \
	})

static void sleeps(void)
{
	struct timespec span = { 0, 1500 }, until, now;
	struct timeval tv = { 0, 250 };
	time_t day = time(NULL);

	CHECK(TAKES(usleep(100)) == 100000 + 100);
	CHECK(TAKES(nanosleep(&span, NULL)) == 1500 + 100);
	CHECK(TAKES(sleep(3)) == 3000000000 + 100);
	CHECK(TAKES(clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL)) == 1500 + 100);
	CHECK(time(NULL) == day + 3);
	CHECK(day == 1700000000);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 2;
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	CHECK(now.tv_sec == until.tv_sec && now.tv_nsec - until.tv_nsec <= 20);
	CHECK(TAKES(poll(NULL, 0, 7)) == 7000000 + 100);
	CHECK(TAKES(select(0, NULL, NULL, NULL, &tv)) == 250000 + 100);
	CHECK(tv.tv_sec == 0 && tv.tv_usec == 0);
	tv.tv_usec = 1500000;
	CHECK(TAKES(select(0, NULL, NULL, NULL, &tv)) == 1500000000 + 100);
	tv.tv_usec = -1;
	CHECK(select(0, NULL, NULL, NULL, &tv) == -1 && errno == EINVAL && tv.tv_usec == -1);
	span.tv_nsec = 1000000000;
	CHECK(pselect(0, NULL, NULL, NULL, &span, NULL) == -1 && errno == EINVAL);
	CHECK(ppoll(NULL, 0, &span, NULL) == -1 && errno == EINVAL);
	span.tv_nsec = 2000000000;
	CHECK(nanosleep(&span, NULL) == -1 && errno == EINVAL);
	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0 && now.tv_sec < 60);
	CHECK(clock_gettime(77, &now) == -1);
}

static uint64_t told(int fd)
{
	uint64_t count = 0;

	CHECK(read(fd, &count, sizeof(count)) == sizeof(count));
	return count;
}

static void interrupts(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	struct timespec brief = { 0, 2500 };
	struct timeval tv = { 1, 0 };
	uint64_t took;
	fd_set set;
	int epoll;

	CHECK(poll(&one, 1, 0) == 0);
	took = TAKES(CHECK(poll(&one, 1, 5) == 0));
	CHECK(took == 5000000 + 100);
	took = TAKES(CHECK(__poll_chk(&one, 1, 5, sizeof(one)) == 0));
	CHECK(took == 5000000 + 100);
	took = TAKES(CHECK(__ppoll_chk(&one, 1, &brief, NULL, sizeof(one)) == 0));
	CHECK(took == 2500 + 100);

	OK(fpgaWriteMMIO64(handle, 0, INTERRUPT_0, 3000));
	took = TAKES(CHECK(poll(&one, 1, 1000) == 1));
	CHECK(took == 3000 - 20 + 0 && (one.revents & POLLIN));
	CHECK(told(fd) == 1);

	OK(fpgaWriteMMIO64(handle, 0, INTERRUPT_0, 3000));
	CHECK(poll(&one, 1, -1) == 1);
	CHECK(told(fd) == 1);

	/* A read waits, too. */
	OK(fpgaWriteMMIO64(handle, 0, INTERRUPT_0, 3000));
	CHECK(told(fd) == 1);

	FD_ZERO(&set);
	FD_SET(fd, &set);
	CHECK(select(fd + 1, &set, NULL, NULL, &tv) == 0 && !FD_ISSET(fd, &set));
	OK(fpgaWriteMMIO64(handle, 0, INTERRUPT_0, 3000));
	FD_SET(fd, &set);
	tv.tv_sec = 1;
	CHECK(select(fd + 1, &set, NULL, NULL, &tv) == 1 && FD_ISSET(fd, &set));
	CHECK(tv.tv_sec == 0 && tv.tv_usec > 999900 && tv.tv_usec < 999998);
	CHECK(told(fd) == 1);

	epoll = epoll_create1(0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	CHECK(epoll_wait(epoll, &event, 1, 3) == 0);
	OK(fpgaWriteMMIO64(handle, 0, INTERRUPT_0, 3000));
	CHECK(epoll_wait(epoll, &event, 1, 3) == 1);
	CHECK(told(fd) == 1);
	took = TAKES(CHECK(epoll_pwait2(epoll, &event, 1, &brief, NULL) == 0));
	CHECK(took == 2500 + 100);
	close(epoll);
}

static void others(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	sem_t sem;
	uint64_t took;

	pthread_mutex_lock(&mutex);
	took = TAKES({
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1;
		CHECK(pthread_cond_timedwait(&cond, &mutex, &until) == ETIMEDOUT);
	});
	CHECK(took == 1000000000 + 20);
	pthread_mutex_unlock(&mutex);
	CHECK(sem_init(&sem, 0, 1) == 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	CHECK(sem_timedwait(&sem, &until) == 0);
	took = TAKES(CHECK(sem_timedwait(&sem, &until) == -1 && errno == ETIMEDOUT));
	CHECK(took <= 1000000000 && took > 999990000);
	sem_destroy(&sem);
}

int main(void)
{
	fpga_event_handle event = NULL;
	int fd = -1;

	handle = open_one(FPGA_ACCELERATOR);
	sleeps();
	OK(fpgaCreateEventHandle(&event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 0));
	OK(fpgaGetOSObjectFromEventHandle(event, &fd));
	interrupts(fd);
	others();
	OK(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	OK(fpgaDestroyEventHandle(&event));
	OK(fpgaClose(handle));
	return 0;
}
