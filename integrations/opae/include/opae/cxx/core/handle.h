/* SPDX-License-Identifier: Apache-2.0 */
/* Open objects, and their registers. */
#ifndef PEERLANE_OPAE_CXX_HANDLE_H
#define PEERLANE_OPAE_CXX_HANDLE_H

#include <opae/access.h>
#include <opae/cxx/core/except.h>
#include <opae/cxx/core/token.h>
#include <opae/manage.h>
#include <opae/mmio.h>

#include <memory>

namespace opae {
namespace fpga {
namespace types {

class handle {
	fpga_handle handle_;
	token::ptr_t token_;

	handle(fpga_handle opened, token::ptr_t source) : handle_(opened), token_(source) {}

public:
	typedef std::shared_ptr<handle> ptr_t;

	handle(const handle &) = delete;
	handle &operator=(const handle &) = delete;
	virtual ~handle()
	{
		if (handle_)
			fpgaClose(handle_);
	}

	/* Opens an object; `flags` are those of `fpgaOpen`. */
	static ptr_t open(token::ptr_t token, int flags)
	{
		fpga_handle opened = nullptr;

		if (!token)
			throw std::invalid_argument("there is no token");
		ASSERT_FPGA_OK(fpgaOpen(token->c_type(), &opened, flags));
		return ptr_t(new handle(opened, token));
	}
	static ptr_t open(fpga_token token, int flags)
	{
		return open(types::token::clone(token), flags);
	}
	/* Closes the handle; the result is FPGA_EXCEPTION if it is closed already. */
	fpga_result close()
	{
		if (!handle_)
			return FPGA_EXCEPTION;
		ASSERT_FPGA_OK(fpgaClose(handle_));
		handle_ = nullptr;
		return FPGA_OK;
	}

	fpga_handle c_type() const { return handle_; }
	operator fpga_handle() const { return handle_; }
	token::ptr_t get_token() const { return token_; }

	uint32_t read_csr32(uint64_t offset, uint32_t csr_space = 0) const
	{
		uint32_t value = 0;

		ASSERT_FPGA_OK(fpgaReadMMIO32(handle_, csr_space, offset, &value));
		return value;
	}
	uint64_t read_csr64(uint64_t offset, uint32_t csr_space = 0) const
	{
		uint64_t value = 0;

		ASSERT_FPGA_OK(fpgaReadMMIO64(handle_, csr_space, offset, &value));
		return value;
	}
	void write_csr32(uint64_t offset, uint32_t value, uint32_t csr_space = 0)
	{
		ASSERT_FPGA_OK(fpgaWriteMMIO32(handle_, csr_space, offset, value));
	}
	void write_csr64(uint64_t offset, uint64_t value, uint32_t csr_space = 0)
	{
		ASSERT_FPGA_OK(fpgaWriteMMIO64(handle_, csr_space, offset, value));
	}
	void write_csr512(uint64_t offset, const void *value, uint32_t csr_space = 0)
	{
		ASSERT_FPGA_OK(fpgaWriteMMIO512(handle_, csr_space, offset, value));
	}
	/* The address of the register at `offset`. */
	uint8_t *mmio_ptr(uint64_t offset = 0, uint32_t csr_space = 0) const
	{
		uint64_t *base = nullptr;

		ASSERT_FPGA_OK(fpgaMapMMIO(handle_, csr_space, &base));
		return reinterpret_cast<uint8_t *>(base) + offset;
	}

	virtual void reset() { ASSERT_FPGA_OK(fpgaReset(handle_)); }
	void reconfigure(uint32_t slot, const uint8_t *bitstream, size_t size, int flags)
	{
		ASSERT_FPGA_OK(fpgaReconfigureSlot(handle_, slot, bitstream, size, flags));
	}
};

inline properties::ptr_t properties::get(const std::shared_ptr<types::handle> &handle)
{
	fpga_handle opened = handle->c_type();

	return ptr_t(new properties([opened](fpga_properties *props) {
		return fpgaGetPropertiesFromHandle(opened, props);
	}));
}

} // namespace types
} // namespace fpga
} // namespace opae

#endif
