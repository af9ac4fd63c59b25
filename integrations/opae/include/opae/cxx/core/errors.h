/* SPDX-License-Identifier: Apache-2.0 */
/* Error registers of objects. */
#ifndef PEERLANE_OPAE_CXX_ERRORS_H
#define PEERLANE_OPAE_CXX_ERRORS_H

#include <opae/cxx/core/except.h>
#include <opae/cxx/core/token.h>
#include <opae/error.h>

#include <memory>
#include <string>

namespace opae {
namespace fpga {
namespace types {

class error {
	token::ptr_t token_;
	uint32_t number_;
	fpga_error_info info_;

	error(token::ptr_t token, uint32_t number) : token_(token), number_(number), info_()
	{
		if (!token)
			throw invalid_param(OPAE_HERE);
		ASSERT_FPGA_OK(fpgaGetErrorInfo(token->c_type(), number, &info_));
	}

public:
	typedef std::shared_ptr<error> ptr_t;

	/* The register with this number, below the property `num_errors` of the object. */
	static ptr_t get(token::ptr_t token, uint32_t number)
	{
		return ptr_t(new error(token, number));
	}

	std::string name() const { return info_.name; }
	bool can_clear() const { return info_.can_clear; }
	uint64_t read_value() const
	{
		uint64_t value = 0;

		ASSERT_FPGA_OK(fpgaReadError(token_->c_type(), number_, &value));
		return value;
	}
	void clear() { ASSERT_FPGA_OK(fpgaClearError(token_->c_type(), number_)); }
	fpga_error_info c_type() const { return info_; }
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
