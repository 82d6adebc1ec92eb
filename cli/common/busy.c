/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/busy.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "engine/base/escape.h"
#include "engine/base/quiet_thread.h"

#define WHAT_MAX 200
#define ERASE    "\r\033[K"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t over;
	pthread_t thread;
	bool runs, is_over, is_shown;
	unsigned seconds;
	char what[ESCAPE_BYTE_MAX * WHAT_MAX + 1];
} busy = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_watched(void)
{
	return isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static int columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void show(void)
{
	char line[WHAT_MAX + 64];

	(void)snprintf(line, sizeof(line), "%s: %.*s (%u s)", cli_program, WHAT_MAX, busy.what,
		       busy.seconds);
	(void)fprintf(stderr, ERASE "%.*s", columns() - 1, line);
	(void)fflush(stderr);
	busy.is_shown = true;
}

static void hide(void)
{
	if (!busy.is_shown)
		return;
	(void)fputs(ERASE, stderr);
	(void)fflush(stderr);
	busy.is_shown = false;
}

static void *tick(void *arg)
{
	struct timespec next;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&busy.lock);
	while (!busy.is_over) {
		next.tv_sec++;
		while (!busy.is_over &&
		       pthread_cond_timedwait(&busy.over, &busy.lock, &next) == 0)
			;
		busy.seconds++;
		if (!busy.is_over && is_watched())
			show();
	}
	hide();
	pthread_mutex_unlock(&busy.lock);
	return NULL;
}

static void set_what(const char *fmt, va_list ap)
{
	char text[WHAT_MAX];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	*escape_put_line(busy.what, text, strlen(text)) = '\0';
}

/* Something else is to be printed: the line comes again behind it. */
static void make_room(void)
{
	pthread_mutex_lock(&busy.lock);
	hide();
	pthread_mutex_unlock(&busy.lock);
}

void busy_begin(const char *fmt, ...)
{
	pthread_condattr_t attr;
	va_list ap;

	if (busy.runs || !is_watched())
		return;
	va_start(ap, fmt);
	set_what(fmt, ap);
	va_end(ap);
	busy.is_over = busy.is_shown = false;
	busy.seconds = 0;
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&busy.over, &attr);
	busy.runs = quiet_thread_create(&busy.thread, tick, NULL) == 0;
	cli_messages_behind(busy.runs ? make_room : NULL);
}

void busy_with(const char *fmt, ...)
{
	va_list ap;

	if (!busy.runs)
		return;
	pthread_mutex_lock(&busy.lock);
	va_start(ap, fmt);
	set_what(fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&busy.lock);
}

void busy_end(void)
{
	if (!busy.runs)
		return;
	pthread_mutex_lock(&busy.lock);
	busy.is_over = true;
	pthread_cond_signal(&busy.over);
	pthread_mutex_unlock(&busy.lock);
	pthread_join(busy.thread, NULL);
	busy.runs = false;
	cli_messages_behind(NULL);
}
