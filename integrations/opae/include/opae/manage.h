/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a device. */
#ifndef PEERLANE_OPAE_MANAGE_H
#define PEERLANE_OPAE_MANAGE_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

fpga_result fpgaAssignPortToInterface(fpga_handle fpga, uint32_t interface_num,
				      uint32_t slot_num, int flags);
fpga_result fpgaAssignToInterface(fpga_handle fpga, fpga_token accelerator,
				  uint32_t host_interface, int flags);
fpga_result fpgaReleaseFromInterface(fpga_handle fpga, fpga_token accelerator);
/* FPGA_INVALID_PARAM if the bitstream is none, or for another device. */
fpga_result fpgaReconfigureSlot(fpga_handle fpga, uint32_t slot,
				const uint8_t *bitstream, size_t bitstream_len,
				int flags);

#ifdef __cplusplus
}
#endif

#endif
