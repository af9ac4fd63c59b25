/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of programs that use the library's macros for them: LIBOPAE_LOG=1 shows more than errors. */
#ifndef PEERLANE_OPAE_LOG_H
#define PEERLANE_OPAE_LOG_H

#include <stdio.h>
#include <stdlib.h>

enum opae_loglevel {
	OPAE_LOG_UNKNOWN = -2,
	OPAE_LOG_ERROR = -1,
	OPAE_LOG_MESSAGE = 0,
	OPAE_LOG_DEBUG = 1
};

#define OPAE_DEFAULT_LOGLEVEL OPAE_LOG_ERROR

#define OPAE_LOG_AT_(level, kind, format, ...) \
	do { \
		const char *log_ = getenv("LIBOPAE_LOG"); \
		if ((level) <= (log_ ? atoi(log_) : OPAE_DEFAULT_LOGLEVEL)) \
			fprintf((level) == OPAE_LOG_ERROR ? stderr : stdout, \
				"%s:%d:%s() " kind ": " format "\n", __FILE__, \
				__LINE__, __func__, ##__VA_ARGS__); \
	} while (0)

#define OPAE_ERR(format, ...) OPAE_LOG_AT_(OPAE_LOG_ERROR, "**ERROR** ", format, ##__VA_ARGS__)
#define OPAE_MSG(format, ...) OPAE_LOG_AT_(OPAE_LOG_MESSAGE, "", format, ##__VA_ARGS__)
#define OPAE_DBG(format, ...) OPAE_LOG_AT_(OPAE_LOG_DEBUG, "*DEBUG* ", format, ##__VA_ARGS__)

#endif
