/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of an object, or a filter for objects. */
#ifndef PEERLANE_OPAE_CXX_PROPERTIES_H
#define PEERLANE_OPAE_CXX_PROPERTIES_H

#include <opae/cxx/core/pvalue.h>

#include <memory>
#include <vector>

namespace opae {
namespace fpga {
namespace types {

class token;
class handle;

class properties {
	fpga_properties props_;

public:
	typedef std::shared_ptr<properties> ptr_t;

	/* No filter: all objects. */
	static const std::vector<ptr_t> none;

	properties()
		: properties([](fpga_properties *props) { return fpgaGetProperties(nullptr, props); })
	{
	}
	properties(const properties &) = delete;
	properties &operator=(const properties &) = delete;
	~properties() { fpgaDestroyProperties(&props_); }

	/* An empty filter. */
	static ptr_t get() { return std::make_shared<properties>(); }
	static ptr_t get(const uint8_t *guid)
	{
		ptr_t found = get();

		found->guid = guid;
		return found;
	}
	static ptr_t get(fpga_objtype type)
	{
		ptr_t found = get();

		found->type = type;
		return found;
	}
	/* The properties of an object. */
	static ptr_t get(fpga_token token)
	{
		return ptr_t(new properties(
			[token](fpga_properties *props) { return fpgaGetProperties(token, props); }));
	}
	/* Defined in token.h and handle.h. */
	static ptr_t get(const std::shared_ptr<types::token> &token);
	static ptr_t get(const std::shared_ptr<types::handle> &handle);

	fpga_properties c_type() const { return props_; }
	operator fpga_properties() const { return props_; }

	pvalue<fpga_objtype> type;
	pvalue<uint16_t> segment;
	pvalue<uint8_t> bus;
	pvalue<uint8_t> device;
	pvalue<uint8_t> function;
	pvalue<uint8_t> socket_id;
	pvalue<uint32_t> num_slots;
	pvalue<uint64_t> bbs_id;
	pvalue<fpga_version> bbs_version;
	pvalue<uint16_t> vendor_id;
	pvalue<uint16_t> device_id;
	pvalue<uint16_t> subsystem_vendor_id;
	pvalue<uint16_t> subsystem_device_id;
	pvalue<char *> model;
	pvalue<uint64_t> local_memory_size;
	pvalue<uint64_t> capabilities;
	pvalue<uint32_t> num_mmio;
	pvalue<uint32_t> num_interrupts;
	pvalue<fpga_accelerator_state> accelerator_state;
	pvalue<uint64_t> object_id;
	pvalue<fpga_token> parent;
	pvalue<uint32_t> num_errors;
	pvalue<fpga_interface> interface;
	guid_t guid;

private:
	template <typename Make>
	explicit properties(Make make)
		: props_(nullptr),
		  type(&props_, fpgaPropertiesGetObjectType, fpgaPropertiesSetObjectType),
		  segment(&props_, fpgaPropertiesGetSegment, fpgaPropertiesSetSegment),
		  bus(&props_, fpgaPropertiesGetBus, fpgaPropertiesSetBus),
		  device(&props_, fpgaPropertiesGetDevice, fpgaPropertiesSetDevice),
		  function(&props_, fpgaPropertiesGetFunction, fpgaPropertiesSetFunction),
		  socket_id(&props_, fpgaPropertiesGetSocketID, fpgaPropertiesSetSocketID),
		  num_slots(&props_, fpgaPropertiesGetNumSlots, fpgaPropertiesSetNumSlots),
		  bbs_id(&props_, fpgaPropertiesGetBBSID, fpgaPropertiesSetBBSID),
		  bbs_version(&props_, fpgaPropertiesGetBBSVersion, fpgaPropertiesSetBBSVersion),
		  vendor_id(&props_, fpgaPropertiesGetVendorID, fpgaPropertiesSetVendorID),
		  device_id(&props_, fpgaPropertiesGetDeviceID, fpgaPropertiesSetDeviceID),
		  subsystem_vendor_id(&props_, fpgaPropertiesGetSubsystemVendorID,
				      fpgaPropertiesSetSubsystemVendorID),
		  subsystem_device_id(&props_, fpgaPropertiesGetSubsystemDeviceID,
				      fpgaPropertiesSetSubsystemDeviceID),
		  model(&props_, fpgaPropertiesGetModel, fpgaPropertiesSetModel),
		  local_memory_size(&props_, fpgaPropertiesGetLocalMemorySize,
				    fpgaPropertiesSetLocalMemorySize),
		  capabilities(&props_, fpgaPropertiesGetCapabilities,
			       fpgaPropertiesSetCapabilities),
		  num_mmio(&props_, fpgaPropertiesGetNumMMIO, fpgaPropertiesSetNumMMIO),
		  num_interrupts(&props_, fpgaPropertiesGetNumInterrupts,
				 fpgaPropertiesSetNumInterrupts),
		  accelerator_state(&props_, fpgaPropertiesGetAcceleratorState,
				    fpgaPropertiesSetAcceleratorState),
		  object_id(&props_, fpgaPropertiesGetObjectID, fpgaPropertiesSetObjectID),
		  parent(&props_, fpgaPropertiesGetParent, fpgaPropertiesSetParent),
		  num_errors(&props_, fpgaPropertiesGetNumErrors, fpgaPropertiesSetNumErrors),
		  interface(&props_, fpgaPropertiesGetInterface, fpgaPropertiesSetInterface),
		  guid(&props_)
	{
		ASSERT_FPGA_OK(make(&props_));
	}
};

/* Weak, so that a program has it once although several of its files include this header. */
__attribute__((weak)) const std::vector<properties::ptr_t> properties::none;

} // namespace types
} // namespace fpga
} // namespace opae

#endif
