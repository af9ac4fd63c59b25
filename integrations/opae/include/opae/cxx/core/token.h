/* SPDX-License-Identifier: Apache-2.0 */
/* Names of objects that can be opened. */
#ifndef PEERLANE_OPAE_CXX_TOKEN_H
#define PEERLANE_OPAE_CXX_TOKEN_H

#include <opae/cxx/core/except.h>
#include <opae/cxx/core/properties.h>
#include <opae/enum.h>

#include <memory>
#include <vector>

namespace opae {
namespace fpga {
namespace types {

class token {
	fpga_token token_;

	explicit token(fpga_token named) : token_(named) {}

	static fpga_properties filter_of(const properties::ptr_t &filter)
	{
		if (!filter)
			throw std::invalid_argument("there is no filter");
		return filter->c_type();
	}

public:
	typedef std::shared_ptr<token> ptr_t;

	token(const token &) = delete;
	token &operator=(const token &) = delete;
	~token() { fpgaDestroyToken(&token_); }

	/* The objects that one of the filters describes, or all objects. */
	static std::vector<ptr_t> enumerate(const std::vector<properties::ptr_t> &filters)
	{
		std::vector<fpga_properties> wanted;
		std::vector<fpga_token> found;
		std::vector<ptr_t> tokens;
		uint32_t count = 0, given = static_cast<uint32_t>(filters.size());
		fpga_result result;

		for (const properties::ptr_t &filter : filters)
			wanted.push_back(filter_of(filter));
		result = fpgaEnumerate(wanted.data(), given, nullptr, 0, &count);
		if (result == FPGA_NOT_FOUND)
			return tokens;
		ASSERT_FPGA_OK(result);
		found.resize(count);
		if (count)
			ASSERT_FPGA_OK(fpgaEnumerate(wanted.data(), given, found.data(), count, &count));
		for (size_t i = 0; i < found.size() && i < count; i++)
			tokens.push_back(ptr_t(new token(found[i])));
		return tokens;
	}

	/* A token for the same object. */
	static ptr_t clone(fpga_token token)
	{
		fpga_token copy = nullptr;

		ASSERT_FPGA_OK(fpgaCloneToken(token, &copy));
		return ptr_t(new types::token(copy));
	}

	/* The device of an accelerator; null for a device. */
	ptr_t get_parent() const
	{
		fpga_token parent = nullptr;
		fpga_result result =
			fpgaPropertiesGetParent(properties::get(token_)->c_type(), &parent);

		if (result != FPGA_OK)
			return nullptr;
		return ptr_t(new token(parent));
	}

	fpga_token c_type() const { return token_; }
	operator fpga_token() const { return token_; }
};

inline properties::ptr_t properties::get(const std::shared_ptr<types::token> &token)
{
	return get(token->c_type());
}

} // namespace types
} // namespace fpga
} // namespace opae

#endif
