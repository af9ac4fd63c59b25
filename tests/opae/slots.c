/* SPDX-License-Identifier: Apache-2.0 */
/* A card with two slots, both with a native loopback: they are enumerated, used, reset and configured each for itself.
 *
 * slots FILE.gbs: a bitstream of the native loopback
 */
#include "nlb.h"

enum { LARGE = 4 << 20, SMALL = 1 << 16 };

/* A copy that goes on while the program does something else. */
struct copy {
	fpga_handle handle;
	struct buffer status, source, target;
	uint64_t size;
};

static struct copy start(fpga_handle handle, uint64_t size, uint64_t seed)
{
	struct copy copy = { .handle = handle, .size = size };

	copy.status = pin(handle, 4096);
	copy.source = pin(handle, size);
	copy.target = pin(handle, size);
	fill(copy.source.bytes, size, seed);
	memset(copy.target.bytes, 0, size);
	memset(copy.status.bytes, 0, 4096);
	set64(handle, STATUS_BASE, copy.status.address);
	set32(handle, CONTROL, 0);
	set32(handle, CONTROL, OUT_OF_RESET);
	set64(handle, SOURCE, copy.source.address / LINE);
	set64(handle, TARGET, copy.target.address / LINE);
	set32(handle, LINES, (uint32_t)(size / LINE));
	set32(handle, CONFIGURATION, CONFIGURED);
	set32(handle, CONTROL, OUT_OF_RESET | START);
	return copy;
}

static int is_done(struct copy *copy)
{
	return *(volatile uint64_t *)(copy->status.bytes + STATUS) & 1;
}

static void finish(struct copy *copy)
{
	for (int tries = 0; !is_done(copy); tries++) {
		CHECK(tries < 10000);
		usleep(1000);
	}
	CHECK(memcmp(copy->source.bytes, copy->target.bytes, copy->size) == 0);
}

static void release(struct copy *copy)
{
	unpin(copy->handle, &copy->target);
	unpin(copy->handle, &copy->source);
	unpin(copy->handle, &copy->status);
}

static size_t read_image(const char *name, uint8_t *bytes, size_t space)
{
	FILE *file = fopen(name, "rb");
	size_t size;

	CHECK(file != NULL);
	size = fread(bytes, 1, space, file);
	CHECK(fclose(file) == 0 && size > 0 && size < space);
	return size;
}

int main(int argc, char **argv)
{
	fpga_token device_token = the_only(FPGA_DEVICE, NULL), tokens[4], parent = NULL;
	fpga_properties filter = NULL, properties = NULL;
	fpga_handle device = NULL, handles[2];
	uint32_t found = 0, slots = 0, children = 9;
	static uint8_t image[4096];
	struct copy other, stopped;
	uint64_t high, low, identity[2];
	fpga_accelerator_state state;
	size_t size;

	CHECK(argc == 2);
	size = read_image(argv[1], image, sizeof(image));
	OK(fpgaOpen(device_token, &device, 0));
	OK(fpgaGetProperties(device_token, &properties));
	OK(fpgaPropertiesGetNumSlots(properties, &slots));
	CHECK(slots == 2);
	OK(fpgaDestroyProperties(&properties));

	/* The accelerators are those whose parent is the device. */
	OK(fpgaGetProperties(NULL, &filter));
	OK(fpgaPropertiesSetParent(filter, device_token));
	OK(fpgaEnumerate(&filter, 1, tokens, 4, &found));
	CHECK(found == 2);
	for (int i = 0; i < 2; i++) {
		OK(fpgaGetProperties(tokens[i], &properties));
		OK(fpgaPropertiesGetParent(properties, &parent));
		OK(fpgaPropertiesGetObjectID(properties, &identity[i]));
		OK(fpgaDestroyToken(&parent));
		OK(fpgaDestroyProperties(&properties));
		OK(fpgaOpen(tokens[i], &handles[i], 0));
		OK(fpgaGetChildren(handles[i], 0, NULL, &children));
		CHECK(children == 0);
	}
	CHECK(identity[0] != identity[1]);
	OK(fpgaDestroyProperties(&filter));

	/* Both at the same time. */
	other = start(handles[1], SMALL, 1);
	nlb_copy(handles[0], SMALL, sleep_between);
	finish(&other);
	release(&other);

	/* Each has its clock. */
	OK(fpgaSetUserClock(handles[1], 100, 50, 0));
	OK(fpgaGetUserClock(handles[0], &high, &low, 0));
	CHECK(high == 200000000);
	OK(fpgaGetUserClock(handles[1], &high, &low, 0));
	CHECK(high == 100000000);

	/* A reset of one is none of the other's. */
	other = start(handles[1], LARGE, 2);
	stopped = start(handles[0], LARGE, 3);
	usleep(20);
	OK(fpgaReset(handles[0]));
	CHECK(!is_done(&other));
	finish(&other);
	CHECK(!is_done(&stopped));
	release(&stopped);
	release(&other);
	nlb_copy(handles[0], SMALL, sleep_between);

	/* A configuration, too. */
	OK(fpgaClose(handles[0]));
	other = start(handles[1], LARGE, 4);
	OK(fpgaReconfigureSlot(device, 0, image, size, 0));
	SAYS(FPGA_BUSY, fpgaReconfigureSlot(device, 1, image, size, 0));
	SAYS(FPGA_INVALID_PARAM, fpgaReconfigureSlot(device, 2, image, size, 0));
	OK(fpgaOpen(tokens[0], &handles[0], 0));
	nlb_copy(handles[0], SMALL, sleep_between);
	finish(&other);
	release(&other);
	OK(fpgaGetProperties(tokens[1], &properties));
	OK(fpgaPropertiesGetAcceleratorState(properties, &state));
	CHECK(state == FPGA_ACCELERATOR_ASSIGNED);
	OK(fpgaDestroyProperties(&properties));

	for (int i = 0; i < 2; i++) {
		OK(fpgaClose(handles[i]));
		OK(fpgaDestroyToken(&tokens[i]));
	}
	OK(fpgaClose(device));
	OK(fpgaDestroyToken(&device_token));
	printf("both slots are right\n");
	return 0;
}
