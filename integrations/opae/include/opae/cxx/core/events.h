/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts and errors that a program is told of. */
#ifndef PEERLANE_OPAE_CXX_EVENTS_H
#define PEERLANE_OPAE_CXX_EVENTS_H

#include <opae/cxx/core/except.h>
#include <opae/cxx/core/handle.h>
#include <opae/event.h>

#include <memory>

namespace opae {
namespace fpga {
namespace types {

class event {
public:
	typedef std::shared_ptr<event> ptr_t;

	struct type_t {
		type_t(fpga_event_type value) : value_(value) {}
		operator fpga_event_type() const { return value_; }

		static constexpr fpga_event_type interrupt = FPGA_EVENT_INTERRUPT;
		static constexpr fpga_event_type error = FPGA_EVENT_ERROR;
		static constexpr fpga_event_type power_thermal = FPGA_EVENT_POWER_THERMAL;

	private:
		fpga_event_type value_;
	};

	event(const event &) = delete;
	event &operator=(const event &) = delete;
	virtual ~event()
	{
		if (is_registered_)
			fpgaUnregisterEvent(handle_->c_type(), type_, event_);
		fpgaDestroyEventHandle(&event_);
	}

	/* Subscribes to an event; `flags` is the number of the interrupt. */
	static ptr_t register_event(handle::ptr_t handle, type_t type, int flags = 0)
	{
		ptr_t made(new event(handle, type));

		made->subscribe(flags);
		return made;
	}

	fpga_event_handle get() const { return event_; }
	operator fpga_event_handle() const { return event_; }
	/* The descriptor that can be read when the event has happened. */
	int os_object() const { return descriptor_; }

private:
	event(handle::ptr_t handle, type_t type)
		: handle_(handle), type_(type), event_(nullptr), descriptor_(-1),
		  is_registered_(false)
	{
		if (!handle)
			throw std::invalid_argument("there is no handle");
		ASSERT_FPGA_OK(fpgaCreateEventHandle(&event_));
	}
	void subscribe(int flags)
	{
		uint32_t number = static_cast<uint32_t>(flags);

		ASSERT_FPGA_OK(fpgaRegisterEvent(handle_->c_type(), type_, event_, number));
		is_registered_ = true;
		ASSERT_FPGA_OK(fpgaGetOSObjectFromEventHandle(event_, &descriptor_));
	}

	handle::ptr_t handle_;
	fpga_event_type type_;
	fpga_event_handle event_;
	int descriptor_;
	bool is_registered_;
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
