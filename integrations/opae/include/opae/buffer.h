/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is shared with devices. */
#ifndef PEERLANE_OPAE_BUFFER_H
#define PEERLANE_OPAE_BUFFER_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Without FPGA_BUF_PREALLOCATED the library maps it: in a page of 4 KiB, pages of 2 MiB up to that size, or pages of 1 GiB. */
fpga_result fpgaPrepareBuffer(fpga_handle handle, uint64_t len, void **buf_addr,
			      uint64_t *wsid, int flags);
fpga_result fpgaReleaseBuffer(fpga_handle handle, uint64_t wsid);
/* Where devices see it. */
fpga_result fpgaGetIOAddress(fpga_handle handle, uint64_t wsid, uint64_t *ioaddr);
/* FPGA_NOT_SUPPORTED here. */
fpga_result fpgaBindSVA(fpga_handle handle, uint32_t *pasid);

fpga_result fpgaBufMemSet(fpga_handle handle, uint64_t wsid, size_t offset,
			  int c, size_t n);
fpga_result fpgaBufMemCpyToRemote(fpga_handle handle, uint64_t dest_wsid,
				  size_t dest_offset, void *src, size_t n);
/* Looks every sleep_interval microseconds; FPGA_NOT_FOUND if it never was. */
fpga_result fpgaBufPoll(fpga_handle handle, uint64_t wsid, size_t offset,
			int width, uint64_t mask, uint64_t expected_value,
			uint64_t sleep_interval, uint64_t loops_timeout);
fpga_result fpgaBufMemCmp(fpga_handle handle, uint64_t bufa_wsid,
			  size_t bufa_offset, uint64_t bufb_wsid,
			  size_t bufb_offset, size_t n, int *result);

#ifdef __cplusplus
}
#endif

#endif
