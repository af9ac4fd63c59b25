/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the result code of each call of the table, which the test puts in codes.inc. */
#include "check.h"
#include <sys/mman.h>

int main(void)
{
	static uint64_t place[8];
	uint64_t word = 0, *mapped = NULL, buffer = 0, released = 0;
	uint8_t line[64] = { 0 };
	uint32_t half = 0;
	int number = 0;
	char text[64] = "text", *name = text;
	void *none = NULL, *junk = place, *address = NULL, *out = NULL, *memory = NULL;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fpga_guid guid = { 0 };
	struct fpga_error_info info;
	enum fpga_sysobject_type kind;
	fpga_metric metric;
	fpga_metric_info metric_info;
	fpga_token token = the_only(FPGA_ACCELERATOR, NULL), device_token = the_only(FPGA_DEVICE, NULL);
	fpga_token spare = NULL, dead_token;
	fpga_handle handle = NULL, device = NULL, closed;
	fpga_properties of_accelerator = NULL, of_device = NULL, filter = NULL, dead_filter;
	fpga_object object = NULL, directory = NULL, readonly = NULL;
	fpga_event_handle event = NULL, fresh = NULL, dead_event;

	OK(fpgaCloneToken(token, &spare));
	dead_token = spare;
	OK(fpgaDestroyToken(&spare));
	OK(fpgaOpen(token, &handle, 0));
	closed = handle;
	OK(fpgaClose(handle));
	OK(fpgaOpen(token, &handle, 0));
	OK(fpgaOpen(device_token, &device, 0));
	OK(fpgaGetProperties(token, &of_accelerator));
	OK(fpgaGetProperties(device_token, &of_device));
	OK(fpgaGetProperties(NULL, &filter));
	dead_filter = filter;
	OK(fpgaDestroyProperties(&filter));
	OK(fpgaGetProperties(NULL, &filter));
	OK(fpgaHandleGetObject(device, "errors/inject_error", &object, 0));
	OK(fpgaTokenGetObject(device_token, "errors/inject_error", &readonly, 0));
	OK(fpgaHandleGetObject(handle, "errors", &directory, FPGA_OBJECT_RECURSE_ONE));
	OK(fpgaCreateEventHandle(&event));
	dead_event = event;
	OK(fpgaDestroyEventHandle(&event));
	OK(fpgaCreateEventHandle(&event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 0));
	OK(fpgaCreateEventHandle(&fresh));
	OK(fpgaPrepareBuffer(handle, 4096, &memory, &released, 0));
	OK(fpgaReleaseBuffer(handle, released));
	OK(fpgaPrepareBuffer(handle, 4096, &memory, &buffer, 0));
	CHECK(page != MAP_FAILED && closed != handle);
#include "codes.inc"
	return 0;
}
