/* SPDX-License-Identifier: Apache-2.0 */
/* What a program should not do: it is told so, goes on, and the card works as before.
 *
 * errors FILE.gbs [small]: a bitstream of the native loopback, and whether to do without large buffers.
 */
#include "nlb.h"

#define BAD(call) SAYS(FPGA_INVALID_PARAM, call)
#define GIB (1ull << 30)
#define MMIO_SIZE (256ull << 10)

/* Of a host with 64 GiB: there is room for one. */
static uint64_t large = 40 * GIB;

static fpga_accelerator_state state_of(fpga_token token)
{
	fpga_accelerator_state state;
	fpga_properties properties = NULL;

	OK(fpgaGetProperties(token, &properties));
	OK(fpgaPropertiesGetAcceleratorState(properties, &state));
	OK(fpgaDestroyProperties(&properties));
	return state;
}

static void opens(void)
{
	fpga_token token = the_only(FPGA_ACCELERATOR, NULL), clone = NULL, gone;
	fpga_handle one = NULL, two = NULL, three = NULL, closed;

	CHECK(state_of(token) == FPGA_ACCELERATOR_UNASSIGNED);
	OK(fpgaOpen(token, &one, 0));
	CHECK(state_of(token) == FPGA_ACCELERATOR_ASSIGNED);
	SAYS(FPGA_BUSY, fpgaOpen(token, &two, 0));
	SAYS(FPGA_BUSY, fpgaOpen(token, &two, FPGA_OPEN_SHARED));
	CHECK(two == NULL);
	closed = one;
	OK(fpgaClose(one));
	BAD(fpgaClose(closed));
	CHECK(state_of(token) == FPGA_ACCELERATOR_UNASSIGNED);

	OK(fpgaOpen(token, &one, FPGA_OPEN_SHARED));
	OK(fpgaOpen(token, &two, FPGA_OPEN_SHARED));
	SAYS(FPGA_BUSY, fpgaOpen(token, &three, 0));
	OK(fpgaClose(one));
	SAYS(FPGA_BUSY, fpgaOpen(token, &three, 0));
	OK(fpgaClose(two));

	BAD(fpgaOpen(token, NULL, 0));
	BAD(fpgaOpen(token, &one, 1 << 7));
	BAD(fpgaOpen(NULL, &one, 0));
	BAD(fpgaClose(NULL));
	BAD(fpgaClose(token));
	OK(fpgaCloneToken(token, &clone));
	gone = token;
	OK(fpgaDestroyToken(&token));
	CHECK(token == NULL);
	BAD(fpgaOpen(gone, &one, 0));
	BAD(fpgaDestroyToken(&gone));
	OK(fpgaOpen(clone, &one, 0));
	OK(fpgaDestroyToken(&clone));
	OK(fpgaReset(one));
	OK(fpgaClose(one));
	printf("opened once at a time\n");
}

static void registers(fpga_handle handle)
{
	uint64_t wide, line[8] = { 0 };
	uint32_t word;

	BAD(fpgaReadMMIO64(handle, 0, 4, &wide));
	BAD(fpgaReadMMIO64(handle, 0, 1, &wide));
	BAD(fpgaReadMMIO32(handle, 0, 6, &word));
	BAD(fpgaWriteMMIO64(handle, 0, 12, 0));
	BAD(fpgaWriteMMIO32(handle, 0, 3, 0));
	BAD(fpgaWriteMMIO512(handle, 0, 32, line));
	BAD(fpgaReadMMIO64(handle, 0, MMIO_SIZE, &wide));
	BAD(fpgaReadMMIO32(handle, 0, MMIO_SIZE, &word));
	BAD(fpgaReadMMIO64(handle, 0, -8ull, &wide));
	BAD(fpgaWriteMMIO64(handle, 0, MMIO_SIZE, 0));
	BAD(fpgaWriteMMIO512(handle, 0, MMIO_SIZE, line));
	BAD(fpgaReadMMIO64(handle, 1, 0, &wide));
	BAD(fpgaWriteMMIO64(handle, 9, 0, 0));
	BAD(fpgaReadMMIO64(handle, 0, 0, NULL));
	BAD(fpgaMapMMIO(handle, 2, NULL));
	OK(fpgaReadMMIO64(handle, 0, MMIO_SIZE - 8, &wide));
	OK(fpgaWriteMMIO64(handle, 0, MMIO_SIZE - 8, 0));
	printf("registers are where they are\n");
}

static void buffers(fpga_handle handle)
{
	void *memory = NULL, *again = NULL;
	uint64_t wsid = 0, other = 0, address;

	SAYS(FPGA_NO_MEMORY, fpgaPrepareBuffer(handle, 65 * GIB, &memory, &wsid, 0));
	SAYS(FPGA_NO_MEMORY, fpgaPrepareBuffer(handle, 1ull << 50, &memory, &wsid, 0));
	SAYS(FPGA_NO_MEMORY, fpgaPrepareBuffer(handle, -1ull, &memory, &wsid, 0));
	CHECK(memory == NULL);
	OK(fpgaPrepareBuffer(handle, large, &memory, &wsid, 0));
	if (large == 40 * GIB)
		SAYS(FPGA_NO_MEMORY, fpgaPrepareBuffer(handle, large, &again, &other, 0));
	((volatile char *)memory)[large - 1] = 1;
	OK(fpgaReleaseBuffer(handle, wsid));
	BAD(fpgaReleaseBuffer(handle, wsid));
	SAYS(FPGA_NOT_FOUND, fpgaGetIOAddress(handle, wsid, &address));

	BAD(fpgaPrepareBuffer(handle, 0, &memory, &wsid, 0));
	BAD(fpgaPrepareBuffer(handle, 4096, NULL, &wsid, 0));
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, NULL, 0));
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, &wsid, 1 << 9));
	memory = (void *)12345;
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, &wsid, FPGA_BUF_PREALLOCATED));
	memory = NULL;
	BAD(fpgaPrepareBuffer(handle, 4096, &memory, &wsid, FPGA_BUF_PREALLOCATED));
	BAD(fpgaPrepareBuffer(NULL, 4096, &memory, &wsid, 0));
	SAYS(FPGA_NOT_FOUND, fpgaGetIOAddress(handle, 987654321, &address));
	printf("buffers are what there is room for\n");
}

/* Whoever closes leaves nothing behind: all of it can be had again. */
static void left_behind(void)
{
	for (int i = 0; i < 3; i++) {
		fpga_handle handle = open_accelerator(MEMORY_DMA), closed = handle;
		struct buffer left = pin(handle, large), more = pin(handle, 4096);
		uint64_t *mapped = NULL, value;

		OK(fpgaMapMMIO(handle, 0, &mapped));
		left.bytes[0] = more.bytes[0] = 1;
		OK(fpgaClose(handle));
		BAD(fpgaReleaseBuffer(closed, left.wsid));
		BAD(fpgaReadMMIO64(closed, 0, 0, &value));
		BAD(fpgaClose(closed));
	}
	printf("closed with buffers left\n");
}

/* Has the engine of the DMA copy a page, and waits until it is done. */
static void move(fpga_handle handle, uint64_t target, uint64_t source)
{
	enum { ENGINE_STATUS = 0x20040, DESCRIPTOR = 0x20060, BUSY = 1 };
	uint64_t bursts = 0x0404, strides = 0x00010001, go = 1u << 31;
	uint64_t words[4] = { target << 32 | (uint32_t)source, bursts << 48 | 4096,
			      source >> 32 << 32 | strides, go << 32 | target >> 32 };
	uint32_t status;

	for (uint64_t i = 0; i < 4; i++)
		OK(fpgaWriteMMIO64(handle, 0, DESCRIPTOR + 8 * i, words[i]));
	for (int looks = 0;; looks++) {
		OK(fpgaReadMMIO32(handle, 0, ENGINE_STATUS, &status));
		if (!(status & BUSY))
			break;
		CHECK(looks < 10000);
		usleep(1000);
	}
}

/* An engine that is told to read and to write what is no memory: of the host, then of the card. */
static void nowhere(fpga_handle handle)
{
	uint64_t host = 2ull << 48, far = 1ull << 46;

	move(handle, 0, host | far);
	move(handle, host | far, 0);
	move(handle, 0, far);
	move(handle, far, 0);
	OK(fpgaReset(handle));
	printf("the engine read and wrote nowhere\n");
}

static uint8_t *read_whole(const char *name, size_t *size)
{
	static uint8_t bytes[1 << 16];
	FILE *file = fopen(name, "rb");

	CHECK(file);
	*size = fread(bytes, 1, sizeof(bytes), file);
	CHECK(*size > 16 && *size < sizeof(bytes));
	fclose(file);
	return bytes;
}

static void bitstreams(const char *name)
{
	fpga_token token = the_only(FPGA_DEVICE, NULL);
	fpga_handle device = NULL, accelerator = open_accelerator(MEMORY_DMA);
	size_t size;
	uint8_t *good = read_whole(name, &size), wrong[4096], *found;
	uint64_t low;

	OK(fpgaOpen(token, &device, 0));
	OK(fpgaDestroyToken(&token));
	BAD(fpgaReconfigureSlot(accelerator, 0, good, size, 0));
	SAYS(FPGA_BUSY, fpgaReconfigureSlot(device, 0, good, size, 0));
	OK(fpgaClose(accelerator));

	fill(wrong, sizeof(wrong), 3);
	BAD(fpgaReconfigureSlot(device, 0, wrong, sizeof(wrong), 0));
	BAD(fpgaReconfigureSlot(device, 0, good, 0, 0));
	BAD(fpgaReconfigureSlot(device, 0, good, 10, 0));
	BAD(fpgaReconfigureSlot(device, 0, good, size - 1, 0));
	BAD(fpgaReconfigureSlot(device, 1, good, size, 0));
	BAD(fpgaReconfigureSlot(device, 0, NULL, size, 0));
	BAD(fpgaReconfigureSlot(device, 0, good, size, 1 << 6));
	BAD(fpgaReconfigureSlot(NULL, 0, good, size, 0));
	/* More metadata than there are bytes; then an interface that is another card's. */
	CHECK(size <= sizeof(wrong));
	memcpy(wrong, good, size);
	memset(wrong + 16, 0xff, 4);
	BAD(fpgaReconfigureSlot(device, 0, wrong, size, 0));
	memcpy(wrong, good, size);
	wrong[size - 1] = 0;
	found = (uint8_t *)strstr((char *)wrong + 20, "interface-uuid");
	CHECK(found);
	memset(found + 18, '0', 8);
	wrong[size - 1] = good[size - 1];
	BAD(fpgaReconfigureSlot(device, 0, wrong, size, 0));
	accelerator = open_accelerator(MEMORY_DMA);
	OK(fpgaReadMMIO64(accelerator, 0, 8, &low));
	CHECK(low == 0x9081f88b8f655caa);
	printf("what is no bitstream changes nothing\n");

	/* With force, under the one who has it open. */
	OK(fpgaReconfigureSlot(device, 0, good, size, FPGA_RECONF_FORCE));
	OK(fpgaReadMMIO64(accelerator, 0, 8, &low));
	CHECK(low == 0xf89e433683f9040b);
	OK(fpgaClose(accelerator));
	CHECK(find(FPGA_ACCELERATOR, MEMORY_DMA, &token) == 0);
	OK(fpgaReconfigureSlot(device, 0, good, size, 0));
	OK(fpgaClose(device));
	printf("another accelerator is loaded\n");
}

int main(int argc, char **argv)
{
	fpga_handle handle;

	CHECK(argc > 1);
	if (argc > 2)
		large = 2 << 20;
	opens();
	handle = open_accelerator(MEMORY_DMA);
	registers(handle);
	buffers(handle);
	nowhere(handle);
	OK(fpgaClose(handle));
	left_behind();
	bitstreams(argv[1]);
	handle = open_accelerator(NLB_0);
	nlb_copy(handle, 1 << 16, sleep_between);
	OK(fpgaClose(handle));
	printf("the card works\n");
	return 0;
}
