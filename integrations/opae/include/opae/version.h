/* SPDX-License-Identifier: Apache-2.0 */
/* Which version of the interface this is. */
#ifndef PEERLANE_OPAE_VERSION_H
#define PEERLANE_OPAE_VERSION_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FPGA_VERSION_STR_MAX 10
#define FPGA_BUILD_STR_MAX 41

fpga_result fpgaGetOPAECVersion(fpga_version *version);
fpga_result fpgaGetOPAECVersionString(char *version_str, size_t len);
fpga_result fpgaGetOPAECBuildString(char *build_str, size_t len);

#ifdef __cplusplus
}
#endif

#endif
