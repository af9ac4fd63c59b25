/* What the test programs have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <string.h>
#include <time.h>

#include "says.h"

enum {
	SCRATCH = 0x100,
	ENGINE_ADDRESS = 0x800,
	ENGINE_WORD = 0x808,
	ENGINE_COUNT = 0x810,
	ENGINE_START = 0x818,
	INTERRUPT_0 = 0x820,
	INTERRUPT_1 = 0x828,
	LAST_STORE = 0x840,
	STORES = 0x848,
	LOADS = 0x850
};

static inline fpga_token token_of(fpga_objtype type)
{
	fpga_properties filter = NULL;
	fpga_token token = NULL;
	uint32_t matches = 0;

	OK(fpgaGetProperties(NULL, &filter));
	OK(fpgaPropertiesSetObjectType(filter, type));
	OK(fpgaPropertiesSetBus(filter, 1));
	OK(fpgaEnumerate(&filter, 1, &token, 1, &matches));
	CHECK(matches == 1);
	OK(fpgaDestroyProperties(&filter));
	return token;
}

static inline fpga_handle open_one(fpga_objtype type)
{
	fpga_token token = token_of(type);
	fpga_handle handle = NULL;

	OK(fpgaOpen(token, &handle, 0));
	OK(fpgaDestroyToken(&token));
	return handle;
}

static inline uint64_t monotonic(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline uint64_t reg(fpga_handle handle, uint64_t offset)
{
	uint64_t value = 0;

	OK(fpgaReadMMIO64(handle, 0, offset, &value));
	return value;
}

static inline void start_engine(fpga_handle handle, uint64_t address, uint64_t word,
				uint64_t count, uint64_t after)
{
	OK(fpgaWriteMMIO64(handle, 0, ENGINE_ADDRESS, address));
	OK(fpgaWriteMMIO64(handle, 0, ENGINE_WORD, word));
	OK(fpgaWriteMMIO64(handle, 0, ENGINE_COUNT, count));
	OK(fpgaWriteMMIO64(handle, 0, ENGINE_START, after));
}

#endif
