/* What there is to know about objects, and to look for. */
#include "check.h"

static uint32_t count(fpga_properties filter)
{
	uint32_t matches = 99;

	OK(fpgaEnumerate(&filter, 1, NULL, 0, &matches));
	return matches;
}

#define ONE(set, type, right, wrong) \
	do { \
		fpga_properties f_ = NULL; \
		OK(fpgaGetProperties(NULL, &f_)); \
		if ((type) >= 0) \
			OK(fpgaPropertiesSetObjectType(f_, type)); \
		OK(set(f_, right)); \
		CHECK(count(f_) >= 1); \
		OK(set(f_, wrong)); \
		CHECK(count(f_) == 0); \
		OK(fpgaDestroyProperties(&f_)); \
		CHECK(f_ == NULL); \
	} while (0)

int main(void)
{
	fpga_token tokens[8], parent = NULL, clone = NULL;
	fpga_properties props = NULL, copy = NULL, filters[2];
	uint32_t matches = 0, number = 0;
	uint64_t wide = 0;
	uint16_t half = 0;
	uint8_t byte = 0;
	fpga_guid guid;
	fpga_objtype type;
	fpga_accelerator_state state;
	fpga_version version;
	char name[64];

	OK(fpgaInitialize(NULL));
	OK(fpgaEnumerate(NULL, 0, NULL, 0, &matches));
	CHECK(matches == 3);
	OK(fpgaEnumerate(NULL, 0, tokens, 2, &matches));
	CHECK(matches == 3);
	OK(fpgaDestroyToken(&tokens[0]));
	OK(fpgaDestroyToken(&tokens[1]));

	/* Each field alone. */
	ONE(fpgaPropertiesSetSegment, -1, 0, 1);
	ONE(fpgaPropertiesSetBus, -1, 2, 9);
	ONE(fpgaPropertiesSetDevice, -1, 0, 3);
	ONE(fpgaPropertiesSetFunction, -1, 0, 3);
	ONE(fpgaPropertiesSetSocketID, -1, 0, 1);
	ONE(fpgaPropertiesSetVendorID, -1, 0x8086, 1);
	ONE(fpgaPropertiesSetDeviceID, -1, 0x09c4, 1);
	ONE(fpgaPropertiesSetSubsystemVendorID, -1, 0x8086, 1);
	ONE(fpgaPropertiesSetSubsystemDeviceID, -1, 0, 1);
	ONE(fpgaPropertiesSetObjectID, -1, 0x101, 1);
	ONE(fpgaPropertiesSetNumErrors, FPGA_DEVICE, 8, 1);
	ONE(fpgaPropertiesSetInterface, -1, FPGA_IFC_DFL, FPGA_IFC_UIO);
	ONE(fpgaPropertiesSetNumSlots, FPGA_DEVICE, 1, 2);
	ONE(fpgaPropertiesSetBBSID, FPGA_DEVICE, 0x1234000000000001, 2);
	ONE(fpgaPropertiesSetLocalMemorySize, FPGA_DEVICE, 8ull << 30, 1);
	ONE(fpgaPropertiesSetNumMMIO, FPGA_ACCELERATOR, 1, 2);
	ONE(fpgaPropertiesSetNumInterrupts, FPGA_ACCELERATOR, 2, 1);
	ONE(fpgaPropertiesSetAcceleratorState, FPGA_ACCELERATOR, FPGA_ACCELERATOR_UNASSIGNED,
	    FPGA_ACCELERATOR_ASSIGNED);

	/* Several filters: any of them. */
	OK(fpgaGetProperties(NULL, &filters[0]));
	OK(fpgaCloneProperties(filters[0], &filters[1]));
	OK(fpgaPropertiesSetBus(filters[0], 2));
	memcpy(guid, "what it does....", 16);
	OK(fpgaPropertiesSetGUID(filters[1], guid));
	OK(fpgaEnumerate(filters, 2, tokens, 8, &matches));
	CHECK(matches == 2);
	OK(fpgaCloneToken(tokens[0], &clone));
	OK(fpgaDestroyToken(&tokens[1]));

	/* The accelerator, and the device that it is loaded in. */
	OK(fpgaGetProperties(tokens[0], &props));
	OK(fpgaPropertiesGetObjectType(props, &type));
	CHECK(type == FPGA_ACCELERATOR);
	OK(fpgaPropertiesGetGUID(props, &guid));
	CHECK(memcmp(guid, "what it does....", 16) == 0);
	OK(fpgaPropertiesGetNumMMIO(props, &number));
	CHECK(number == 1);
	OK(fpgaPropertiesGetNumInterrupts(props, &number));
	CHECK(number == 2);
	OK(fpgaPropertiesGetAcceleratorState(props, &state));
	CHECK(state == FPGA_ACCELERATOR_UNASSIGNED);
	SAYS(FPGA_INVALID_PARAM, fpgaPropertiesGetNumSlots(props, &number));
	SAYS(FPGA_INVALID_PARAM, fpgaPropertiesSetBBSID(props, 1));
	OK(fpgaPropertiesGetParent(props, &parent));
	OK(fpgaClearProperties(props));
	SAYS(FPGA_NOT_FOUND, fpgaPropertiesGetObjectType(props, &type));
	SAYS(FPGA_NOT_FOUND, fpgaPropertiesGetGUID(props, &guid));
	SAYS(FPGA_NOT_FOUND, fpgaPropertiesGetParent(props, &tokens[1]));
	SAYS(FPGA_INVALID_PARAM, fpgaPropertiesGetNumMMIO(props, &number));
	OK(fpgaPropertiesSetParent(props, parent));
	CHECK(count(props) == 1);

	OK(fpgaUpdateProperties(parent, props));
	OK(fpgaPropertiesGetObjectType(props, &type));
	CHECK(type == FPGA_DEVICE);
	OK(fpgaPropertiesGetBBSID(props, &wide));
	CHECK(wide == 0x1234000000000001);
	OK(fpgaPropertiesGetBBSVersion(props, &version));
	CHECK(version.major == 1 && version.minor == 2 && version.patch == 3);
	OK(fpgaPropertiesGetVendorID(props, &half));
	CHECK(half == 0x8086);
	OK(fpgaPropertiesGetBus(props, &byte));
	CHECK(byte == 1);
	SAYS(FPGA_NOT_FOUND, fpgaPropertiesGetParent(props, &tokens[1]));
	SAYS(FPGA_NOT_FOUND, fpgaPropertiesGetModel(props, name));
	strcpy(name, "toy");
	OK(fpgaPropertiesSetModel(props, name));
	memset(name, 'x', sizeof(name));
	OK(fpgaPropertiesGetModel(props, name));
	CHECK(strcmp(name, "toy") == 0);
	OK(fpgaPropertiesGetHostname(props, name, sizeof(name)));
	CHECK(strcmp(name, "card") == 0);
	SAYS(FPGA_INVALID_PARAM, fpgaPropertiesSetFunction(props, 8));

	OK(fpgaCloneProperties(props, &copy));
	OK(fpgaDestroyProperties(&props));
	OK(fpgaPropertiesGetNumErrors(copy, &number));
	CHECK(number == 8);
	OK(fpgaReadError(parent, number - 1, &wide));
	SAYS(FPGA_NOT_FOUND, fpgaReadError(parent, number, &wide));
	OK(fpgaClearAllErrors(parent));
	OK(fpgaDestroyProperties(&copy));
	OK(fpgaDestroyProperties(&filters[0]));
	OK(fpgaDestroyProperties(&filters[1]));
	OK(fpgaDestroyToken(&tokens[0]));
	OK(fpgaDestroyToken(&parent));
	OK(fpgaDestroyToken(&clone));
	OK(fpgaFinalize());
	return 0;
}
