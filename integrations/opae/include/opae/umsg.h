/* SPDX-License-Identifier: Apache-2.0 */
/* Messages without registers: no device here has them. */
#ifndef PEERLANE_OPAE_UMSG_H
#define PEERLANE_OPAE_UMSG_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

fpga_result fpgaGetNumUmsg(fpga_handle handle, uint64_t *value);
fpga_result fpgaSetUmsgAttributes(fpga_handle handle, uint64_t value);
fpga_result fpgaTriggerUmsg(fpga_handle handle, uint64_t value);
fpga_result fpgaGetUmsgPtr(fpga_handle handle, uint64_t **umsg_ptr);

#ifdef __cplusplus
}
#endif

#endif
