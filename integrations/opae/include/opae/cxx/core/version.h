/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the library. */
#ifndef PEERLANE_OPAE_CXX_VERSION_H
#define PEERLANE_OPAE_CXX_VERSION_H

#include <opae/cxx/core/except.h>
#include <opae/version.h>

#include <string>

namespace opae {
namespace fpga {
namespace types {

class version {
public:
	static fpga_version as_struct()
	{
		fpga_version found = fpga_version();

		ASSERT_FPGA_OK(fpgaGetOPAECVersion(&found));
		return found;
	}
	static std::string as_string()
	{
		char text[FPGA_VERSION_STR_MAX] = { 0 };

		ASSERT_FPGA_OK(fpgaGetOPAECVersionString(text, sizeof(text)));
		return text;
	}
	static std::string build()
	{
		char text[FPGA_BUILD_STR_MAX] = { 0 };

		ASSERT_FPGA_OK(fpgaGetOPAECBuildString(text, sizeof(text)));
		return text;
	}
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
