/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which of all processes are traced: who is meant by a user, and by a control group; when that may be said. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/proc.h"
#include "engine/session/whom.h"
#include "engine/ubp_whom.h"

static void users(void **state)
{
	struct whom whom = { 0 };

	(void)state;
	assert_true(whom_has(&whom, getpid()));
	whom = (struct whom){ .of_user = true, .user = geteuid() };
	assert_true(whom_has(&whom, getpid()));
	assert_true(whom_has(&whom, gettid()));
	whom.user++;
	assert_false(whom_has(&whom, getpid()));
	/* Nobody has this number. */
	whom.user = geteuid();
	assert_false(whom_has(&whom, INT32_MAX));
}

static bool is_in(const char *cgroup)
{
	struct whom whom = { 0 };
	struct ubp_err err;
	bool is;

	assert_int_equal(0, whom_set_cgroup(&whom, cgroup, &err));
	is = whom_has(&whom, getpid());
	whom_free(&whom);
	assert_null(whom.cgroup);
	return is;
}

/* By each line of our own, with each of its controllers; and not by what only begins so. */
static void cgroups(void **state)
{
	char text[4096], group[4200], *save, *line;

	(void)state;
	if (!proc_read("/proc/self/cgroup", text, sizeof(text)))
		skip();
	assert_true(is_in("/"));
	assert_false(is_in("/no/such/group"));
	assert_false(is_in("nothing:/"));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':') + 1, *path = strchr(list, ':') + 1;

		path[-1] = '\0';
		assert_true(is_in(path));
		(void)snprintf(group, sizeof(group), "%.*s:%s", (int)strcspn(list, ","), list,
			       path);
		assert_true(is_in(group));
		(void)snprintf(group, sizeof(group), "%s:%s/",
			       strrchr(list, ',') ? strrchr(list, ',') + 1 : list, path);
		assert_true(is_in(group));
		(void)snprintf(group, sizeof(group), "%s:%s%sx", list, path,
			       path[1] ? "" : "no");
		assert_false(is_in(group));
	}
}

static void bad_groups(void **state)
{
	struct whom whom = { 0 };
	struct ubp_err err;

	(void)state;
	assert_int_equal(-EINVAL, whom_set_cgroup(&whom, "", &err));
	assert_int_equal(-EINVAL, whom_set_cgroup(&whom, "relative", &err));
	assert_int_equal(-EINVAL, whom_set_cgroup(&whom, "a/b", &err));
	assert_null(whom.cgroup);
}

static void say_whom(struct ubp_engine engine)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s;
	struct ubp_err err;
	pid_t pid = getppid();

	opt.engine = engine;
	assert_int_equal(0, ubp_session_new(&opt, &s, &err));
	assert_int_equal(0, ubp_only_user(s, geteuid(), &err));
	assert_int_equal(0, ubp_only_cgroup(s, "/", &err));
	assert_int_equal(-EINVAL, ubp_only_cgroup(s, "relative", &err));
	assert_non_null(strstr(err.text, "'relative'"));
	assert_int_equal(0, ubp_files_as(s, pid, &err));
	assert_int_equal(-ESRCH, ubp_files_as(s, INT32_MAX, &err));
	ubp_session_free(s);
	opt.pids = &pid;
	opt.n_pids = 1;
	assert_int_equal(0, ubp_session_new(&opt, &s, &err));
	assert_int_equal(-EINVAL, ubp_only_user(s, geteuid(), &err));
	assert_int_equal(-EINVAL, ubp_only_cgroup(s, "/", &err));
	ubp_session_free(s);
}

static void sessions(void **state)
{
	(void)state;
	say_whom((struct ubp_engine){ .apart = UBP_APART_NO });
}

static void engine_apart(void **state)
{
	const char *build = getenv("UBP_BUILD");
	char path[4096];

	(void)state;
	if (!build)
		skip();
	(void)snprintf(path, sizeof(path), "%s/ubp-engine", build);
	say_whom((struct ubp_engine){ .apart = UBP_APART_YES, .path = path });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users),        cmocka_unit_test(cgroups),
		cmocka_unit_test(bad_groups),   cmocka_unit_test(sessions),
		cmocka_unit_test(engine_apart),
	};

	return cmocka_run_group_tests_name("whom", tests, NULL, NULL);
}
