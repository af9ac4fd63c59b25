/* Handlers and masks of signals behave the same with a word in memory and with a mapped register. */
#ifdef __STRICT_ANSI__
#define _XOPEN_SOURCE 700
#endif
#include "check.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>

#ifndef MAP_ANONYMOUS
/* It is none of the standard's names. */
#define MAP_ANONYMOUS 0x20
#endif

enum { MOST = 64, TICKS = 20 };

/* What is seen in one run, step by step. */
static uint64_t seen[2][MOST];
static int run, steps;

static void see(uint64_t value)
{
	CHECK(steps < MOST);
	seen[run][steps++] = value;
}

static volatile uint64_t *word;
static volatile char *bad;
static sigjmp_buf back;

static uint64_t blocked(int how)
{
	uint64_t found = 0;
	sigset_t set;

	CHECK((how ? sigpending(&set) : sigprocmask(SIG_BLOCK, NULL, &set)) == 0);
	/* The library never lets SIGSEGV be blocked. */
	for (int i = 1; i < 64; i++)
		if (i != SIGSEGV && sigismember(&set, i) == 1)
			found |= (uint64_t)1 << i;
	return found;
}

static void see_action(int number)
{
	struct sigaction now;

	CHECK(sigaction(number, NULL, &now) == 0);
	see(now.sa_handler == SIG_DFL ? 0 : now.sa_handler == SIG_IGN ? 1 : 2);
}

static void count(int number)
{
	*word += 1;
	see(number);
	see(*word);
}

/* Raises a signal that its mask blocks: it comes when this one has ended. */
static void count_and_raise(int number)
{
	CHECK(raise(SIGUSR1) == 0);
	see(blocked(0));
	count(number);
	see(blocked(1));
}

static void jump(int number)
{
	count(number);
	see(blocked(0));
	siglongjmp(back, 1);
}

/* As System V has it: a handler that stays installs itself again. */
static void stay(int number)
{
	CHECK(signal(number, stay) != SIG_ERR);
	jump(number);
}

static void touch(void)
{
	if (sigsetjmp(back, 1) == 0)
		*bad = 1;
	see(*word);
	see(blocked(0));
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
	(void)number;
	word[0] = word[0];
	ticks++;
}

static void masks(void)
{
	struct sigaction action = { .sa_handler = count_and_raise };
	struct timespec at_once = { 0, 0 };
	sigset_t one, all, before;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	CHECK(signal(SIGUSR1, count) != SIG_ERR);
	CHECK(sigprocmask(SIG_BLOCK, &one, &before) == 0);
	CHECK(raise(SIGUSR1) == 0);
	*word = 10;
	see(blocked(0));
	see(blocked(1));
	CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
	see(blocked(1));

	CHECK(signal(SIGUSR1, count) != SIG_ERR);
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaddset(&action.sa_mask, SIGSEGV);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(raise(SIGALRM) == 0);

	/* Handlers of signals that a wait lets through, with all others blocked. */
	sigfillset(&all);
	CHECK(sigprocmask(SIG_SETMASK, &all, &before) == 0);
	sigdelset(&all, SIGUSR1);
	for (int i = 0; i < 2; i++) {
		CHECK(signal(SIGUSR1, count) != SIG_ERR);
		CHECK(raise(SIGUSR1) == 0);
		see(*word);
		if (i == 0)
			see(sigsuspend(&all));
		else
			see(pselect(0, NULL, NULL, NULL, &at_once, &all));
		see(errno);
	}
	see(*word);
	CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
}

static void handlers(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = tick }, fatal;

	/* For one signal, or for all. */
	*word = 100;
	CHECK(signal(SIGALRM, count) != SIG_ERR);
	CHECK(raise(SIGALRM) == 0);
	see_action(SIGALRM);

	CHECK(sigaction(SIGSEGV, NULL, &fatal) == 0);
	for (int i = 0; i < 2; i++) {
		see(signal(SIGSEGV, jump) == SIG_ERR);
		touch();
		see_action(SIGSEGV);
		(void)*word;
	}
	see(signal(SIGSEGV, stay) == SIG_ERR);
	for (int i = 0; i < 3; i++)
		touch();
	see_action(SIGSEGV);
	/* A signal that is sent, and one that is ignored. */
	if (sigsetjmp(back, 1) == 0)
		CHECK(raise(SIGSEGV) == 0);
	see(*word);
	CHECK(signal(SIGSEGV, SIG_IGN) != SIG_ERR);
	CHECK(raise(SIGSEGV) == 0);
	see(*word);
	see_action(SIGSEGV);
	CHECK(sigaction(SIGSEGV, &fatal, NULL) == 0);

	/* In the middle of accesses, whose error number is the program's. */
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	ticks = 0;
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	errno = 77;
	for (uint64_t i = 0; ticks < TICKS; i++) {
		word[1] = i;
		CHECK(word[1] == i && errno == 77);
	}
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	see(*word);
}

int main(void)
{
	static uint64_t memory[2];
	volatile char *regs = NULL;
	fpga_handle handle;
	int before;

	bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(bad != MAP_FAILED);
	/* First without the library's handler. */
	word = memory;
	masks();
	handlers();
	before = steps;
	run = 1;
	steps = 0;
	handle = open_one(FPGA_ACCELERATOR);
	OK(fpgaMapMMIO(handle, 0, (uint64_t **)&regs));
	word = (volatile uint64_t *)(regs + SCRATCH);
	masks();
	handlers();
	CHECK(steps == before && before > 0);
	for (int i = 0; i < steps; i++) {
		if (seen[0][i] != seen[1][i])
			fprintf(stderr, "step %d: %lx, not %lx\n", i, seen[1][i], seen[0][i]);
		CHECK(seen[0][i] == seen[1][i]);
	}
	OK(fpgaClose(handle));
	return 0;
}
