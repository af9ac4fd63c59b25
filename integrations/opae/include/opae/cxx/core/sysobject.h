/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of objects, by the names of the driver's files. */
#ifndef PEERLANE_OPAE_CXX_SYSOBJECT_H
#define PEERLANE_OPAE_CXX_SYSOBJECT_H

#include <opae/cxx/core/except.h>
#include <opae/cxx/core/handle.h>
#include <opae/cxx/core/token.h>
#include <opae/sysobject.h>

#include <memory>
#include <string>
#include <vector>

namespace opae {
namespace fpga {
namespace types {

class sysobject {
	fpga_object object_;
	token::ptr_t token_;
	handle::ptr_t handle_;

	sysobject(fpga_object object, token::ptr_t token, handle::ptr_t handle)
		: object_(object), token_(token), handle_(handle)
	{
	}

public:
	typedef std::shared_ptr<sysobject> ptr_t;

private:
	/* `found` is a reference, because the call that gives `result` sets it. */
	static ptr_t wrap(fpga_result result, const fpga_object &found, token::ptr_t token,
			  handle::ptr_t handle)
	{
		if (result == FPGA_NOT_FOUND)
			return nullptr;
		ASSERT_FPGA_OK(result);
		return ptr_t(new sysobject(found, token, handle));
	}

public:

	sysobject(const sysobject &) = delete;
	sysobject &operator=(const sysobject &) = delete;
	virtual ~sysobject() { fpgaDestroyObject(&object_); }

	/* An attribute, or a folder of attributes, of an object; null if there is none of this name. */
	static ptr_t get(token::ptr_t token, const std::string &name, int flags = 0)
	{
		fpga_object found = nullptr;

		return wrap(fpgaTokenGetObject(token->c_type(), name.c_str(), &found, flags), found,
			    token, nullptr);
	}
	/* An attribute, or a folder, of an open object; it can be written. Null if there is none. */
	static ptr_t get(handle::ptr_t handle, const std::string &name, int flags = 0)
	{
		fpga_object found = nullptr;

		return wrap(fpgaHandleGetObject(handle->c_type(), name.c_str(), &found, flags),
			    found, nullptr, handle);
	}
	/* An attribute, or a folder, in this folder, by name or number; null if there is none. */
	ptr_t get(const std::string &name, int flags = 0) const
	{
		fpga_object found = nullptr;

		return wrap(fpgaObjectGetObject(object_, name.c_str(), &found, flags), found, token_,
			    handle_);
	}
	ptr_t get(int number) const
	{
		fpga_object found = nullptr;

		return wrap(fpgaObjectGetObjectAt(object_, static_cast<size_t>(number), &found),
			    found, token_, handle_);
	}

	uint32_t size(int flags = 0) const
	{
		uint32_t bytes = 0;

		ASSERT_FPGA_OK(fpgaObjectGetSize(object_, &bytes, flags));
		return bytes;
	}
	uint64_t read64(int flags = 0) const
	{
		uint64_t value = 0;

		ASSERT_FPGA_OK(fpgaObjectRead64(object_, &value, flags));
		return value;
	}
	void write64(uint64_t value, int flags = 0) const
	{
		ASSERT_FPGA_OK(fpgaObjectWrite64(object_, value, flags));
	}
	std::vector<uint8_t> bytes(int flags = 0) const { return bytes(0, size(flags), flags); }
	std::vector<uint8_t> bytes(uint32_t offset, uint32_t size, int flags = 0) const
	{
		std::vector<uint8_t> read(size);

		ASSERT_FPGA_OK(fpgaObjectRead(object_, read.data(), offset, size, flags));
		return read;
	}
	fpga_sysobject_type type() const
	{
		fpga_sysobject_type found = FPGA_OBJECT_ATTRIBUTE;

		ASSERT_FPGA_OK(fpgaObjectGetType(object_, &found));
		return found;
	}

	fpga_object c_type() const { return object_; }
	operator fpga_object() const { return object_; }
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
