/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of programs. LIBOPAE_LOG is the highest level that is printed: 0 (the default), 1 or 2. */
#ifndef PEERLANE_OPAE_LOG_H
#define PEERLANE_OPAE_LOG_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opae/types.h>

enum opae_loglevel {
	OPAE_LOG_ERROR = 0,   /* to standard error */
	OPAE_LOG_MESSAGE = 1, /* to standard output */
	OPAE_LOG_DEBUG = 2
};

#define OPAE_DEFAULT_LOGLEVEL OPAE_LOG_ERROR
#ifndef FPGA_DEFAULT_LOGLEVEL
#define FPGA_DEFAULT_LOGLEVEL OPAE_DEFAULT_LOGLEVEL
#endif

/* The name of a source file without its directories. */
#undef __SHORT_FILE__
#define __SHORT_FILE__ (strrchr(__FILE__, '/') ? strrchr(__FILE__, '/') + 1 : __FILE__)

#define OPAE_PRINT_AT_(level, mark, format, ...) \
	opae_print(level, "%s:%u:%s()" mark " : " format "\n", __SHORT_FILE__, \
		   __LINE__, __func__, ##__VA_ARGS__)

#undef OPAE_ERR
#define OPAE_ERR(format, ...) OPAE_PRINT_AT_(OPAE_LOG_ERROR, " **ERROR**", format, ##__VA_ARGS__)
#undef OPAE_MSG
#define OPAE_MSG(format, ...) OPAE_PRINT_AT_(OPAE_LOG_MESSAGE, "", format, ##__VA_ARGS__)
/* Only in programs that define LIBOPAE_DEBUG. */
#undef OPAE_DBG
#ifdef LIBOPAE_DEBUG
#define OPAE_DBG(format, ...) OPAE_PRINT_AT_(OPAE_LOG_DEBUG, " *DEBUG*", format, ##__VA_ARGS__)
#else
#define OPAE_DBG(format, ...) {}
#endif

#ifndef FPGA_ERR
#define FPGA_ERR OPAE_ERR
#endif
#ifndef FPGA_MSG
#define FPGA_MSG OPAE_MSG
#endif
#ifndef FPGA_DBG
#define FPGA_DBG OPAE_DBG
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Prints like printf, if the level is not above LIBOPAE_LOG. */
void opae_print(int loglevel, const char *fmt, ...);

#ifdef __cplusplus
}
#endif

#endif
