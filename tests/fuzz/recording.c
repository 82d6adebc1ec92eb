/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: a recording's file, which may come from elsewhere. The first byte of the input says whether checks are made right, so that what
 * is in blocks is read, too; the rest is the file. All that is read is printed in all forms.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/recording/block.h"
#include "engine/recording/format.h"
#include "engine/ubp_event.h"
#include "engine/ubp_recording.h"

#define UNPACKED_MAX (1u << 20) /* of a block, where its head is made right */

static const struct form {
	const char *name;
	enum { TEXT, JSON_LINES, JSON_WHOLE, BINARY } what;
} forms[] = {
	{ "text", TEXT },         { "json", JSON_LINES }, { "folded", TEXT },
	{ "csv", TEXT },          { "stats", TEXT },      { "stats-json", JSON_WHOLE },
	{ "chrome", JSON_WHOLE }, { "perfetto", BINARY }, { "pprof", BINARY },
	{ "ctf", BINARY },        { "tree", TEXT },
};
#define N_FORMS (sizeof(forms) / sizeof(forms[0]))

struct printed {
	struct ubp_sink *sinks[N_FORMS];
	FILE *whole[N_FORMS]; /* what JSON_WHOLE has given so far */
	char *texts[N_FORMS];
	size_t lens[N_FORMS];
	uint64_t time;
};

static void repair_head(uint8_t *file, size_t len)
{
	struct recording_head head;

	if (len < sizeof(head))
		return;
	memcpy(&head, file, sizeof(head));
	memcpy(head.magic, RECORDING_MAGIC, sizeof(head.magic));
	head.version = RECORDING_VERSION;
	head.order = RECORDING_ORDER;
	memcpy(file, &head, sizeof(head));
}

/* Whatever stands there becomes a block, whose check is right. */
static void repair_blocks(uint8_t *file, size_t len)
{
	size_t at = sizeof(struct recording_head);
	struct recording_block block;

	while (at + sizeof(block) <= len) {
		size_t left = len - at - sizeof(block);

		/* Of a recording that was appended. */
		if (memcmp(file + at, RECORDING_MAGIC, sizeof(RECORDING_MAGIC) - 1) == 0) {
			repair_head(file + at, len - at);
			at += sizeof(struct recording_head);
			continue;
		}
		memcpy(&block, file + at, sizeof(block));
		block.magic = RECORDING_BLOCK;
		block.flags &= RECORDING_ZSTD;
		if (block.stored > left)
			block.stored = (uint32_t)left;
		block.size %= UNPACKED_MAX;
		if (!block.flags)
			block.size = block.stored;
		block.check = block_check(&block, file + at + sizeof(block));
		memcpy(file + at, &block, sizeof(block));
		at += sizeof(block) + block.stored + block_padding(block.stored);
	}
}

static int make_file(const uint8_t *file, size_t len)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);

	CLAIM(fd >= 0);
	CLAIM(write(fd, file, len) == (ssize_t)len);
	return fd;
}

static void check_json(const char *text, size_t len)
{
	json_t *root = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);

	CLAIM(root);
	json_decref(root);
}

static void check_terminal(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		CLAIM(((uint8_t)text[i] >= ' ' && text[i] != 0x7f) || text[i] == '\n' ||
		      text[i] == '\t' ||
		      (text[i] == '\r' && i + 1 < len && text[i + 1] == '\n'));
}

static void check_given(struct printed *p, size_t i, const char *text, size_t len)
{
	if (forms[i].what == JSON_LINES && len)
		check_json(text, len);
	if (forms[i].what != BINARY)
		check_terminal(text, len);
	if (p->whole[i])
		CLAIM(fwrite(text, 1, len, p->whole[i]) == len);
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct printed *p = ctx;

	CLAIM(ubp_event_time_ns(event) >= p->time);
	p->time = ubp_event_time_ns(event);
	for (size_t i = 0; i < N_FORMS; i++) {
		size_t len;
		const char *text = ubp_sink_event(p->sinks[i], event, &len);

		check_given(p, i, text, len);
	}
	return 0;
}

static void print_all(struct ubp_recording *recording)
{
	struct printed p = { .time = 0 };
	struct ubp_err err;
	size_t len;
	int n;

	ubp_err_reset(&err);
	for (size_t i = 0; i < N_FORMS; i++) {
		struct ubp_sink_options options = { .form = forms[i].name };
		const char *text;

		CLAIM(ubp_recording_sink(recording, &options, &p.sinks[i], &err) == 0);
		if (forms[i].what == JSON_WHOLE)
			p.whole[i] = open_memstream(&p.texts[i], &p.lens[i]);
		text = ubp_sink_begin(p.sinks[i], &len);
		check_given(&p, i, text, len);
	}
	while ((n = ubp_recording_read(recording, on_event, &p, 1000, &err)) > 0)
		;
	CLAIM(n == 0 || n == -ENOMEM);
	for (size_t i = 0; i < N_FORMS; i++) {
		const char *text = ubp_sink_end(p.sinks[i], &len);

		check_given(&p, i, text, len);
		if (p.whole[i]) {
			(void)fclose(p.whole[i]);
			check_json(p.texts[i], p.lens[i]);
			free(p.texts[i]);
		}
		text = ubp_sink_beside(p.sinks[i], &len);
		if (len)
			check_terminal(text, len);
		if (i)
			(void)ubp_sink_diff(p.sinks[i], p.sinks[i], &len);
		ubp_sink_free(p.sinks[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ubp_recording *recording;
	struct ubp_recording_damage damage;
	struct ubp_recording_info info;
	struct ubp_err err;
	char path[32];
	uint8_t *file;
	int fd;

	if (!size)
		return 0;
	file = fuzz_copy(data + 1, size - 1);
	if (data[0] & 1) {
		repair_head(file, size - 1);
		repair_blocks(file, size - 1);
	}
	fd = make_file(file, size - 1);
	free(file);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ubp_err_reset(&err);
	if (ubp_recording_open(path, &recording, &err) == 0) {
		print_all(recording);
		ubp_recording_info(recording, &info);
		ubp_recording_damage(recording, &damage);
		CLAIM(damage.bytes <= size);
		ubp_recording_free(recording);
	} else {
		CLAIM(err.text[0] != '\0');
	}
	close(fd);
	return 0;
}
