/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is shared with devices. */
#ifndef PEERLANE_OPAE_CXX_SHARED_BUFFER_H
#define PEERLANE_OPAE_CXX_SHARED_BUFFER_H

#include <opae/buffer.h>
#include <opae/cxx/core/except.h>
#include <opae/cxx/core/handle.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace opae {
namespace fpga {
namespace types {

class shared_buffer {
public:
	typedef std::size_t size_t;
	typedef std::shared_ptr<shared_buffer> ptr_t;

protected:
	handle::ptr_t handle_;
	size_t len_;
	uint8_t *virt_;
	uint64_t wsid_;
	uint64_t io_address_;

	/* A buffer that exists; without a handle it is a part of another one, and releases nothing. */
	shared_buffer(handle::ptr_t handle, size_t len, uint8_t *virt, uint64_t wsid,
		      uint64_t io_address)
		: handle_(handle), len_(len), virt_(virt), wsid_(wsid), io_address_(io_address)
	{
	}

private:
	/* A numeric word is read each time, so that a loop sees what a device writes. */
	template <typename T>
	using word = typename std::conditional<std::is_scalar<T>::value, volatile T, T>::type;

	static ptr_t prepare(handle::ptr_t handle, uint8_t *base, size_t len, bool read_only,
			     int flags)
	{
		void *place = base;
		uint64_t wsid = 0;

		if (!handle)
			throw std::invalid_argument("there is no handle");
		if (read_only)
			flags |= static_cast<int>(FPGA_BUF_READ_ONLY);
		ASSERT_FPGA_OK(fpgaPrepareBuffer(handle->c_type(), len, &place, &wsid, flags));
		ptr_t made(new shared_buffer(handle, len, static_cast<uint8_t *>(place), wsid, 0));
		ASSERT_FPGA_OK(fpgaGetIOAddress(handle->c_type(), wsid, &made->io_address_));
		return made;
	}

	/* Refuses an offset behind the buffer. As in the published header, a value that begins in the buffer may end behind it. */
	void check(size_t offset) const
	{
		if (!virt_ || offset >= len_)
			throw except(OPAECXX_HERE);
	}

	fpga_result end()
	{
		fpga_result result = FPGA_OK;

		if (!virt_ || !handle_)
			return FPGA_OK;
		result = fpgaReleaseBuffer(handle_->c_type(), wsid_);
		if (result == FPGA_OK) {
			virt_ = nullptr;
			len_ = 0;
			wsid_ = io_address_ = 0;
		}
		return result;
	}

public:
	shared_buffer(const shared_buffer &) = delete;
	shared_buffer &operator=(const shared_buffer &) = delete;
	virtual ~shared_buffer() { end(); }

	/* New memory, or memory of the program; devices only read it if `read_only`. */
	static ptr_t allocate(handle::ptr_t handle, size_t len, bool read_only = false)
	{
		if (handle && !len)
			throw except(OPAECXX_HERE);
		return prepare(handle, nullptr, len, read_only, 0);
	}
	static ptr_t attach(handle::ptr_t handle, uint8_t *base, size_t len, bool read_only = false)
	{
		return prepare(handle, base, len, read_only,
			       static_cast<int>(FPGA_BUF_PREALLOCATED));
	}
	/* Releases the buffer, which has no bytes afterwards. A failure is reported on standard error. */
	void release()
	{
		fpga_result result = end();

		if (result != FPGA_OK)
			std::cerr << "the buffer is not released: " << fpgaErrStr(result) << "\n";
	}

	volatile uint8_t *c_type() const { return virt_; }
	handle::ptr_t owner() const { return handle_; }
	size_t size() const { return len_; }
	uint64_t wsid() const { return wsid_; }
	/* The address for devices. */
	uint64_t io_address() const { return io_address_; }

	void fill(int byte)
	{
		std::fill(virt_, virt_ + len_, static_cast<uint8_t>(byte));
	}
	/* 0 if the first bytes of both buffers are equal, otherwise 1. */
	int compare(ptr_t other, size_t len) const
	{
		if (len && (!virt_ || !other->virt_))
			throw except(OPAECXX_HERE);
		return std::equal(virt_, virt_ + len, other->virt_) ? 0 : 1;
	}
	template <typename T> T read(size_t offset) const
	{
		check(offset);
		return *reinterpret_cast<const word<T> *>(virt_ + offset);
	}
	template <typename T> void write(const T &value, size_t offset)
	{
		check(offset);
		*reinterpret_cast<word<T> *>(virt_ + offset) = value;
	}
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
