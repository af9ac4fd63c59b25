/* Registers by a pointer, with whatever instruction a compiler may take. */
#include "check.h"
#include <immintrin.h>

static fpga_handle handle;
static volatile char *regs;

#define AT(type, offset) (*(volatile type *)(regs + (offset)))

static uint64_t last_store(void)
{
	return reg(handle, LAST_STORE);
}

__attribute__((noinline)) static void copy_bytes(void *to, const void *from, size_t count)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static void words(void)
{
	uint64_t stores = reg(handle, STORES);
	uint64_t sum = 5;
	unsigned char flag = 0;

	AT(uint64_t, SCRATCH) = 0x8877665544332211;
	CHECK(reg(handle, STORES) == stores + 1 && last_store() == 8);
	CHECK(AT(uint64_t, SCRATCH) == 0x8877665544332211);
	AT(uint32_t, SCRATCH + 4) = 0xabcdef01;
	CHECK(last_store() == 4);
	CHECK(AT(uint32_t, SCRATCH) == 0x44332211);
	CHECK(AT(uint32_t, SCRATCH + 4) == 0xabcdef01);
	/* Parts of a word, with and without sign. */
	CHECK(AT(uint8_t, SCRATCH + 1) == 0x22);
	CHECK(AT(int8_t, SCRATCH + 7) == (int8_t)0xab);
	CHECK(AT(uint16_t, SCRATCH + 2) == 0x4433);
	CHECK(AT(int16_t, SCRATCH + 6) == (int16_t)0xabcd);
	AT(uint8_t, SCRATCH + 2) = 0x99;
	CHECK(last_store() == 4 && AT(uint32_t, SCRATCH) == 0x44992211);
	AT(uint16_t, SCRATCH) = 0x1234;
	CHECK(AT(uint32_t, SCRATCH) == 0x44991234);
	/* Not at a multiple of its size. */
	AT(uint64_t, SCRATCH + 16) = 0x0123456789abcdef;
	AT(uint64_t, SCRATCH + 24) = 0xfedcba9876543210;
	CHECK(AT(uint64_t, SCRATCH + 20) == 0x7654321001234567);
	CHECK(AT(uint64_t, SCRATCH + 19) == 0x5432100123456789);

	/* Arithmetic in place, and what it does to flags. */
	AT(uint64_t, SCRATCH) = 40;
	__asm__ volatile("addq $2, %0" : "+m"(AT(uint64_t, SCRATCH)));
	CHECK(AT(uint64_t, SCRATCH) == 42);
	__asm__ volatile("orl $0x80, %0" : "+m"(AT(uint32_t, SCRATCH)));
	CHECK(AT(uint64_t, SCRATCH) == 0xaa);
	__asm__ volatile("addq %1, %0" : "+r"(sum) : "m"(AT(uint64_t, SCRATCH)));
	CHECK(sum == 0xaa + 5);
	__asm__ volatile("cmpq $0xaa, %1; sete %0" : "=r"(flag) : "m"(AT(uint64_t, SCRATCH)));
	CHECK(flag == 1);
	__asm__ volatile("testb $0x01, %1; setnz %0" : "=r"(flag) : "m"(AT(uint8_t, SCRATCH)));
	CHECK(flag == 0);
	__asm__ volatile("btl $7, %1; setc %0" : "=r"(flag) : "m"(AT(uint32_t, SCRATCH)));
	CHECK(flag == 1);
	sum = 0x55;
	__asm__ volatile("xchgq %0, %1" : "+r"(sum), "+m"(AT(uint64_t, SCRATCH)));
	CHECK(sum == 0xaa && AT(uint64_t, SCRATCH) == 0x55);
	CHECK(__sync_val_compare_and_swap((uint64_t *)(regs + SCRATCH), 0x55, 0x66) == 0x55);
	CHECK(__sync_fetch_and_add((uint64_t *)(regs + SCRATCH), 1) == 0x66);
	CHECK(AT(uint64_t, SCRATCH) == 0x67);
	__asm__ volatile("movq $-5, %0; incl %0; notq %0; negl %0" : "+m"(AT(uint64_t, SCRATCH)));
	CHECK(AT(uint64_t, SCRATCH) == 0xfffffffd);
	/* An address of all the parts that one may have; r12 and r13 are encoded in their own way. */
	AT(uint64_t, SCRATCH + 0x48) = 77;
	__asm__ volatile("movq %1, %%r13; movq $9, %%r12; movq 0x100(%%r13,%%r12,8), %0; movq %0, %%r12; "
			 "leaq 0x140(%%r13), %%r12; addq 8(%%r12), %0"
			 : "=&r"(sum)
			 : "r"(regs)
			 : "r12", "r13");
	CHECK(sum == 154);
	__asm__ volatile("pushq %1; popq %0" : "=r"(sum) : "m"(AT(uint64_t, SCRATCH + 0x48)));
	CHECK(sum == 77);
	__asm__ volatile("clflush %0" : "+m"(AT(uint64_t, SCRATCH)));
	/* A return address and the red zone are where they were. */
	AT(double, SCRATCH) = 2.5;
	CHECK(AT(double, SCRATCH) * 2 == 5.0);
	AT(float, SCRATCH + 4) = 1.5f;
	CHECK(AT(float, SCRATCH + 4) == 1.5f);
}

static void copies(void)
{
	char bytes[512], back[512];
	uint64_t stores;
	size_t i, sizes[] = { 1, 3, 4, 8, 15, 16, 17, 31, 32, 63, 64, 65, 100, 255, 256, 300 };

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + 1);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(back, 0, sizeof(back));
		memcpy((char *)regs + SCRATCH, bytes, sizes[i]);
		memcpy(back, (char *)regs + SCRATCH, sizes[i]);
		CHECK(memcmp(bytes, back, sizes[i]) == 0);
	}
	memset((char *)regs + SCRATCH, 0, 512);
	CHECK(AT(uint64_t, SCRATCH + 504) == 0);

	stores = reg(handle, STORES);
	copy_bytes((char *)regs + SCRATCH, bytes, 256);
	CHECK(reg(handle, STORES) == stores + 4 && last_store() == 64);
	memset(back, 0, sizeof(back));
	copy_bytes(back, (char *)regs + SCRATCH + 3, 200);
	CHECK(memcmp(back, bytes + 3, 200) == 0);
	copy_bytes((char *)regs + SCRATCH + 256, (char *)regs + SCRATCH, 64);
	CHECK(AT(uint64_t, SCRATCH + 256) == AT(uint64_t, SCRATCH));
	{
		void *to = (char *)regs + SCRATCH;
		size_t count = 8;
		__asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0x0101010101010101) : "memory");
		CHECK(count == 0 && to == (char *)regs + SCRATCH + 64);
		CHECK(AT(uint64_t, SCRATCH + 56) == 0x0101010101010101);
	}
	{
		const void *from = (char *)regs + SCRATCH;
		uint64_t value = -1;
		__asm__ volatile("lodsl" : "+S"(from), "+a"(value));
		CHECK(value == 0x01010101 && from == (char *)regs + SCRATCH + 4);
	}
}

static void vectors(void)
{
	__m128i four = _mm_set_epi32(4, 3, 2, 1), back;
	uint64_t stores = reg(handle, STORES);

	_mm_store_si128((__m128i *)(regs + SCRATCH), four);
	CHECK(reg(handle, STORES) == stores + 2 && last_store() == 8);
	back = _mm_load_si128((__m128i *)(regs + SCRATCH));
	CHECK(_mm_movemask_epi8(_mm_cmpeq_epi32(four, back)) == 0xffff);
	_mm_stream_si128((__m128i *)(regs + SCRATCH + 16), back);
	back = _mm_add_epi32(back, _mm_loadu_si128((__m128i *)(regs + SCRATCH + 16)));
	CHECK(_mm_cvtsi128_si32(back) == 2);
}

__attribute__((target("avx2"))) static void wide_vectors(void)
{
	__m256i eight = _mm256_set_epi32(8, 7, 6, 5, 4, 3, 2, 1), back;
	__m256i some = _mm256_set_epi32(0, -1, 0, 0, -1, 0, -1, 0);

	if (!__builtin_cpu_supports("avx2"))
		return;
	_mm256_storeu_si256((__m256i *)(regs + SCRATCH + 32), eight);
	back = _mm256_loadu_si256((__m256i *)(regs + SCRATCH + 32));
	CHECK(_mm256_movemask_epi8(_mm256_cmpeq_epi32(eight, back)) == -1);
	/* Only what the mask lets through is stored. */
	_mm256_maskstore_epi32((int *)(regs + SCRATCH + 32), some, _mm256_setzero_si256());
	CHECK(AT(uint32_t, SCRATCH + 32) == 1 && AT(uint32_t, SCRATCH + 36) == 0);
	CHECK(AT(uint32_t, SCRATCH + 40) == 3 && AT(uint32_t, SCRATCH + 44) == 0);
	CHECK(AT(uint32_t, SCRATCH + 56) == 0 && AT(uint32_t, SCRATCH + 60) == 8);
	back = _mm256_maskload_epi32((int *)(regs + SCRATCH + 32), some);
	CHECK(_mm256_extract_epi32(back, 0) == 0);
	_mm256_zeroupper();
}

__attribute__((target("avx512f"))) static void widest_vectors(void)
{
	if (!__builtin_cpu_supports("avx512f")) {
		printf("no AVX-512 here\n");
		return;
	}
	_mm512_store_si512((void *)(regs + SCRATCH), _mm512_set1_epi32(9));
	CHECK(last_store() == 64);
	CHECK(AT(uint32_t, SCRATCH + 60) == 9);
	_mm512_mask_storeu_epi32((void *)(regs + SCRATCH), 0x5555, _mm512_setzero_si512());
	CHECK(AT(uint32_t, SCRATCH) == 0 && AT(uint32_t, SCRATCH + 4) == 9);
}

/* Whether a mapping of the process is writable and executable. */
static int has_writable_code(void)
{
	char line[512], *access;
	int found = 0, executable = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		access = strchr(line, ' ');
		executable += access && access[3] == 'x';
		found += access && access[2] == 'w' && access[3] == 'x';
	}
	fclose(maps);
	CHECK(executable > 0);
	return found;
}

int main(void)
{
	uint64_t *pointer = NULL, *again = NULL, line[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	handle = open_one(FPGA_ACCELERATOR);
	OK(fpgaMapMMIO(handle, 0, &pointer));
	OK(fpgaMapMMIO(handle, 0, &again));
	CHECK(pointer == again);
	regs = (volatile char *)pointer;
	OK(fpgaWriteMMIO512(handle, 0, SCRATCH, line));
	CHECK(last_store() == 64 && AT(uint64_t, SCRATCH + 56) == 8);
	words();
	copies();
	vectors();
	wide_vectors();
	widest_vectors();
	/* Valgrind has such mappings of its own. */
	CHECK(getenv("ON_VALGRIND") || !has_writable_code());
	OK(fpgaClose(handle));
	return 0;
}
