/* Whatever a program gives, it is told, and goes on. */
#include "check.h"

#define BAD(call) SAYS(FPGA_INVALID_PARAM, call)

static long nothing[64];

static void wild(void *w)
{
	uint64_t wide = 0, *registers;
	uint32_t number;
	void *memory = NULL, *made = NULL;
	struct fpga_error_info info;
	enum fpga_sysobject_type type;
	int fd;

	BAD(fpgaOpen(w, &made, 0));
	BAD(fpgaClose(w));
	BAD(fpgaReset(w));
	BAD(fpgaGetChildren(w, 0, NULL, &number));
	BAD(fpgaCloneToken(w, &made));
	BAD(fpgaDestroyToken(&w));
	if (w)
		BAD(fpgaGetProperties(w, &made));
	BAD(fpgaGetPropertiesFromHandle(w, &made));
	BAD(fpgaUpdateProperties(w, w));
	BAD(fpgaClearProperties(w));
	BAD(fpgaCloneProperties(w, &made));
	BAD(fpgaDestroyProperties(&w));
	BAD(fpgaPropertiesGetParent(w, &made));
	BAD(fpgaPropertiesSetParent(w, w));
	BAD(fpgaPropertiesGetBus(w, (uint8_t *)&number));
	BAD(fpgaPropertiesSetBus(w, 1));
	BAD(fpgaPropertiesSetGUID(w, (uint8_t *)nothing));
	BAD(fpgaEnumerate(&w, 1, NULL, 0, &number));
	BAD(fpgaReadMMIO32(w, 0, 0, &number));
	BAD(fpgaReadMMIO64(w, 0, 0, &wide));
	BAD(fpgaWriteMMIO32(w, 0, 0, 0));
	BAD(fpgaWriteMMIO64(w, 0, 0, 0));
	BAD(fpgaWriteMMIO512(w, 0, 0, nothing));
	BAD(fpgaMapMMIO(w, 0, &registers));
	BAD(fpgaMapMMIO(w, 0, NULL));
	BAD(fpgaUnmapMMIO(w, 0));
	BAD(fpgaPrepareBuffer(w, 4096, &memory, &wide, 0));
	BAD(fpgaPrepareBuffer(w, 0, NULL, &wide, FPGA_BUF_PREALLOCATED));
	BAD(fpgaReleaseBuffer(w, 1));
	BAD(fpgaGetIOAddress(w, 1, &wide));
	BAD(fpgaBindSVA(w, &number));
	BAD(fpgaDestroyEventHandle(&w));
	BAD(fpgaRegisterEvent(w, FPGA_EVENT_INTERRUPT, w, 0));
	BAD(fpgaUnregisterEvent(w, FPGA_EVENT_INTERRUPT, w));
	BAD(fpgaGetOSObjectFromEventHandle(w, &fd));
	BAD(fpgaReconfigureSlot(w, 0, (uint8_t *)nothing, 8, 0));
	BAD(fpgaReadError(w, 0, &wide));
	BAD(fpgaClearError(w, 0));
	BAD(fpgaClearAllErrors(w));
	BAD(fpgaGetErrorInfo(w, 0, &info));
	BAD(fpgaGetUserClock(w, &wide, &wide, 0));
	BAD(fpgaSetUserClock(w, 1, 1, 0));
	BAD(fpgaGetNumMetrics(w, &wide));
	BAD(fpgaTokenGetObject(w, "a", &made, 0));
	BAD(fpgaHandleGetObject(w, "a", &made, 0));
	BAD(fpgaObjectGetObject(w, "a", &made, 0));
	BAD(fpgaObjectGetObjectAt(w, 0, &made));
	BAD(fpgaObjectGetType(w, &type));
	BAD(fpgaObjectGetName(w, (char *)nothing, 8));
	BAD(fpgaObjectGetSize(w, &number, 0));
	BAD(fpgaObjectRead(w, (uint8_t *)nothing, 0, 1, 0));
	BAD(fpgaObjectRead64(w, &wide, 0));
	BAD(fpgaObjectWrite64(w, 0, 0));
	BAD(fpgaDestroyObject(&w));
}

int main(void)
{
	fpga_token token = token_of(FPGA_ACCELERATOR), device = token_of(FPGA_DEVICE), dead;
	fpga_handle handle = NULL, second = NULL, management = NULL;
	fpga_properties props = NULL;
	fpga_event_handle event = NULL, other = NULL;
	uint64_t wide, *registers;
	uint32_t number;
	void *memory = NULL, *object;
	char text[64];
	/* It says itself that such memory is none. */
	int on_valgrind = getenv("ON_VALGRIND") != NULL, fd;

	wild(NULL);
	wild((void *)8);
	wild((void *)-1);
	wild(nothing);
	wild(&nothing[1]);
	wild((void *)0x00007fffdeadbee0);

	/* One of the wrong kind, and one that is no more. */
	OK(fpgaOpen(token, &handle, 0));
	BAD(fpgaClose(token));
	BAD(fpgaClearProperties(token));
	BAD(fpgaReadMMIO64(token, 0, 0, &wide));
	dead = token;
	OK(fpgaDestroyToken(&token));
	CHECK(token == NULL);
	wild(dead);
	OK(fpgaGetProperties(NULL, &props));
	dead = props;
	OK(fpgaDestroyProperties(&props));
	wild(dead);

	/* Nothing where a result goes. */
	BAD(fpgaEnumerate(NULL, 0, NULL, 0, NULL));
	BAD(fpgaEnumerate(NULL, 1, NULL, 0, &number));
	BAD(fpgaEnumerate(&handle, 0, NULL, 0, &number));
	BAD(fpgaEnumerate(NULL, 0, NULL, 1, &number));
	BAD(fpgaCloneToken(device, NULL));
	BAD(fpgaDestroyToken(NULL));
	BAD(fpgaOpen(device, NULL, 0));
	BAD(fpgaGetProperties(NULL, NULL));
	BAD(fpgaGetPropertiesFromHandle(handle, NULL));
	BAD(fpgaDestroyProperties(NULL));
	BAD(fpgaReadMMIO64(handle, 0, 0, NULL));
	BAD(fpgaReadMMIO32(handle, 0, 0, NULL));
	BAD(fpgaWriteMMIO512(handle, 0, 0, NULL));
	BAD(fpgaPrepareBuffer(handle, 4096, NULL, &wide, 0));
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, NULL, 0));
	BAD(fpgaGetIOAddress(handle, 1, NULL));
	BAD(fpgaCreateEventHandle(NULL));
	BAD(fpgaGetOPAECVersion(NULL));
	BAD(fpgaGetOPAECVersionString(NULL, 10));
	SAYS(FPGA_EXCEPTION, fpgaGetOPAECVersionString(text, 3));
	OK(fpgaGetOPAECVersionString(text, sizeof(text)));
	OK(fpgaGetOPAECBuildString(text, sizeof(text)));

	/* Twice. */
	dead = token_of(FPGA_ACCELERATOR);
	SAYS(FPGA_BUSY, fpgaOpen(dead, &second, 0));
	SAYS(FPGA_BUSY, fpgaOpen(dead, &second, FPGA_OPEN_SHARED));
	BAD(fpgaOpen(dead, &second, 64));
	OK(fpgaDestroyToken(&dead));

	/* Registers that are none. */
	BAD(fpgaReadMMIO64(handle, 1, 0, &wide));
	BAD(fpgaReadMMIO64(handle, 0, 4, &wide));
	BAD(fpgaReadMMIO32(handle, 0, 2, &number));
	BAD(fpgaReadMMIO64(handle, 0, 256 << 10, &wide));
	BAD(fpgaReadMMIO64(handle, 0, (uint64_t)-8, &wide));
	BAD(fpgaWriteMMIO64(handle, 0, 12, 0));
	BAD(fpgaWriteMMIO32(handle, 0, 256 << 10, 0));
	BAD(fpgaWriteMMIO512(handle, 0, 8, nothing));
	BAD(fpgaMapMMIO(handle, 1, &registers));
	BAD(fpgaUnmapMMIO(handle, 7));

	/* Buffers that are none. */
	OK(fpgaPrepareBuffer(handle, 0, NULL, &wide, FPGA_BUF_PREALLOCATED));
	BAD(fpgaPrepareBuffer(handle, 0, &memory, &wide, 0));
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, &wide, 64));
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, &wide, FPGA_BUF_PREALLOCATED));
	memory = (char *)nothing + 1;
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, &wide, FPGA_BUF_PREALLOCATED));
	memory = (void *)0x10000;
	if (!on_valgrind)
		BAD(fpgaPrepareBuffer(handle, 4096, &memory, &wide, FPGA_BUF_PREALLOCATED));
	BAD(fpgaPrepareBuffer(handle, 100, &memory, &wide, FPGA_BUF_PREALLOCATED));
	SAYS(FPGA_NO_MEMORY, fpgaPrepareBuffer(handle, 1ull << 50, &memory, &wide, 0));
	SAYS(FPGA_NO_MEMORY, fpgaPrepareBuffer(handle, -1ull, &memory, &wide, 0));
	SAYS(FPGA_NO_MEMORY, fpgaPrepareBuffer(handle, 16ull << 30, &memory, &wide, 0));
	BAD(fpgaReleaseBuffer(handle, 12345));
	SAYS(FPGA_NOT_FOUND, fpgaGetIOAddress(handle, 12345, &wide));

	/* Events that are none. */
	OK(fpgaCreateEventHandle(&event));
	BAD(fpgaGetOSObjectFromEventHandle(event, &fd));
	BAD(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	BAD(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 2));
	SAYS(FPGA_NOT_SUPPORTED, fpgaRegisterEvent(handle, FPGA_EVENT_POWER_THERMAL, event, 0));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 1));
	OK(fpgaGetOSObjectFromEventHandle(event, &fd));
	BAD(fpgaGetOSObjectFromEventHandle(event, NULL));
	OK(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	BAD(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event));
	other = event;
	OK(fpgaDestroyEventHandle(&event));
	BAD(fpgaDestroyEventHandle(&other));

	/* A device is no accelerator, and takes no file for a bitstream. */
	OK(fpgaOpen(device, &management, 0));
	BAD(fpgaReset(management));
	BAD(fpgaReadMMIO64(management, 0, 0, &wide));
	BAD(fpgaPrepareBuffer(management, 4096, &memory, &wide, 0));
	BAD(fpgaReconfigureSlot(handle, 0, (const uint8_t *)"XeonFPGA", 8, 0));
	BAD(fpgaReconfigureSlot(management, 1, (const uint8_t *)"XeonFPGA", 8, 0));
	BAD(fpgaReconfigureSlot(management, 0, NULL, 8, 0));
	BAD(fpgaReconfigureSlot(management, 0, (const uint8_t *)"no bitstream", 12, 0));
	if (!on_valgrind)
		BAD(fpgaReconfigureSlot(management, 0, (const uint8_t *)8, 12, 0));
	OK(fpgaReconfigureSlot(management, 0, (const uint8_t *)"XeonFPGA", 8, FPGA_RECONF_FORCE));
	SAYS(FPGA_NOT_SUPPORTED, fpgaAssignPortToInterface(management, 0, 0, 0));
	SAYS(FPGA_NOT_SUPPORTED, fpgaAssignToInterface(management, device, 0, 0));
	SAYS(FPGA_NOT_SUPPORTED, fpgaGetNumUmsg(handle, &wide));
	OK(fpgaGetUserClock(handle, &wide, &wide, 0));
	BAD(fpgaGetUserClock(handle, NULL, &wide, 0));
	BAD(fpgaGetUserClock(management, &wide, &wide, 0));
	BAD(fpgaSetUserClock(handle, 5, 5, 0));
	SAYS(FPGA_NOT_FOUND, fpgaGetNumMetrics(handle, &wide));
	SAYS(FPGA_NOT_FOUND, fpgaTokenGetObject(device, "error", &object, 0));
	BAD(fpgaTokenGetObject(device, "../errors", &object, 0));
	BAD(fpgaTokenGetObject(device, NULL, &object, 0));
	OK(fpgaGetChildren(handle, 0, NULL, &number));
	CHECK(number == 0);
	OK(fpgaReset(handle));

	second = handle;
	OK(fpgaClose(handle));
	BAD(fpgaClose(second));
	wild(second);
	OK(fpgaClose(management));
	OK(fpgaDestroyToken(&device));
	CHECK(strcmp(fpgaErrStr(FPGA_BUSY), "resource busy") == 0);
	CHECK(strcmp(fpgaErrStr((fpga_result)77), "unknown error") == 0);
	return 0;
}
