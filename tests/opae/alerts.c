/* SPDX-License-Identifier: Apache-2.0 */
/* A thread injects a fatal error into the card, later takes it back, and another waits for what the card says of it. Then the
 * card reads where nothing is.
 */
#include "dma.h"
#include <pthread.h>

static void inject(fpga_handle device, uint64_t errors)
{
	fpga_object file = NULL;

	OK(fpgaHandleGetObject(device, "errors/inject_error", &file, 0));
	OK(fpgaObjectWrite64(file, errors, 0));
	OK(fpgaDestroyObject(&file));
}

static void *later(void *token)
{
	fpga_handle device = NULL;

	sleep(5);
	OK(fpgaOpen(token, &device, FPGA_OPEN_SHARED));
	inject(device, 2);
	sleep(5);
	inject(device, 0);
	OK(fpgaClose(device));
	return NULL;
}

/* What the error of that name says. */
static uint64_t error(fpga_token token, const char *name)
{
	struct fpga_error_info info;
	uint64_t value = 0;

	for (uint32_t number = 0;; number++) {
		OK(fpgaGetErrorInfo(token, number, &info));
		if (strcmp(info.name, name) == 0) {
			OK(fpgaReadError(token, number, &value));
			return value;
		}
	}
}

static struct pollfd listen_to(fpga_handle handle, fpga_event_handle *event)
{
	struct pollfd errors = { .events = POLLIN };

	OK(fpgaCreateEventHandle(event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_ERROR, *event, 0));
	OK(fpgaGetOSObjectFromEventHandle(*event, &errors.fd));
	return errors;
}

static uint64_t told(struct pollfd *errors)
{
	uint64_t count = 0;

	CHECK(poll(errors, 1, 10000) == 1);
	CHECK(read(errors->fd, &count, sizeof(count)) == sizeof(count));
	return count;
}

static void of_device(fpga_token token)
{
	fpga_event_handle event = NULL;
	fpga_handle device = NULL;
	struct pollfd errors;
	uint64_t began = now_ns();
	pthread_t thread;

	OK(fpgaOpen(token, &device, FPGA_OPEN_SHARED));
	errors = listen_to(device, &event);
	CHECK(pthread_create(&thread, NULL, later, token) == 0);
	CHECK(told(&errors) == 1);
	printf("an error after %llu s\n", (unsigned long long)((now_ns() - began) / 1000000000));
	CHECK(error(token, "catfatal_errors") == 1 << 8);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(error(token, "catfatal_errors") == 0);
	CHECK(poll(&errors, 1, 10) == 0);
	OK(fpgaUnregisterEvent(device, FPGA_EVENT_ERROR, event));
	OK(fpgaDestroyEventHandle(&event));
	OK(fpgaClose(device));
}

/* At 16 TiB of the host there is nothing. */
static void of_link(fpga_token token)
{
	fpga_handle device = NULL, handle = open_accelerator(MEMORY_DMA);
	fpga_event_handle event = NULL, other = NULL;
	struct pollfd errors, none;
	struct dma dma;

	OK(fpgaOpen(token, &device, FPGA_OPEN_SHARED));
	errors = listen_to(device, &event);
	none = listen_to(handle, &other);
	dma_open(&dma, handle);
	dma_copy(&dma, 0, HOST | 1ull << 44, LINE, 0);
	CHECK(told(&errors) == 1);
	CHECK(error(token, "pcie0_errors") == 1 << 6);
	CHECK(error(token, "nonfatal_errors") == 1 << 2);
	OK(fpgaClearAllErrors(token));
	CHECK(error(token, "pcie0_errors") == 0);
	CHECK(error(token, "nonfatal_errors") == 0);
	CHECK(poll(&none, 1, 10) == 0);
	printf("a read of nothing is an error of the link\n");
	dma_close(&dma);
	OK(fpgaDestroyEventHandle(&event));
	OK(fpgaDestroyEventHandle(&other));
	OK(fpgaClose(handle));
	OK(fpgaClose(device));
}

int main(void)
{
	fpga_token device = the_only(FPGA_DEVICE, NULL);

	of_device(device);
	of_link(device);
	OK(fpgaDestroyToken(&device));
	return 0;
}
