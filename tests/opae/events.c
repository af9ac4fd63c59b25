/* SPDX-License-Identifier: Apache-2.0 */
/* Events: which there are, and how a program, or a thread of one, waits for an interrupt of the memory-mapped DMA.
 *
 * events [MS]: how long to wait for an interrupt that never comes.
 */
#include "dma.h"
#include <pthread.h>

static struct dma dma;

/* Has the engine copy so many lines within the card, and interrupt. */
static void interrupt_after(uint64_t lines)
{
	dma_copy(&dma, 1 << 20, 0, lines * LINE, INTERRUPT_AT_END);
}

static void acknowledge(void)
{
	*dma_32(&dma, STATUS) = INTERRUPT;
}

static uint64_t told(int fd)
{
	uint64_t count = 0;

	CHECK(read(fd, &count, sizeof(count)) == sizeof(count));
	acknowledge();
	return count;
}

static void lives(fpga_handle handle)
{
	fpga_event_handle event = NULL, gone;
	int fd = -1;

	OK(fpgaCreateEventHandle(&event));
	SAYS(FPGA_INVALID_PARAM, fpgaGetOSObjectFromEventHandle(event, &fd));
	SAYS(FPGA_INVALID_PARAM, fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	SAYS(FPGA_NOT_SUPPORTED, fpgaRegisterEvent(handle, FPGA_EVENT_POWER_THERMAL, event, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaRegisterEvent(handle, (fpga_event_type)9, event, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 4));
	SAYS(FPGA_INVALID_PARAM, fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, NULL, 0));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 3));
	SAYS(FPGA_BUSY, fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 2));
	OK(fpgaGetOSObjectFromEventHandle(event, &fd));
	CHECK(fd >= 0);
	OK(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 2));
	gone = event;
	OK(fpgaDestroyEventHandle(&event));
	CHECK(event == NULL);
	SAYS(FPGA_INVALID_PARAM, fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, gone));
	SAYS(FPGA_INVALID_PARAM, fpgaDestroyEventHandle(&gone));
	/* More than a process may have files. */
	for (int i = 0; i < 1200; i++) {
		OK(fpgaCreateEventHandle(&event));
		if (i % 100 == 0)
			OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 1));
		OK(fpgaDestroyEventHandle(&event));
	}
	printf("events come and go\n");
}

static void waits(struct pollfd *interrupt, int ms)
{
	uint64_t began = now_ns(), took;

	CHECK(poll(interrupt, 1, 0) == 0);
	CHECK(poll(interrupt, 1, ms) == 0);
	took = now_ns() - began;
	CHECK(took >= (uint64_t)ms * 1000000);
	printf("waited for nothing: %llu ns\n", (unsigned long long)took);

	began = now_ns();
	interrupt_after(1 << 10);
	CHECK(poll(interrupt, 1, 60000) == 1 && interrupt->revents & POLLIN);
	took = now_ns() - began;
	CHECK(told(interrupt->fd) == 1);
	printf("waited for an interrupt: %llu ns\n", (unsigned long long)took);

	interrupt_after(1);
	CHECK(poll(interrupt, 1, -1) == 1);
	CHECK(told(interrupt->fd) == 1);
	interrupt_after(1 << 10);
	CHECK(told(interrupt->fd) == 1);
	interrupt_after(1);
	interrupt_after(1);
	interrupt_after(1);
	usleep(100000);
	CHECK(told(interrupt->fd) == 3);
	CHECK(poll(interrupt, 1, 0) == 0);
}

static void registrations(fpga_handle handle)
{
	struct pollfd both[2] = { dma.interrupt, { .events = POLLIN } };
	fpga_event_handle other = NULL;

	OK(fpgaCreateEventHandle(&other));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, other, 1));
	OK(fpgaGetOSObjectFromEventHandle(other, &both[1].fd));
	interrupt_after(1);
	CHECK(poll(both, 2, 1000) == 1);
	CHECK(both[0].revents & POLLIN && !both[1].revents);
	CHECK(told(both[0].fd) == 1);
	OK(fpgaDestroyEventHandle(&other));

	OK(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, dma.event));
	interrupt_after(1);
	CHECK(poll(both, 1, 10) == 0);
	acknowledge();
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, dma.event, 0));
	CHECK(poll(both, 1, 10) == 0);
	interrupt_after(1);
	CHECK(poll(both, 1, 10) == 1);
	CHECK(told(both[0].fd) == 1);
	printf("only who is registered is told\n");
}

enum { TIMES = 20 };

static void *polls(void *fd)
{
	struct pollfd interrupt = { .fd = *(int *)fd, .events = POLLIN };

	for (int seen = 0; seen < TIMES;) {
		CHECK(poll(&interrupt, 1, -1) == 1);
		seen += (int)told(interrupt.fd);
	}
	return NULL;
}

static void *reads(void *fd)
{
	for (int seen = 0; seen < TIMES;)
		seen += (int)told(*(int *)fd);
	return NULL;
}

/* One thread waits, and another has the engine work; it sleeps in between, or does not. */
static void threads(void *(*body)(void *), unsigned int pause)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, body, &dma.interrupt.fd) == 0);
	for (int i = 0; i < TIMES; i++) {
		interrupt_after(16);
		if (pause)
			usleep(pause);
	}
	CHECK(pthread_join(thread, NULL) == 0);
}

static void closed_with_an_event(void)
{
	fpga_handle handle = open_accelerator(MEMORY_DMA);
	fpga_event_handle event = NULL;
	struct pollfd interrupt = { .events = POLLIN };

	OK(fpgaCreateEventHandle(&event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 0));
	OK(fpgaGetOSObjectFromEventHandle(event, &interrupt.fd));
	OK(fpgaClose(handle));
	CHECK(poll(&interrupt, 1, 10) == 0);
	SAYS(FPGA_INVALID_PARAM, fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	OK(fpgaDestroyEventHandle(&event));
}

int main(int argc, char **argv)
{
	int ms = argc > 1 ? atoi(argv[1]) : 50;
	fpga_handle handle = open_accelerator(MEMORY_DMA);

	OK(fpgaReset(handle));
	lives(handle);
	dma_open(&dma, handle);
	waits(&dma.interrupt, ms);
	registrations(handle);
	threads(polls, 0);
	threads(polls, 1000);
	threads(reads, 0);
	threads(reads, 1000);
	printf("threads wait, too\n");
	dma_close(&dma);
	OK(fpgaClose(handle));
	closed_with_an_event();
	return 0;
}
