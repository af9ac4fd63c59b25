/* The simulation ends while a program uses it. */
#include "check.h"
#include <poll.h>
#include <unistd.h>

int main(void)
{
	fpga_handle handle = open_one(FPGA_ACCELERATOR), other = NULL;
	fpga_token token = token_of(FPGA_ACCELERATOR);
	fpga_properties props = NULL;
	fpga_event_handle event = NULL;
	volatile char *regs = NULL;
	void *memory = NULL, *second = NULL;
	uint64_t wsid, value, start;
	uint32_t matches;
	struct pollfd one = { .events = POLLIN };

	OK(fpgaMapMMIO(handle, 0, (uint64_t **)&regs));
	OK(fpgaPrepareBuffer(handle, 65536, &memory, &wsid, 0));
	OK(fpgaCreateEventHandle(&event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 0));
	OK(fpgaGetOSObjectFromEventHandle(event, &one.fd));
	start_engine(handle, 0x1000000000, 1, 1, 1000);
	*(volatile uint64_t *)(regs + 0x860) = 1;

	SAYS(FPGA_NO_DAEMON, fpgaReadMMIO64(handle, 0, SCRATCH, &value));
	SAYS(FPGA_NO_DAEMON, fpgaWriteMMIO64(handle, 0, SCRATCH, 1));
	SAYS(FPGA_NO_DAEMON, fpgaEnumerate(NULL, 0, NULL, 0, &matches));
	SAYS(FPGA_NO_DAEMON, fpgaOpen(token, &other, 0));
	SAYS(FPGA_NO_DAEMON, fpgaGetProperties(token, &props));
	SAYS(FPGA_NO_DAEMON, fpgaPrepareBuffer(handle, 4096, &second, &value, 0));
	SAYS(FPGA_NO_DAEMON, fpgaReset(handle));
	CHECK(*(volatile uint64_t *)(regs + SCRATCH) == (uint64_t)-1);
	*(volatile uint32_t *)(regs + SCRATCH) = 1;
	memset(memory, 1, 65536);
	start = monotonic();
	usleep(1000);
	CHECK(monotonic() - start >= 1000000);
	start = monotonic();
	CHECK(poll(&one, 1, 5) == 0);
	CHECK(monotonic() - start >= 5000000);
	SAYS(FPGA_NO_DAEMON, fpgaReleaseBuffer(handle, wsid));
	SAYS(FPGA_NO_DAEMON, fpgaDestroyEventHandle(&event));
	SAYS(FPGA_NO_DAEMON, fpgaClose(handle));
	SAYS(FPGA_INVALID_PARAM, fpgaClose(handle));
	OK(fpgaDestroyToken(&token));
	return 0;
}
