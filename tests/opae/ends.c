/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of users while the native loopback copies: "close", "leave" or "kill" starts a copy and ends; "look" opens the card and finds that
 * neither its registers nor new buffers have anything of it; "release" releases the target of a copy; "twice" releases a buffer twice, and
 * uses an event after its handle was closed; "share" closes one of two handles during the copy. */
#include <opae/fpga.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define SIZE (4ul << 20)
#define DESTINATION 0x128

static struct buffer status, source, target;

static void start(fpga_handle handle)
{
	status = pin(handle, 4096);
	source = pin(handle, SIZE);
	target = pin(handle, SIZE);
	memset(source.bytes, 0x5a, SIZE);
	memset(target.bytes, 0, SIZE);
	OK(fpgaReset(handle));
	OK(fpgaWriteMMIO64(handle, 0, 0x110, status.address));
	OK(fpgaWriteMMIO32(handle, 0, 0x138, 1));
	OK(fpgaWriteMMIO64(handle, 0, 0x120, source.address / LINE));
	OK(fpgaWriteMMIO64(handle, 0, DESTINATION, target.address / LINE));
	OK(fpgaWriteMMIO32(handle, 0, 0x130, SIZE / LINE));
	OK(fpgaWriteMMIO32(handle, 0, 0x138, 3));
	usleep(50);
}

static bool has_ended(void)
{
	usleep(5000);
	return *(volatile uint64_t *)(status.bytes + 0x40) & 1;
}

static void look(fpga_handle handle)
{
	struct buffer found[4];
	uint64_t value = 1;

	OK(fpgaReadMMIO64(handle, 0, DESTINATION, &value));
	CHECK(value == 0);
	for (int i = 0; i < 4; i++) {
		found[i] = pin(handle, SIZE);
		memset(found[i].bytes, 0x11, SIZE);
	}
	usleep(5000);
	for (int i = 0; i < 4; i++)
		for (size_t at = 0; at < SIZE; at++)
			CHECK(found[i].bytes[at] == 0x11);
}

static void release(fpga_handle handle)
{
	struct buffer other;

	start(handle);
	OK(fpgaReleaseBuffer(handle, target.wsid));
	other = pin(handle, SIZE);
	CHECK(other.address != target.address);
	CHECK(has_ended());
	for (size_t at = 0; at < SIZE; at++)
		CHECK(other.bytes[at] == 0);
}

static void twice(fpga_handle handle)
{
	fpga_event_handle event = NULL;
	struct pollfd file = { .fd = -1, .events = POLLIN };
	struct buffer one = pin(handle, 4096);

	OK(fpgaReleaseBuffer(handle, one.wsid));
	CHECK(fpgaReleaseBuffer(handle, one.wsid) == FPGA_INVALID_PARAM);
	OK(fpgaCreateEventHandle(&event));
	OK(fpgaRegisterEvent(handle, FPGA_EVENT_INTERRUPT, event, 0));
	OK(fpgaGetOSObjectFromEventHandle(event, &file.fd));
	start(handle);
	OK(fpgaClose(handle));
	CHECK(poll(&file, 1, 10) == 0);
	CHECK(fpgaUnregisterEvent(handle, FPGA_EVENT_INTERRUPT, event) == FPGA_INVALID_PARAM);
	OK(fpgaDestroyEventHandle(&event));
}

int main(int count, char **words)
{
	const char *word = count > 1 ? words[1] : "";
	bool shares = !strcmp(word, "share");
	fpga_token token = the_only(FPGA_ACCELERATOR, NLB_0);
	fpga_handle handle = NULL, other = NULL;

	OK(fpgaOpen(token, &handle, shares ? FPGA_OPEN_SHARED : 0));
	if (!strcmp(word, "look")) {
		look(handle);
	} else if (!strcmp(word, "release")) {
		release(handle);
	} else if (!strcmp(word, "twice")) {
		twice(handle);
	} else if (shares) {
		OK(fpgaOpen(token, &other, FPGA_OPEN_SHARED));
		start(handle);
		OK(fpgaClose(other));
		CHECK(has_ended() && target.bytes[SIZE - 1] == 0x5a);
	} else {
		start(handle);
		if (!strcmp(word, "close"))
			OK(fpgaClose(handle));
		if (!strcmp(word, "kill"))
			kill(getpid(), SIGKILL);
		_exit(0);
	}
	return 0;
}
