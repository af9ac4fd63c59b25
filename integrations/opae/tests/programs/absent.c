/* Without a session there are no devices, and time is what it is. */
#include "check.h"
#include <unistd.h>

int main(void)
{
	fpga_properties filter = NULL;
	uint32_t matches = 99;
	uint64_t start = monotonic();

	SAYS(FPGA_NO_DRIVER, fpgaEnumerate(NULL, 0, NULL, 0, &matches));
	CHECK(matches == 0);
	OK(fpgaInitialize(NULL));
	OK(fpgaGetProperties(NULL, &filter));
	SAYS(FPGA_NO_DRIVER, fpgaEnumerate(&filter, 1, NULL, 0, &matches));
	OK(fpgaDestroyProperties(&filter));
	usleep(1000);
	CHECK(monotonic() - start >= 1000000);
	return 0;
}
