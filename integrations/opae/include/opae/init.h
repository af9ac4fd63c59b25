/* SPDX-License-Identifier: Apache-2.0 */
/* To begin and to end. Neither is needed: the first call begins. */
#ifndef PEERLANE_OPAE_INIT_H
#define PEERLANE_OPAE_INIT_H

#include <opae/types_enum.h>

#ifdef __cplusplus
extern "C" {
#endif

fpga_result fpgaInitialize(const char *config_file);
fpga_result fpgaFinalize(void);

#ifdef __cplusplus
}
#endif

#endif
