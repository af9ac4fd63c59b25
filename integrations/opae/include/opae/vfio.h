/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that the system's VFIO driver hands over. No simulated device has a VFIO driver, and every call fails. */
#ifndef PEERLANE_OPAE_VFIO_H
#define PEERLANE_OPAE_VFIO_H

#include <linux/vfio.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <opae/types.h>

struct mem_link {
	uint64_t address;
	uint64_t size;
	struct mem_link *prev;
	struct mem_link *next;
};

struct mem_alloc {
	struct mem_link free;
	struct mem_link allocated;
};

struct opae_vfio_iova_range {
	uint64_t start;
	uint64_t end;
	uint64_t next_ptr;
	struct opae_vfio_iova_range *next;
};

struct opae_vfio_group {
	char *group_device;
	int group_fd;
};

struct opae_vfio_sparse_info {
	uint32_t index;
	uint32_t offset;
	uint32_t size;
	uint8_t *ptr;
	struct opae_vfio_sparse_info *next;
};

struct opae_vfio_device_region {
	uint32_t region_index;
	uint8_t *region_ptr;
	size_t region_size;
	struct opae_vfio_sparse_info *region_sparse;
	struct opae_vfio_device_region *next;
};

struct opae_vfio_device {
	int device_fd;
	uint64_t device_config_offset;
	uint32_t device_num_regions;
	struct opae_vfio_device_region *regions;
};

struct opae_vfio_buffer {
	uint8_t *buffer_ptr;
	size_t buffer_size;
	uint64_t buffer_iova;
	struct opae_vfio_buffer *next;
};

struct opae_vfio {
	pthread_mutex_t lock;
	char *cont_device;
	char *cont_pciaddr;
	int cont_fd;
	struct opae_vfio_iova_range *cont_ranges;
	struct mem_alloc iova_alloc;
	struct opae_vfio_group group;
	struct opae_vfio_device device;
	struct opae_vfio_buffer *cont_buffers;
};

#ifdef __cplusplus
extern "C" {
#endif

/* The result is FPGA_NOT_SUPPORTED. */
int opae_vfio_open(struct opae_vfio *v, const char *pciaddr);
int opae_vfio_secure_open(struct opae_vfio *v, const char *pciaddr, const char *token);
int opae_vfio_region_get(struct opae_vfio *v, uint32_t index, uint8_t **ptr, size_t *size);
int opae_vfio_buffer_allocate(struct opae_vfio *v, size_t *size, uint8_t **buf, uint64_t *iova);
int opae_vfio_buffer_free(struct opae_vfio *v, uint8_t *buf);
void opae_vfio_close(struct opae_vfio *v);

#ifdef __cplusplus
}
#endif

#endif
