/* SPDX-License-Identifier: Apache-2.0 */
/* One thread waits for the interrupt that another one brings about; and one that blocks all signals uses registers and buffers. */
#include "dma.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static struct dma dma;

static void *begin_later(void *delay)
{
	usleep((useconds_t)(uintptr_t)delay);
	dma_copy(&dma, 1 << 20, 0, 16 * LINE, INTERRUPT_AT_END);
	return NULL;
}

/* How long a wait takes for what another thread begins after so many microseconds. */
static uint64_t wait_for_other(uintptr_t delay, int timeout)
{
	struct pollfd one = dma.interrupt;
	uint64_t began = now_ns(), count = 0;
	pthread_t other;

	CHECK(pthread_create(&other, NULL, begin_later, (void *)delay) == 0);
	CHECK(poll(&one, 1, timeout) == 1);
	CHECK(read(one.fd, &count, sizeof(count)) == sizeof(count) && count == 1);
	*dma_32(&dma, STATUS) = INTERRUPT;
	CHECK(pthread_join(other, NULL) == 0);
	return now_ns() - began;
}

/* A look that does not wait is a system call, and lets time pass as one. */
static void look_without_waiting(void)
{
	uint64_t count = 0;
	int flags = fcntl(dma.interrupt.fd, F_GETFL);

	CHECK(fcntl(dma.interrupt.fd, F_SETFL, flags | O_NONBLOCK) == 0);
	dma_copy(&dma, 1 << 20, 0, 16 * LINE, INTERRUPT_AT_END);
	while (read(dma.interrupt.fd, &count, sizeof(count)) != sizeof(count))
		;
	CHECK(count == 1);
	*dma_32(&dma, STATUS) = INTERRUPT;
	CHECK(fcntl(dma.interrupt.fd, F_SETFL, flags) == 0);
}

static void *without_signals(void *bytes)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
	CHECK((*dma_32(&dma, STATUS) & 1) == 0);
	memset(bytes, 7, 4096);
	return NULL;
}

int main(void)
{
	fpga_handle handle = open_accelerator(MEMORY_DMA);
	struct buffer buffer = pin(handle, 4096);
	uint64_t took[3];
	pthread_t other;

	dma_open(&dma, handle);
	took[0] = wait_for_other(0, 1000);
	took[1] = wait_for_other(500, 1000);
	took[2] = wait_for_other(5000, -1);
	for (int i = 0; i < 3; i++)
		printf("%llu us\n", (unsigned long long)took[i] / 1000);
	look_without_waiting();
	CHECK(pthread_create(&other, NULL, without_signals, buffer.bytes) == 0);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK(buffer.bytes[4095] == 7);
	dma_close(&dma);
	unpin(handle, &buffer);
	OK(fpgaClose(handle));
	return 0;
}
