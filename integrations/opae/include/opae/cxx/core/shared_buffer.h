/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is shared with devices. */
#ifndef PEERLANE_OPAE_CXX_SHARED_BUFFER_H
#define PEERLANE_OPAE_CXX_SHARED_BUFFER_H

#include <opae/buffer.h>
#include <opae/cxx/core/except.h>
#include <opae/cxx/core/handle.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace opae {
namespace fpga {
namespace types {

class shared_buffer {
	handle::ptr_t owner_;
	uint8_t *base_;
	size_t size_;
	uint64_t wsid_, address_;

	shared_buffer(handle::ptr_t owner, uint8_t *base, size_t size, int flags)
		: owner_(owner), base_(base), size_(size), wsid_(0), address_(0)
	{
		void *place = base;

		if (!owner)
			throw invalid_param(OPAE_HERE);
		ASSERT_FPGA_OK(fpgaPrepareBuffer(owner->c_type(), size, &place, &wsid_, flags));
		base_ = static_cast<uint8_t *>(place);
		try {
			ASSERT_FPGA_OK(fpgaGetIOAddress(owner->c_type(), wsid_, &address_));
		} catch (...) {
			/* No destructor runs for an object that was not made. */
			fpgaReleaseBuffer(owner->c_type(), wsid_);
			throw;
		}
	}

	void check(size_t offset, size_t size) const
	{
		if (!base_ || size > size_ || offset > size_ - size)
			throw invalid_param(OPAE_HERE);
	}

	static int flags(bool read_only, int more)
	{
		return (read_only ? static_cast<int>(FPGA_BUF_READ_ONLY) : 0) | more;
	}

public:
	typedef std::shared_ptr<shared_buffer> ptr_t;

	shared_buffer(const shared_buffer &) = delete;
	shared_buffer &operator=(const shared_buffer &) = delete;
	virtual ~shared_buffer()
	{
		if (base_)
			fpgaReleaseBuffer(owner_->c_type(), wsid_);
	}

	/* New memory, or memory of the program; devices only read it if `read_only`. */
	static ptr_t allocate(handle::ptr_t handle, size_t len, bool read_only = false)
	{
		return ptr_t(new shared_buffer(handle, nullptr, len, flags(read_only, 0)));
	}
	static ptr_t attach(handle::ptr_t handle, uint8_t *base, size_t len, bool read_only = false)
	{
		int own = static_cast<int>(FPGA_BUF_PREALLOCATED);

		return ptr_t(new shared_buffer(handle, base, len, flags(read_only, own)));
	}
	void release()
	{
		uint8_t *base = base_;

		base_ = nullptr;
		if (base)
			ASSERT_FPGA_OK(fpgaReleaseBuffer(owner_->c_type(), wsid_));
	}

	volatile uint8_t *c_type() const { return base_; }
	handle::ptr_t owner() const { return owner_; }
	size_t size() const { return size_; }
	uint64_t wsid() const { return wsid_; }
	/* The address for devices. */
	uint64_t io_address() const { return address_; }

	void fill(int byte)
	{
		check(0, size_);
		std::memset(base_, byte, size_);
	}
	int compare(ptr_t other, size_t len) const
	{
		check(0, len);
		other->check(0, len);
		return std::memcmp(base_, other->base_, len);
	}
	template <typename T> T read(size_t offset) const
	{
		check(offset, sizeof(T));
		return *reinterpret_cast<const volatile T *>(base_ + offset);
	}
	template <typename T> void write(const T &value, size_t offset)
	{
		check(offset, sizeof(T));
		*reinterpret_cast<volatile T *>(base_ + offset) = value;
	}
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
