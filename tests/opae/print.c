/* SPDX-License-Identifier: Apache-2.0 */
/* Prints messages at each level, with arguments in registers and on the stack. */
#define LIBOPAE_DEBUG
#include <opae/log.h>

int main(void)
{
	opae_print(OPAE_LOG_ERROR, "%d %s %lu %c %x %d %d %d|%.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f\n", 1,
		   "two", 3ul, '4', 5, 6, 7, 8, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9);
	OPAE_ERR("no arguments");
	OPAE_MSG("a message with %d", 1);
	FPGA_DBG("a detail with %g", 0.5);
	return 0;
}
