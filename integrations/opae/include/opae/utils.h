/* SPDX-License-Identifier: Apache-2.0 */
/* What result codes are called. */
#ifndef PEERLANE_OPAE_UTILS_H
#define PEERLANE_OPAE_UTILS_H

#include <opae/types.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *fpgaErrStr(fpga_result e);

#ifdef __cplusplus
}
#endif

#endif
