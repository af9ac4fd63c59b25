/* Computes the CRC-32 of a buffer with the accelerator of checksum_afu.py, which is loaded as any other is:
 *
 *   gcc -O2 checksum.c $(peerlane opae flags) -lopae-c -o checksum
 *   peerlane opae run --afu checksum_afu.py ./checksum [KIB]
 */
#include <opae/fpga.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DO(call) \
	do { \
		fpga_result said_ = (call); \
		if (said_ != FPGA_OK) { \
			fprintf(stderr, "%s: %s\n", #call, fpgaErrStr(said_)); \
			exit(1); \
		} \
	} while (0)

enum { LINE = 64, SOURCE = 0x40, LINES = 0x48, TARGET = 0x50, CONTROL = 0x58, START = 1 };

struct result {
	uint32_t crc;
	uint32_t failed;
	uint64_t lines;
};

/* 3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3 */
static fpga_guid checksum_afu = { 0x3a, 0x77, 0x8c, 0x9e, 0x5b, 0xd1, 0x4d, 0x0b,
				  0x9c, 0x64, 0x0a, 0x6d, 0xcf, 0xb1, 0xc4, 0xf3 };

static fpga_handle open_accelerator(void)
{
	fpga_properties filter = NULL;
	fpga_token token = NULL;
	fpga_handle handle = NULL;
	uint32_t matches = 0;

	DO(fpgaGetProperties(NULL, &filter));
	DO(fpgaPropertiesSetObjectType(filter, FPGA_ACCELERATOR));
	DO(fpgaPropertiesSetGUID(filter, checksum_afu));
	DO(fpgaEnumerate(&filter, 1, &token, 1, &matches));
	if (matches == 0) {
		fprintf(stderr, "no card has this accelerator: run with --afu checksum_afu.py\n");
		exit(1);
	}
	DO(fpgaOpen(token, &handle, 0));
	DO(fpgaDestroyToken(&token));
	DO(fpgaDestroyProperties(&filter));
	return handle;
}

static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
	uint32_t crc = ~0u;

	while (size--) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv)
{
	size_t size = (argc > 1 ? strtoul(argv[1], NULL, 0) : 1024) * 1024;
	fpga_handle card = open_accelerator();
	struct pollfd interrupt = { .events = POLLIN };
	fpga_event_handle event = NULL;
	struct result *result = NULL;
	uint8_t *data = NULL;
	uint64_t data_id, result_id, address, count;
	double began, took;
	int right;

	DO(fpgaMapMMIO(card, 0, NULL));
	DO(fpgaReset(card));
	DO(fpgaCreateEventHandle(&event));
	DO(fpgaRegisterEvent(card, FPGA_EVENT_INTERRUPT, event, 0));
	DO(fpgaGetOSObjectFromEventHandle(event, &interrupt.fd));

	DO(fpgaPrepareBuffer(card, size, (void **)&data, &data_id, 0));
	DO(fpgaPrepareBuffer(card, LINE, (void **)&result, &result_id, 0));
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * i % 251);

	DO(fpgaGetIOAddress(card, data_id, &address));
	DO(fpgaWriteMMIO64(card, 0, SOURCE, address / LINE));
	DO(fpgaWriteMMIO64(card, 0, LINES, size / LINE));
	DO(fpgaGetIOAddress(card, result_id, &address));
	DO(fpgaWriteMMIO64(card, 0, TARGET, address / LINE));
	began = now_ns();
	DO(fpgaWriteMMIO64(card, 0, CONTROL, START));
	if (poll(&interrupt, 1, 10000) != 1 || read(interrupt.fd, &count, sizeof(count)) < 0) {
		fprintf(stderr, "no interrupt came\n");
		return 1;
	}
	took = now_ns() - began;

	right = !result->failed && result->lines == size / LINE && result->crc == crc_of(data, size);
	printf("%zu bytes %08x %s, %.0f ns, %.3f GB/s\n", size, result->crc,
	       right ? "right" : "wrong", took, size / took);
	DO(fpgaReleaseBuffer(card, result_id));
	DO(fpgaReleaseBuffer(card, data_id));
	DO(fpgaUnregisterEvent(card, FPGA_EVENT_INTERRUPT, event));
	DO(fpgaDestroyEventHandle(&event));
	DO(fpgaUnmapMMIO(card, 0));
	DO(fpgaClose(card));
	return !right;
}
