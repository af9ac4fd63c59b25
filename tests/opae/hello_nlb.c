/* SPDX-License-Identifier: Apache-2.0 */
/* The first program that one writes for a card: finds it, opens it, and has the native loopback copy a buffer.
 *
 * hello_nlb [sleep|spin] [KIB]: between two looks at the status it sleeps for 100 us, or does nothing at all.
 */
#include "nlb.h"

int main(int argc, char **argv)
{
	int spins = argc > 1 && strcmp(argv[1], "spin") == 0;
	uint64_t size = (argc > 2 ? strtoull(argv[2], NULL, 0) : 1024) * 1024, took;
	fpga_handle handle = open_accelerator(NLB_0);
	fpga_properties properties = NULL;
	uint8_t bus = 0xff;
	char release[16], build[16];
	fpga_version numbers;

	OK(fpgaGetOPAECVersion(&numbers));
	OK(fpgaGetOPAECVersionString(release, sizeof(release)));
	OK(fpgaGetOPAECBuildString(build, sizeof(build)));
	printf("library %s (%u, %u, %u) of %s\n", release, numbers.major, numbers.minor, numbers.patch, build);
	OK(fpgaGetPropertiesFromHandle(handle, &properties));
	OK(fpgaPropertiesGetBus(properties, &bus));
	OK(fpgaDestroyProperties(&properties));
	printf("bus 0x%02x\n", bus);

	OK(fpgaMapMMIO(handle, 0, NULL));
	took = nlb_copy(handle, size, spins ? spin : sleep_between);
	OK(fpgaUnmapMMIO(handle, 0));
	OK(fpgaClose(handle));
	printf("copied %llu bytes in %llu ns: %.3f GB/s\n", (unsigned long long)size,
	       (unsigned long long)took, (double)size / (double)took);
	return 0;
}
