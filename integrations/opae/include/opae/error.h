/* SPDX-License-Identifier: Apache-2.0 */
/* Error registers: as many as the properties of an object say, from 0. */
#ifndef PEERLANE_OPAE_ERROR_H
#define PEERLANE_OPAE_ERROR_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

fpga_result fpgaReadError(fpga_token token, uint32_t error_num, uint64_t *value);
fpga_result fpgaClearError(fpga_token token, uint32_t error_num);
fpga_result fpgaClearAllErrors(fpga_token token);
fpga_result fpgaGetErrorInfo(fpga_token token, uint32_t error_num,
			     struct fpga_error_info *error_info);

#ifdef __cplusplus
}
#endif

#endif
