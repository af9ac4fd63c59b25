/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of an accelerator. */
#ifndef PEERLANE_OPAE_MMIO_H
#define PEERLANE_OPAE_MMIO_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

fpga_result fpgaWriteMMIO64(fpga_handle handle, uint32_t mmio_num,
			    uint64_t offset, uint64_t value);
fpga_result fpgaReadMMIO64(fpga_handle handle, uint32_t mmio_num,
			   uint64_t offset, uint64_t *value);
fpga_result fpgaWriteMMIO32(fpga_handle handle, uint32_t mmio_num,
			    uint64_t offset, uint32_t value);
fpga_result fpgaReadMMIO32(fpga_handle handle, uint32_t mmio_num,
			   uint64_t offset, uint32_t *value);
/* 64 bytes at once. */
fpga_result fpgaWriteMMIO512(fpga_handle handle, uint32_t mmio_num,
			     uint64_t offset, const void *value);
/* With NULL for mmio_ptr, nothing but the functions above is used. */
fpga_result fpgaMapMMIO(fpga_handle handle, uint32_t mmio_num, uint64_t **mmio_ptr);
fpga_result fpgaUnmapMMIO(fpga_handle handle, uint32_t mmio_num);

#ifdef __cplusplus
}
#endif

#endif
