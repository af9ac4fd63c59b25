/* SPDX-License-Identifier: Apache-2.0 */
/* The functions for devices that a driver of the system hands over: each says that it is not supported. */
#include <opae/fpga.h>
#include <opae/uio.h>
#include <opae/vfio.h>

#include "../../integrations/opae/tests/programs/says.h"

int main(void)
{
	struct opae_uio uio = { .device_fd = -1 };
	struct opae_vfio vfio = { .cont_fd = -1 };
	uint8_t *bytes = NULL;
	size_t size = 4096;
	uint64_t address;

	CHECK(opae_uio_open(&uio, "dfl_dev.0") == FPGA_NOT_SUPPORTED);
	CHECK(opae_uio_region_get(&uio, 0, &bytes, &size) == FPGA_NOT_SUPPORTED);
	opae_uio_close(&uio);
	CHECK(opae_vfio_open(&vfio, "0000:01:00.0") == FPGA_NOT_SUPPORTED);
	CHECK(opae_vfio_secure_open(&vfio, "0000:01:00.0", "none") == FPGA_NOT_SUPPORTED);
	CHECK(opae_vfio_region_get(&vfio, 0, &bytes, &size) == FPGA_NOT_SUPPORTED);
	CHECK(opae_vfio_buffer_allocate(&vfio, &size, &bytes, &address) == FPGA_NOT_SUPPORTED);
	CHECK(opae_vfio_buffer_free(&vfio, bytes) == FPGA_NOT_SUPPORTED);
	opae_vfio_close(&vfio);
	return 0;
}
