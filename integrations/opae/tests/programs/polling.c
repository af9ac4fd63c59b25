/* A program that looks at a word over and over, without any call, sees it when it is written: not before and not after. */
#include "check.h"

static fpga_handle handle;
static volatile uint64_t *memory;
static uint64_t address;

enum { LATER = 70000, SOON = 5000 };

static void in_one_buffer(void)
{
	uint64_t start, end;
	int round;

	for (round = 0; round < 20; round++) {
		memory[16] = 0;
		start = monotonic();
		start_engine(handle, address + 128, 5, 1, LATER);
		while (memory[16] == 0)
			;
		end = monotonic();
		/* Four stores, one look more, one reading of the clock. */
		printf("%llu\n", (unsigned long long)(end - start));
		CHECK(end - start == 4 * 100 + LATER + 50 + 20);
	}
}

/* With a look at the clock in between, as for a limit. */
static void with_a_clock(void)
{
	uint64_t start, end;

	memory[16] = 0;
	start = monotonic();
	start_engine(handle, address + 128, 5, 1, LATER);
	while (memory[16] == 0)
		CHECK(monotonic() - start < 1000000000);
	end = monotonic();
	printf("%llu\n", (unsigned long long)(end - start));
	CHECK(end - start >= LATER && end - start < LATER + 2000);
}

/* Two words in turn, in two buffers. */
static void in_two_buffers(void)
{
	void *other = NULL;
	volatile uint64_t *flag;
	uint64_t wsid, start, end;

	OK(fpgaPrepareBuffer(handle, 4096, &other, &wsid, 0));
	flag = other;
	flag[0] = 0;
	memory[16] = 0;
	start = monotonic();
	start_engine(handle, address + 128, 5, 1, SOON);
	while (memory[16] == 0 && flag[0] == 0)
		;
	end = monotonic();
	printf("%llu\n", (unsigned long long)(end - start));
	CHECK(end - start >= SOON && end - start < SOON + 3000);
	OK(fpgaReleaseBuffer(handle, wsid));
}

/* To copy costs time, as named: a tenth of a nanosecond for a byte here. */
static void copying(void)
{
	static char mine[64 << 10];
	uint64_t start, end;

	OK(fpgaWriteMMIO64(handle, 0, SCRATCH, 0));
	{
		/* The same by one instruction, which is begun again at each page. */
		void *to = (void *)memory;
		size_t count = sizeof(mine);
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
		CHECK(count == 0 && to == (char *)memory + sizeof(mine));
		CHECK(((char *)memory)[sizeof(mine) - 1] == 7);
	}
	OK(fpgaWriteMMIO64(handle, 0, SCRATCH, 0));
	start = monotonic();
	memcpy(mine, (void *)memory, sizeof(mine));
	__asm__ volatile("" : : "r"(mine) : "memory");
	end = monotonic();
	CHECK(end - start >= 6553 + 20 && end - start <= 6554 + 20);
	start = monotonic();
	memcpy(mine, (void *)memory, sizeof(mine));
	__asm__ volatile("" : : "r"(mine) : "memory");
	CHECK(monotonic() - start == 20);
}

int main(void)
{
	uint64_t wsid;

	handle = open_one(FPGA_ACCELERATOR);
	OK(fpgaPrepareBuffer(handle, 64 << 10, (void **)&memory, &wsid, 0));
	OK(fpgaGetIOAddress(handle, wsid, &address));
	in_one_buffer();
	with_a_clock();
	in_two_buffers();
	copying();
	OK(fpgaClose(handle));
	return 0;
}
