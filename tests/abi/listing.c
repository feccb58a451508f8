// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What debugfs lists: a line for each channel and for each associated CQ, of
 * all processes, with the truth about it; also if there are ten thousand, and
 * while others come and go.
 */
#include "abi.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define DIR	"/sys/kernel/debug/compch/"
#define MANY	10000
#define COMM	"a b\\\n\t="
#define ESCAPED	"a\\040b\\134\\012\\011="

/* The whole file, read in pieces of @piece bytes */
static char *file_all(const char *path, size_t piece)
{
	int fd = must(open(path, O_RDONLY | O_CLOEXEC) ?: -EBADF);
	size_t len = 0, size = 0;
	char *buf = NULL;
	ssize_t ret;

	do {
		if (size - len < piece + 1) {
			size = 2 * size + piece + 1;
			buf = realloc(buf, size);
			must(buf ? 0 : -ENOMEM);
		}
		ret = must(read(fd, buf + len, piece));
		len += ret;
	} while (ret);
	close(fd);
	buf[len] = '\0';
	return buf;
}

/*
 * The line that has the word @key in it: copied to @line, with a blank before
 * and after.  Returns how many there are.
 */
static int find(const char *text, const char *key, char *line, size_t size)
{
	const char *end;
	char word[64];
	int found = 0;

	snprintf(word, sizeof(word), " %s ", key);
	for (; (end = strchr(text, '\n')); text = end + 1) {
		char copy[1024];

		snprintf(copy, sizeof(copy), " %.*s ", (int)(end - text), text);
		if (!strstr(copy, word))
			continue;
		found++;
		snprintf(line, size, "%s", copy);
	}
	return found;
}

/* Has the line all these words? */
__attribute__((format(printf, 2, 3)))
static void has(const char *line, const char *fmt, ...)
{
	char words[512], *next = words, *word, want[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	while ((word = strsep(&next, " "))) {
		snprintf(want, sizeof(want), " %s ", word);
		if (!ok(strstr(line, want)))
			printf("no '%s' in '%s'\n", word, line);
	}
}

static void channel_line(int fd, char *line, size_t size)
{
	char *text = file_all(DIR "channels", 4096);
	char key[64];

	snprintf(key, sizeof(key), "channel=%lld", channel_id(fd));
	eq(find(text, key, line, size), 1);
	free(text);
}

/* Returns how many lines it has */
static int cq_line(const struct cq *cq, char *line, size_t size)
{
	char *text = file_all(DIR "cqs", 4096);
	char key[64];
	int found;

	snprintf(key, sizeof(key), "cookie=0x%" PRIx64, cq->user_handle);
	found = find(text, key, line, size);
	free(text);
	return found;
}

static long long number(const char *line, const char *key)
{
	const char *at;
	char word[64];

	snprintf(word, sizeof(word), " %s=", key);
	at = strstr(line, word);
	return at ? strtoll(at + strlen(word), NULL, 0) : -ENOENT;
}

static void modes(void)
{
	static const char *const files[] = { DIR "channels", DIR "cqs" };
	struct stat st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		check_case("%s", files[i]);
		must(stat(files[i], &st));
		eq(st.st_mode, S_IFREG | 0400);
		eq(st.st_uid, 0);
	}
	check_case(" ");
}

static void fields(void)
{
	struct ib_uverbs_comp_event_desc events[64];
	char name[16], line[1024];
	struct ctx ctx, other;
	int chan, target;
	struct cq a, b;

	must(prctl(PR_GET_NAME, name));
	must(prctl(PR_SET_NAME, COMM));
	ctx = ctx_new(0);
	other = ctx_new(1);
	chan = must(channel_create(&ctx, 0));
	target = must(channel_create(&other, COMPCH_CHANNEL_COALESCE));
	cq_on(&ctx, &a, chan);
	cq_on(&other, &b, chan);
	must(prctl(PR_SET_NAME, name));

	check_case("new");
	ok(channel_id(target) != channel_id(chan));
	channel_line(chan, line, sizeof(line));
	has(line, "device=compch_test0 state=open flags=0 cqs=2 pending=0 "
	    "reported=0 merged=0 discarded=0 wakeups=0 longest=0 cancels=0 "
	    "idle_ms=- pid=%d comm=%s", getpid(), ESCAPED);
	channel_line(target, line, sizeof(line));
	has(line, "device=compch_test1 flags=%x cqs=0", COMPCH_CHANNEL_COALESCE);
	eq(cq_line(&b, line, sizeof(line)), 1);
	has(line, "device=compch_test1 channel=%lld pending=0 reported=0 "
	    "merged=0 longest=0 idle_ms=- pid=%d comm=%s", channel_id(chan),
	    getpid(), ESCAPED);
	ok(number(line, "cqn") >= 0);

	check_case("pending");
	eq(fire(&a, 5), 0);
	eq(fire(&b, 1), 0);
	channel_line(chan, line, sizeof(line));
	has(line, "pending=6 reported=0 longest=2 idle_ms=-");
	eq(cq_line(&a, line, sizeof(line)), 1);
	has(line, "pending=5 reported=0 longest=5 idle_ms=-");

	check_case("read");
	eq(rd(chan, events, 3 * DESC_SIZE), 3 * DESC_SIZE);
	channel_line(chan, line, sizeof(line));
	has(line, "pending=3 reported=3 longest=2");
	ok(number(line, "idle_ms") >= 0 && number(line, "idle_ms") < 60000);
	eq(rd(chan, events, sizeof(events)), 3 * DESC_SIZE);
	eq(cq_line(&a, line, sizeof(line)), 1);
	has(line, "pending=0 reported=5 longest=5");
	ok(number(line, "idle_ms") >= 0 && number(line, "idle_ms") < 60000);
	eq(cq_line(&b, line, sizeof(line)), 1);
	has(line, "pending=0 reported=1 longest=1");
	usleep(300000);
	eq(cq_line(&b, line, sizeof(line)), 1);
	ok(number(line, "idle_ms") >= 300);

	check_case("moved and merged");
	eq(fire(&a, 4), 0);
	must(assoc_move(&a, target));
	channel_line(chan, line, sizeof(line));
	has(line, "cqs=1 pending=0 merged=3");
	channel_line(target, line, sizeof(line));
	has(line, "cqs=1 pending=1 merged=0 longest=1");
	eq(fire(&a, 1), 0);
	eq(cq_line(&a, line, sizeof(line)), 1);
	has(line, "channel=%lld pending=1 merged=4 longest=5",
	    channel_id(target));
	channel_line(target, line, sizeof(line));
	has(line, "pending=1 reported=0 merged=1");
	eq(rd(target, events, sizeof(events)), DESC_SIZE);
	channel_line(target, line, sizeof(line));
	has(line, "pending=0 reported=1 merged=1");

	check_case("cancelled, discarded, closed");
	eq(channel_cancel(&ctx, chan), 0);
	eq(fire(&b, 2), 0);
	must(assoc_destroy(&b, 0, NULL));
	eq(cq_line(&b, line, sizeof(line)), 0);
	channel_line(chan, line, sizeof(line));
	has(line, "state=open cqs=0 pending=0 discarded=2 cancels=1");
	ctx_close(&ctx);
	channel_line(chan, line, sizeof(line));
	has(line, "state=closed device=compch_test0");
	close(chan);
	ctx_close(&other);
	close(target);
	check_case(" ");
}

/* Each event wakes one reader, and one that finds events wakes nobody. */
static void wakeups(void)
{
	struct ib_uverbs_comp_event_desc event;
	struct reader readers[2];
	struct ctx ctx = ctx_new(0);
	char line[1024];
	struct cq cq;
	int chan, i;

	chan = must(channel_create(&ctx, 0));
	cq_on(&ctx, &cq, chan);
	eq(fire(&cq, 1), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	channel_line(chan, line, sizeof(line));
	has(line, "wakeups=0");
	for (i = 0; i < 2; i++)
		reader_start(&readers[i], chan, DESC_SIZE);
	eq(fire(&cq, 1), 0);
	eventually(reader_done(&readers[0]) || reader_done(&readers[1]));
	channel_line(chan, line, sizeof(line));
	has(line, "wakeups=1");
	eq(channel_cancel(&ctx, chan), 0);
	for (i = 0; i < 2; i++)
		reader_end(&readers[i]);
	channel_line(chan, line, sizeof(line));
	has(line, "wakeups=2");
	ctx_close(&ctx);
	close(chan);
}

static bool stop;

/* Associations of @arg's CQs come and go, as does a channel. */
static void *churn(void *arg)
{
	struct ctx ctx = ctx_new(1);
	struct cq cqs[16];
	unsigned int i = 0;
	int chan;

	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		must(cq_create(&ctx, &cqs[i], -1));
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		chan = must(channel_create(&ctx, 0));
		for (i = 0; i < ARRAY_SIZE(cqs); i++)
			must(assoc_create(&cqs[i], chan));
		for (i = 0; i < ARRAY_SIZE(cqs); i++)
			must(assoc_destroy(&cqs[i], 0, NULL));
		close(chan);
	}
	ctx_close(&ctx);
	return arg;
}

/*
 * Is each line of @many there once?  @key has the numbers from @first on as its
 * value.
 */
static void complete(const char *path, size_t piece, const char *key,
		     uint64_t first)
{
	static unsigned char seen[MANY];
	char *text = file_all(path, piece), *next = text, *line;
	unsigned int i, once = 0;
	uint64_t value;
	char *at;

	check_case("%s, in pieces of %zu", path, piece);
	memset(seen, 0, sizeof(seen));
	while ((line = strsep(&next, "\n"))) {
		at = strstr(line, key);
		if (!at)
			continue;
		value = strtoull(at + strlen(key), NULL, 0) - first;
		if (value < MANY && seen[value] < 2)
			seen[value]++;
	}
	for (i = 0; i < MANY; i++)
		once += seen[i] == 1;
	eq(once, MANY);
	check_case(" ");
	free(text);
}

static void many(void)
{
	struct cq *cqs = calloc(MANY, sizeof(*cqs));
	struct ctx ctx = ctx_new(0);
	pthread_t thread;
	int chan, i;

	must(cqs ? 0 : -ENOMEM);
	chan = must(channel_create(&ctx, 0));
	for (i = 0; i < MANY; i++) {
		must(cq_create(&ctx, &cqs[i], -1));
		must(assoc_create_cookie(&cqs[i], chan, 1000000 + i));
	}
	must(-pthread_create(&thread, NULL, churn, NULL));
	complete(DIR "cqs", 65536, " cookie=", 1000000);
	complete(DIR "cqs", 1000, " cookie=", 1000000);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	must(-pthread_join(thread, NULL));
	ctx_close(&ctx);
	close(chan);
	free(cqs);
}

int main(int argc, char **argv)
{
	abi_init(argc, argv, NULL);
	modes();
	fields();
	wakeups();
	deadline(120);
	many();
	return abi_done();
}
