/* SPDX-License-Identifier: Apache-2.0 */
/* While the program waits for a device, the library's own thread has no page to close, and sleeps. */
#include <dirent.h>

#include "nlb.h"

enum { SIZE = 8 << 20, MOST = 500 };

/* A number after a word, in a file of a thread; or whether the file has this word, without a number. */
static long field(const char *thread, const char *file, const char *word)
{
	char path[300], line[200];
	long found = -1;
	FILE *opened;

	snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, file);
	opened = fopen(path, "r");
	while (opened && fgets(line, sizeof line, opened))
		if (strncmp(line, word, strlen(word)) == 0)
			found = atol(line + strlen(word));
	if (opened)
		fclose(opened);
	return found;
}

/* The number of times that the library's thread has gone to sleep. It names itself, some time after it was started. */
static long sleeps(void)
{
	struct dirent *thread;
	long found = -1;

	while (found < 0) {
		DIR *folder = opendir("/proc/self/task");

		CHECK(folder);
		while ((thread = readdir(folder)))
			if (field(thread->d_name, "comm", "peerlane\n") >= 0)
				found = field(thread->d_name, "status", "voluntary_ctxt_switches:");
		closedir(folder);
	}
	return found;
}

int main(void)
{
	fpga_token token = the_only(FPGA_ACCELERATOR, NULL);
	fpga_handle handle = NULL;
	struct buffer status, source, target;
	volatile uint64_t *done;
	long before, slept;

	OK(fpgaOpen(token, &handle, 0));
	status = pin(handle, 4096);
	source = pin(handle, SIZE);
	target = pin(handle, SIZE);
	done = (volatile uint64_t *)(status.bytes + STATUS);
	*done = 0;
	set64(handle, STATUS_BASE, status.address);
	set32(handle, CONTROL, 0);
	set32(handle, CONTROL, OUT_OF_RESET);
	set64(handle, SOURCE, source.address / LINE);
	set64(handle, TARGET, target.address / LINE);
	set32(handle, LINES, SIZE / LINE);
	set32(handle, CONFIGURATION, CONFIGURED);
	before = sleeps();
	set32(handle, CONTROL, OUT_OF_RESET | START);
	while (!(*done & 1))
		;
	slept = sleeps() - before;
	printf("the thread slept %ld times\n", slept);
	CHECK(slept < MOST);
	OK(fpgaClose(handle));
	OK(fpgaDestroyToken(&token));
	printf("the thread rests\n");
	return 0;
}
