/* What there is to know about an object, its errors, and how a program hears of them. */
#include "check.h"
#include <poll.h>
#include <string.h>
#include <unistd.h>

static fpga_object get(fpga_handle handle, const char *name, int flags)
{
	fpga_object object = NULL;

	OK(fpgaHandleGetObject(handle, name, &object, flags));
	return object;
}

static uint64_t value(fpga_object object, int flags)
{
	uint64_t value;

	OK(fpgaObjectRead64(object, &value, flags));
	return value;
}

static void attributes(fpga_token token, fpga_handle handle)
{
	fpga_object object, inside, other;
	enum fpga_sysobject_type type;
	char text[64] = "";
	uint32_t size = 0, seen = 0;

	OK(fpgaTokenGetObject(token, "bitstream_id", &object, 0));
	OK(fpgaObjectGetType(object, &type));
	CHECK(type == FPGA_OBJECT_ATTRIBUTE);
	CHECK(value(object, FPGA_OBJECT_SYNC) == 0x1234000000000001);
	OK(fpgaObjectGetSize(object, &size, 0));
	OK(fpgaObjectRead(object, (uint8_t *)text, 0, size, 0));
	CHECK(strcmp(text, "0x1234000000000001\n") == 0);
	SAYS(FPGA_INVALID_PARAM, fpgaObjectRead(object, (uint8_t *)text, 1, size, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaObjectRead(object, (uint8_t *)text, (size_t)-1, 2, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaObjectGetObject(object, "x", &inside, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaObjectGetObjectAt(object, 0, &inside));
	SAYS(FPGA_INVALID_PARAM, fpgaObjectWrite64(object, 1, 0));
	OK(fpgaObjectGetName(object, text, sizeof(text)));
	CHECK(strcmp(text, "bitstream_id") == 0);
	SAYS(FPGA_EXCEPTION, fpgaObjectGetName(object, text, 12));
	OK(fpgaDestroyObject(&object));
	CHECK(object == NULL);
	object = get(handle, "bitstream_metadata", 0);
	CHECK(value(object, 0) == 0);
	OK(fpgaDestroyObject(&object));
	object = get(handle, "bitstream_id", 0);
	SAYS(FPGA_EXCEPTION, fpgaObjectWrite64(object, 1, 0));
	OK(fpgaDestroyObject(&object));

	OK(fpgaTokenGetObject(token, "errors", &object, 0));
	OK(fpgaObjectGetType(object, &type));
	CHECK(type == FPGA_OBJECT_CONTAINER);
	OK(fpgaObjectGetSize(object, &size, 0));
	CHECK(size == 0);
	SAYS(FPGA_INVALID_PARAM, fpgaObjectGetObjectAt(object, 0, &inside));
	SAYS(FPGA_INVALID_PARAM, fpgaObjectRead64(object, &(uint64_t){0}, 0));
	OK(fpgaObjectGetObject(object, "catfatal_errors", &inside, 0));
	CHECK(value(inside, 0) == 0);
	OK(fpgaDestroyObject(&inside));
	SAYS(FPGA_NOT_FOUND, fpgaObjectGetObject(object, "no_errors", &inside, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaObjectGetObject(object, "../errors", &inside, 0));
	OK(fpgaDestroyObject(&object));

	object = get(handle, "err*", FPGA_OBJECT_GLOB | FPGA_OBJECT_RECURSE_ALL);
	OK(fpgaObjectGetSize(object, &size, 0));
	CHECK(size > 5);
	for (uint32_t index = 0; index < size; index++) {
		OK(fpgaObjectGetObjectAt(object, index, &inside));
		OK(fpgaObjectGetType(inside, &type));
		OK(fpgaObjectGetName(inside, text, sizeof(text)));
		if (type == FPGA_OBJECT_CONTAINER) {
			CHECK(strcmp(text, "fme-errors") == 0);
			OK(fpgaObjectGetSize(inside, &seen, 0));
			OK(fpgaObjectGetObjectAt(inside, seen - 1, &other));
			OK(fpgaDestroyObject(&other));
			SAYS(FPGA_INVALID_PARAM, fpgaObjectGetObjectAt(inside, seen, &other));
		}
		OK(fpgaDestroyObject(&inside));
	}
	CHECK(seen == 4);
	OK(fpgaDestroyObject(&object));
	SAYS(FPGA_INVALID_PARAM, fpgaDestroyObject(&object));
}

static void errors(fpga_token token, fpga_handle handle)
{
	fpga_object inject = get(handle, "errors/inject_error", 0);
	fpga_object fatal = get(handle, "errors/catfatal_errors", 0);
	fpga_properties properties = NULL;
	struct fpga_error_info info;
	uint32_t number = 0;
	uint64_t error;

	OK(fpgaObjectWrite64(inject, 2, 0));
	CHECK(value(inject, 0) == 2);
	CHECK(value(fatal, 0) == 0);
	CHECK(value(fatal, FPGA_OBJECT_SYNC) == 2 << 8);
	CHECK(value(fatal, 0) == 2 << 8);
	SAYS(FPGA_EXCEPTION, fpgaObjectWrite64(inject, 8, 0));
	SAYS(FPGA_EXCEPTION, fpgaObjectWrite64(fatal, 2 << 8, 0));

	OK(fpgaGetProperties(token, &properties));
	OK(fpgaPropertiesGetNumErrors(properties, &number));
	OK(fpgaDestroyProperties(&properties));
	for (uint32_t index = 0; index < number; index++) {
		OK(fpgaGetErrorInfo(token, index, &info));
		OK(fpgaReadError(token, index, &error));
		if (strcmp(info.name, "catfatal_errors") == 0) {
			CHECK(error == 2 << 8 && !info.can_clear);
			SAYS(FPGA_NOT_SUPPORTED, fpgaClearError(token, index));
		} else if (strcmp(info.name, "inject_error") == 0) {
			CHECK(error == 2 && info.can_clear);
		} else {
			CHECK(error == 0);
		}
	}
	SAYS(FPGA_NOT_FOUND, fpgaGetErrorInfo(token, number, &info));
	SAYS(FPGA_NOT_FOUND, fpgaClearError(token, number));
	OK(fpgaClearAllErrors(token));
	CHECK(value(inject, FPGA_OBJECT_SYNC) == 0);
	OK(fpgaDestroyObject(&inject));
	OK(fpgaDestroyObject(&fatal));
}

static void events(fpga_handle handle)
{
	fpga_object inject = get(handle, "errors/inject_errors", 0);
	fpga_event_handle event = NULL;
	struct pollfd wait = { .events = POLLIN };
	uint64_t count = 0;

	OK(fpgaCreateEventHandle(&event));
	SAYS(FPGA_INVALID_PARAM, fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 0));
	SAYS(FPGA_NOT_SUPPORTED, fpgaRegisterEvent(handle, FPGA_EVENT_POWER_THERMAL, event, 0));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_ERROR, event, 0));
	SAYS(FPGA_BUSY, fpgaRegisterEvent(handle, FPGA_EVENT_ERROR, event, 0));
	OK(fpgaGetOSObjectFromEventHandle(event, &wait.fd));
	CHECK(poll(&wait, 1, 10) == 0);
	OK(fpgaObjectWrite64(inject, 1, 0));
	CHECK(poll(&wait, 1, 10000) == 1);
	CHECK(read(wait.fd, &count, sizeof(count)) == sizeof(count) && count == 1);
	SAYS(FPGA_INVALID_PARAM, fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	OK(fpgaUnregisterEvent(handle, FPGA_EVENT_ERROR, event));
	OK(fpgaObjectWrite64(inject, 0, 0));
	CHECK(poll(&wait, 1, 10) == 0);
	OK(fpgaDestroyEventHandle(&event));
	OK(fpgaDestroyObject(&inject));
}

int main(void)
{
	fpga_token device = token_of(FPGA_DEVICE), accelerator = token_of(FPGA_ACCELERATOR);
	fpga_handle handle = NULL;
	fpga_object object = NULL;
	uint32_t size = 0;

	OK(fpgaOpen(device, &handle, FPGA_OPEN_SHARED));
	attributes(device, handle);
	errors(device, handle);
	events(handle);
	OK(fpgaTokenGetObject(accelerator, "afu_id", &object, 0));
	OK(fpgaObjectGetSize(object, &size, 0));
	CHECK(size == 33);
	OK(fpgaDestroyObject(&object));
	object = get(handle, "errors/inject_error", 0);
	OK(fpgaClose(handle));
	SAYS(FPGA_INVALID_PARAM, fpgaObjectWrite64(object, 1, 0));
	OK(fpgaDestroyObject(&object));
	OK(fpgaDestroyToken(&device));
	OK(fpgaDestroyToken(&accelerator));
	return 0;
}
