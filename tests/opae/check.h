/* SPDX-License-Identifier: Apache-2.0 */
/* What these programs have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <string.h>
#include <time.h>

#include "../../integrations/opae/tests/programs/says.h"

#define LINE 64ull

#define NLB_0 "d8424dc4-a4a3-c413-f89e-433683f9040b"
#define MEMORY_DMA "331db30c-9885-41ea-9081-f88b8f655caa"
#define STREAMING_DMA "eb59bf9d-b211-4a4e-b3e3-753ce68634ba"

/* The bytes of a UUID in the order in which it is written. */
static inline void parse_guid(const char *text, fpga_guid guid)
{
	for (size_t i = 0; i < sizeof(fpga_guid); i++) {
		text += *text == '-';
		CHECK(sscanf(text, "%2hhx", &guid[i]) == 1);
		text += 2;
	}
}

/* How many objects of that kind there are, with that UUID unless it is NULL; the token is of the first. */
static inline uint32_t find(fpga_objtype type, const char *uuid, fpga_token *token)
{
	fpga_properties filter = NULL;
	uint32_t matches = 0;
	fpga_guid guid;

	OK(fpgaGetProperties(NULL, &filter));
	OK(fpgaPropertiesSetObjectType(filter, type));
	if (uuid) {
		parse_guid(uuid, guid);
		OK(fpgaPropertiesSetGUID(filter, guid));
	}
	OK(fpgaEnumerate(&filter, 1, token, 1, &matches));
	OK(fpgaDestroyProperties(&filter));
	return matches;
}

static inline fpga_token the_only(fpga_objtype type, const char *uuid)
{
	fpga_token token = NULL;

	CHECK(find(type, uuid, &token) == 1);
	return token;
}

static inline fpga_handle open_accelerator(const char *uuid)
{
	fpga_token token = the_only(FPGA_ACCELERATOR, uuid);
	fpga_handle handle = NULL;

	OK(fpgaOpen(token, &handle, 0));
	OK(fpgaDestroyToken(&token));
	return handle;
}

/* Memory that is shared with devices. */
struct buffer {
	uint8_t *bytes;
	uint64_t wsid;
	uint64_t address;
};

static inline struct buffer pin(fpga_handle handle, uint64_t size)
{
	struct buffer buffer = { 0 };

	OK(fpgaPrepareBuffer(handle, size, (void **)&buffer.bytes, &buffer.wsid, 0));
	OK(fpgaGetIOAddress(handle, buffer.wsid, &buffer.address));
	CHECK(buffer.address % 4096 == 0);
	return buffer;
}

static inline void unpin(fpga_handle handle, struct buffer *buffer)
{
	OK(fpgaReleaseBuffer(handle, buffer->wsid));
	buffer->bytes = NULL;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A feature of an accelerator's list: where it begins, or 0. */
static inline uint64_t feature(volatile const uint64_t *registers, uint64_t high, uint64_t low)
{
	uint64_t offset = 0;

	for (;;) {
		volatile const uint64_t *here = registers + offset / 8;
		uint64_t header = here[0], step = header >> 16 & 0xffffff;

		if (header >> 60 == 2 && here[1] == low && here[2] == high)
			return offset;
		if (header >> 40 & 1 || step == 0)
			return 0;
		offset += step;
	}
}

/* Bytes of which no two places are alike. */
static inline void fill(uint8_t *bytes, uint64_t size, uint64_t seed)
{
	uint64_t word = seed * 0x9e3779b97f4a7c15 + 1;

	for (uint64_t i = 0; i < size; i++) {
		if (i % 8 == 0) {
			word ^= word << 13;
			word ^= word >> 7;
			word ^= word << 17;
		}
		bytes[i] = (uint8_t)(word >> i % 8 * 8);
	}
}

#endif
