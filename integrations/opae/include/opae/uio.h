/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of devices that the system's UIO driver hands over. No simulated device has a UIO driver, and every call fails. */
#ifndef PEERLANE_OPAE_UIO_H
#define PEERLANE_OPAE_UIO_H

#include <stdint.h>
#include <stdio.h>

#include <opae/types.h>

#define OPAE_UIO_PATH_MAX 256

struct opae_uio_device_region {
	uint32_t region_index;
	uint8_t *region_ptr;
	size_t region_page_offset;
	size_t region_size;
	struct opae_uio_device_region *next;
};

struct opae_uio {
	char device_path[OPAE_UIO_PATH_MAX];
	int device_fd;
	struct opae_uio_device_region *regions;
};

#ifdef __cplusplus
extern "C" {
#endif

/* The result is FPGA_NOT_SUPPORTED. */
int opae_uio_open(struct opae_uio *u, const char *dfl_device);
int opae_uio_region_get(struct opae_uio *u, uint32_t index, uint8_t **ptr, size_t *size);
void opae_uio_close(struct opae_uio *u);

#ifdef __cplusplus
}
#endif

#endif
