/* What a test program asserts: a condition, or what a call says. */
#ifndef SAYS_H
#define SAYS_H

#include <opae/fpga.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

#define SAYS(code, call) \
	do { \
		fpga_result said_ = (call); \
		if (said_ != (code)) { \
			fprintf(stderr, "%s:%d: %s: %s, not %s\n", __FILE__, __LINE__, #call, \
				fpgaErrStr(said_), #code); \
			exit(1); \
		} \
	} while (0)

#define OK(call) SAYS(FPGA_OK, call)

#endif
