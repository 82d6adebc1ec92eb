/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From names to files: programs, libraries, what a process maps. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/elf/object.h"
#include "engine/files/ldcache.h"
#include "engine/files/library.h"
#include "engine/files/locate.h"
#include "tests/unit/fixture_file.h"

static struct ubp_err err;

/* --- helpers -------------------------------------------------------------------- */

static void locate_ok(const char *target, pid_t pid, char **path, char **open_path)
{
	int rc;

	*path = *open_path = NULL;
	ubp_err_reset(&err);
	rc = object_locate(target, pid, path, open_path, &err);
	if (rc != 0)
		print_error("%s: %s\n", target, err.text);
	assert_int_equal(rc, 0);
}

/* @target is the file at @want, and opens as an object. */
static void locates(const char *target, pid_t pid, const char *want)
{
	char *path, *open_path;
	struct object *object = NULL;
	struct stat st;

	locate_ok(target, pid, &path, &open_path);
	assert_int_equal(stat(want, &st), 0);
	assert_int_equal(object_open(open_path, &object, &err), 0);
	if (object_ino(object) != st.st_ino)
		print_error("%s is %s (%s), not %s\n", target, path, open_path, want);
	assert_int_equal(object_ino(object), st.st_ino);
	assert_int_equal(object_dev(object), st.st_dev);
	object_free(object);
	free(path);
	free(open_path);
}

static void locate_fails(const char *target, pid_t pid, int code, const char *part)
{
	char *path = NULL, *open_path = NULL;
	int rc;

	ubp_err_reset(&err);
	rc = object_locate(target, pid, &path, &open_path, &err);
	if (rc != -code || !strstr(err.text, part))
		print_error("%s: %d: '%s' has no '%s'\n", target, rc, err.text, part);
	assert_int_equal(rc, -code);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.text, part));
	assert_null(path);
	assert_null(open_path);
}

static char *read_whole(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return bytes;
}

static void write_whole(const char *path, const void *bytes, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void copy_file(const char *from, const char *to)
{
	size_t len;
	char *bytes = read_whole(from, &len);

	write_whole(to, bytes, len, 0755);
	free(bytes);
}

static char *here(const char *name)
{
	static char path[2 * PATH_MAX];
	char folder[PATH_MAX];

	assert_non_null(getcwd(folder, sizeof(folder)));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* A process that has said "ready" and waits for a line or the end of its input. */
struct guest {
	pid_t pid;
	int in;
};

/* @root: NULL, or where it is locked in; @path is inside then. @preload: or NULL. */
static struct guest start(const char *path, const char *root, const char *preload)
{
	int to[2], from[2];
	struct guest guest;
	char line[16] = "";

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	guest.pid = fork();
	if (guest.pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		if (root && (chroot(root) < 0 || chdir("/") < 0))
			_exit(3);
		execl(path, path, "wait", NULL);
		_exit(4);
	}
	close(to[0]);
	close(from[1]);
	guest.in = to[1];
	assert_int_equal(read(from[0], line, sizeof(line) - 1), 6);
	assert_string_equal(line, "ready\n");
	close(from[0]);
	return guest;
}

static void finish(struct guest guest)
{
	close(guest.in);
	assert_int_equal(waitpid(guest.pid, NULL, 0), guest.pid);
}

/* --- names ------------------------------------------------------------------------ */

static void test_library_names(void **state)
{
	static const struct {
		const char *file, *wanted;
		enum library_fit fit;
	} cases[] = {
		{ "libc.so.6", "libc.so.6", FIT_EXACT },
		{ "libc.so.6", "libc.so", FIT_LOOSE },
		{ "libc.so.6", "libc", FIT_LOOSE },
		{ "libc.so.6", "c", FIT_LOOSE },
		{ "libc.so.6", "c.so.6", FIT_LOOSE },
		{ "libc.so.6", "lib", FIT_NONE },
		{ "libc.so.6", "", FIT_NONE },
		{ "libc.so.6", "libc.so.", FIT_NONE },
		{ "libc-2.31.so", "libc", FIT_LOOSE },
		{ "libm-2.31.so", "libm-2.31", FIT_LOOSE },
		{ "libm-2.31.so", "libm-2.31.so", FIT_EXACT },
		{ "libm-2.31.so", "libm-2.3", FIT_NONE },
		{ "libc-client.so.2007", "libc", FIT_NONE },
		{ "libcap.so.2", "libc", FIT_NONE },
		{ "libz.so.1.2.13", "libz.so.1", FIT_LOOSE },
		{ "libz.so.1.2.13", "z", FIT_LOOSE },
		{ "libz.so.12", "libz.so.1", FIT_NONE },
		{ "libstdc++.so.6.0.30", "libstdc++", FIT_LOOSE },
		{ "libstdc++.so.6.0.30-gdb.py", "libstdc++.so.6.0.30", FIT_NONE },
		{ "ld-linux-x86-64.so.2", "ld-linux-x86-64", FIT_LOOSE },
		{ "bash", "bash", FIT_EXACT },
		{ "bash", "bas", FIT_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (library_fits(cases[i].file, cases[i].wanted) != cases[i].fit)
			fail_msg("%s for %s", cases[i].file, cases[i].wanted);
}

static void test_paths(void **state)
{
	char *path, *open_path;

	(void)state;
	locates("/bin/bash", 0, "/bin/bash");
	copy_file("/bin/true", "a_copy");
	locate_ok("./a_copy", 0, &path, &open_path);
	assert_string_equal(path, "./a_copy");
	assert_string_equal(open_path, "./a_copy");
	free(path);
	free(open_path);
	locate_fails("/nonexistent/x", 0, ENOENT, "/nonexistent/x: No such file");
	locate_fails("/etc/", 0, EINVAL, "a directory");
	locate_fails("/dev/null", 0, EINVAL, "no regular file");
	locate_fails("", 0, ENOENT, "no name");
}

static void test_programs(void **state)
{
	const char *old = getenv("PATH");
	char *path, *open_path, *kept = strdup(old), *with_here = NULL;

	(void)state;
	locates("bash", 0, "/bin/bash");
	locates("python3", 0, "/usr/bin/python3.11");
	locate_fails("ldd", 0, ENOEXEC, "/ldd, a script, not an ELF file");
	locate_fails("bahs", 0, ENOENT, "'bash'");
	locate_fails("no-such-program-at-all", 0, ENOENT,
		     "no program or library 'no-such-program-at-all'");
	assert_null(strstr(err.text, "did you mean"));
	/* A program goes before a library; scripts and unexecutable files don't count. */
	assert_true(asprintf(&with_here, "%s:", here("first")) > 0);
	assert_int_equal(mkdir("first", 0755), 0);
	assert_int_equal(mkdir("second", 0755), 0);
	setenv("PATH", with_here, 1);
	free(with_here);
	assert_true(asprintf(&with_here, "%s%s", getenv("PATH"), here("second")) > 0);
	setenv("PATH", with_here, 1);
	locates("libc", 0, libc_path());
	write_whole("first/libc", "#!/bin/sh\n", 10, 0755);
	locates("libc", 0, libc_path());
	copy_file("/bin/true", "second/libc");
	assert_int_equal(chmod("second/libc", 0644), 0);
	locates("libc", 0, libc_path());
	assert_int_equal(chmod("second/libc", 0755), 0);
	locate_ok("libc", 0, &path, &open_path);
	assert_string_equal(path, here("second/libc"));
	free(path);
	free(open_path);
	unsetenv("PATH");
	locates("bash", 0, "/bin/bash");
	setenv("PATH", kept, 1);
	free(kept);
	free(with_here);
}

/* Beside the C library. */
static const char *libm_path(void)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", libc_path());
	strcpy(strrchr(path, '/') + 1, "libm.so.6");
	return path;
}

static void test_libraries(void **state)
{
	static const char *const names[] = { "libc", "libc.so", "libc.so.6", "c" };
	const char *loader;
	char without[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		locates(names[i], 0, libc_path());
	locates("libm", 0, libm_path());
	loader = strrchr(loader_path(), '/') + 1;
	locates(loader, 0, loader_path());
	snprintf(without, sizeof(without), "%.*s", (int)(strstr(loader, ".so") - loader),
		 loader);
	locates(without, 0, loader_path());
	locate_fails("libpthraed", 0, ENOENT, "'libpthread'");
	locate_fails("libc.so.7", 0, ENOENT, "'libc.so.6'");
}

/* A library built for another machine, which is none of ours: the same file, but for its header. */
static void write_foreign(const char *from, const char *to)
{
	size_t len;
	char *bytes = read_whole(from, &len);

	((Elf64_Ehdr *)bytes)->e_machine = EM_SPARCV9;
	write_whole(to, bytes, len, 0755);
	free(bytes);
}

static void test_several_libraries(void **state)
{
	(void)state;
	assert_int_equal(mkdir("libs", 0755), 0);
	assert_int_equal(mkdir("more", 0755), 0);
	setenv("LD_LIBRARY_PATH", "libs:more", 1);
	write_whole("libs/libubpobj.so", "INPUT(libubpobj.so.1)\n", 22, 0644);
	locate_fails("libubpobj", 0, ENOENT, "no program or library 'libubpobj'");
	write_foreign(fixture_path("obj_versions"), "libs/libubpobj.so.1");
	locate_fails("libubpobj.so.1", 0, ENOENT, "no program or library");
	copy_file(fixture_path("obj_versions"), "more/libubpobj.so.1");
	locates("libubpobj", 0, "more/libubpobj.so.1");
	locates("libubpobj.so", 0, "more/libubpobj.so.1");
	/* One file under two names is one library; the first of one name hides others. */
	assert_int_equal(symlink("libubpobj.so.1", "more/libubpobj.so.1.0"), 0);
	locates("ubpobj", 0, "more/libubpobj.so.1");
	copy_file(fixture_path("obj_versions"), "libs/libubpobj.so.1");
	locates("libubpobj.so.1", 0, "libs/libubpobj.so.1");
	assert_int_equal(unlink("more/libubpobj.so.1.0"), 0);
	copy_file(fixture_path("obj_versions"), "more/libubpobj.so.2");
	locate_fails("libubpobj", 0, EEXIST, "libs/libubpobj.so.1, more/libubpobj.so.2");
	locates("libubpobj.so.2", 0, "more/libubpobj.so.2");
	locates("libubpobj.so.1", 0, "libs/libubpobj.so.1");
	/* The linker's name for one of them chooses it. */
	assert_int_equal(unlink("libs/libubpobj.so"), 0);
	assert_int_equal(symlink("../more/libubpobj.so.2", "libs/libubpobj.so"), 0);
	locates("libubpobj.so", 0, "more/libubpobj.so.2");
	unsetenv("LD_LIBRARY_PATH");
}

/* --- the loader's cache --------------------------------------------------------- */

static void test_cache(void **state)
{
	struct ldcache cache = { 0 };
	size_t n = 0;
	char line[1024];
	FILE *f = popen("PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep ' => '", "r");

	(void)state;
	assert_int_equal(ldcache_read("/etc/ld.so.cache", &cache), 0);
	assert_non_null(f);
	/* The same names and paths, in the same order. */
	while (fgets(line, sizeof(line), f)) {
		char *path = strstr(line, " => ") + 4;

		assert_true(n < cache.n);
		path[strcspn(path, "\n")] = '\0';
		assert_string_equal(cache.entries[n].path, path);
		assert_memory_equal(cache.entries[n].name, line + 1,
				    strlen(cache.entries[n].name));
		n++;
	}
	pclose(f);
	assert_int_equal(n, cache.n);
	assert_true(n > 0);
	ldcache_free(&cache);
	assert_int_equal(ldcache_read("/nonexistent", &cache), -ENOENT);
	assert_int_equal(ldcache_read("/etc", &cache), -EINVAL);
}

static void put32(char *bytes, size_t at, uint32_t number)
{
	memcpy(bytes + at, &number, sizeof(number));
}

/* Two entries, one of them for another kind of file; behind the old format. */
static size_t make_cache(char *bytes, uint32_t n_old)
{
	size_t start = n_old ? (16 + 12 * n_old + 7) & ~7u : 0;
	char *base = bytes + start;

	memset(bytes, 0, 512);
	if (n_old) {
		memcpy(bytes, "ld.so-1.7.0", 11);
		put32(bytes, 12, n_old);
	}
	memcpy(base, "glibc-ld.so.cache1.1", 20);
	put32(base, 20, 2);
	put32(base, 48, 0x0303);
	put32(base, 52, 100);
	put32(base, 56, 110);
	put32(base, 72, 0);
	put32(base, 76, 100);
	put32(base, 80, 110);
	memcpy(base + 100, "libx.so.1", 10);
	memcpy(base + 110, "/x/libx.so.1", 13);
	return start + 123;
}

static void test_made_cache(void **state)
{
	struct ldcache cache;
	char bytes[512];
	size_t len;

	(void)state;
	for (uint32_t n_old = 0; n_old < 4; n_old++) {
		len = make_cache(bytes, n_old);
		write_whole("cache", bytes, len, 0644);
		assert_int_equal(ldcache_read("cache", &cache), 0);
		assert_int_equal(cache.n, 1);
		assert_string_equal(cache.entries[0].name, "libx.so.1");
		assert_string_equal(cache.entries[0].path, "/x/libx.so.1");
		ldcache_free(&cache);
	}
	/* Cut anywhere, or with numbers that lead out of it: fewer entries, no harm. */
	for (uint32_t n_old = 0; n_old < 4; n_old++)
		for (len = make_cache(bytes, n_old); len-- > 0;) {
			write_whole("cache", bytes, len, 0644);
			assert_int_equal(ldcache_read("cache", &cache), 0);
			for (size_t i = 0; i < cache.n; i++)
				assert_true(strlen(cache.entries[i].path) < 20);
			ldcache_free(&cache);
		}
	len = make_cache(bytes, 2);
	for (size_t at = 11; at + 4 <= len; at++) {
		char broken[512];

		memcpy(broken, bytes, sizeof(broken));
		put32(broken, at, UINT32_MAX - (uint32_t)at);
		write_whole("cache", broken, len, 0644);
		assert_int_equal(ldcache_read("cache", &cache), 0);
		for (size_t i = 0; i < cache.n; i++)
			assert_true(strlen(cache.entries[i].path) < len);
		ldcache_free(&cache);
	}
}

/* --- processes --------------------------------------------------------------------- */

static void test_process(void **state)
{
	struct guest guest = start(fixture_path("obj_funcs"), NULL, NULL);
	char *path, *open_path;

	(void)state;
	locates("obj_funcs", guest.pid, fixture_path("obj_funcs"));
	locates(fixture_path("obj_funcs"), guest.pid, fixture_path("obj_funcs"));
	locates("libc", guest.pid, libc_path());
	locates("libc.so.6", guest.pid, libc_path());
	locates(libc_path(), guest.pid, libc_path());
	locates(strrchr(loader_path(), '/') + 1, guest.pid, loader_path());
	/* Not mapped, but there: may be loaded later, or run by exec. */
	locates("bash", guest.pid, "/bin/bash");
	locates("/bin/bash", guest.pid, "/bin/bash");
	locates("libm", guest.pid, libm_path());
	locate_ok("libc", guest.pid, &path, &open_path);
	assert_string_equal(path, open_path);
	free(path);
	free(open_path);
	locate_fails("/nonexistent/x", guest.pid, ENOENT, "/nonexistent/x: No such file");
	locate_fails("libobj_nothing", guest.pid, ENOENT, "for process");
	finish(guest);
}

static void test_deleted(void **state)
{
	struct guest guest;
	char *path, *open_path, *program;

	(void)state;
	if (geteuid() != 0)
		skip();
	copy_file(fixture_path("obj_funcs"), "doomed");
	copy_file(fixture_path("obj_versions"), "libdoomed.so.1");
	program = strdup(here("doomed"));
	guest = start(program, NULL, here("libdoomed.so.1"));
	assert_int_equal(link("doomed", "kept"), 0);
	assert_int_equal(link("libdoomed.so.1", "libkept"), 0);
	assert_int_equal(unlink("doomed"), 0);
	assert_int_equal(unlink("libdoomed.so.1"), 0);
	locates("doomed", guest.pid, "kept");
	locates(program, guest.pid, "kept");
	locates("libdoomed", guest.pid, "libkept");
	locates(here("libdoomed.so.1"), guest.pid, "libkept");
	/* Another file stands there now: the process has the old one. */
	copy_file("/bin/true", "doomed");
	copy_file("/bin/true", "libdoomed.so.1");
	locates("doomed", guest.pid, "kept");
	locates("./doomed", guest.pid, "kept");
	locates("libdoomed.so.1", guest.pid, "libkept");
	locate_ok("doomed", guest.pid, &path, &open_path);
	assert_string_equal(path, program);
	free(path);
	free(open_path);
	finish(guest);
	free(program);
}

/* Names of libraries as they call themselves. */
static void test_soname(void **state)
{
	struct guest guest;

	(void)state;
	copy_file(fixture_path("obj_versions"), "odd-file.so");
	guest = start(fixture_path("obj_funcs"), NULL, here("odd-file.so"));
	locates("libubpobj.so.1", guest.pid, "odd-file.so");
	locates("ubpobj", guest.pid, "odd-file.so");
	locates("odd-file.so", guest.pid, "odd-file.so");
	finish(guest);
}

static void test_other_root(void **state)
{
	struct guest guest;
	char *path, *open_path, want[PATH_MAX];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir("jail", 0755), 0);
	assert_int_equal(mkdir("jail/bin", 0755), 0);
	assert_int_equal(mkdir("jail/real", 0755), 0);
	copy_file(fixture_path("obj_static"), "jail/bin/guest");
	copy_file("/bin/true", "jail/real/tool");
	/* An absolute link, an upward one, and one in a circle: all within the jail. */
	assert_int_equal(symlink("/real", "jail/link"), 0);
	assert_int_equal(symlink("../../../../real/tool", "jail/bin/up"), 0);
	assert_int_equal(symlink("/circle", "jail/circle"), 0);
	guest = start("/bin/guest", "jail", NULL);
	locates("guest", guest.pid, "jail/bin/guest");
	locates("/bin/guest", guest.pid, "jail/bin/guest");
	locate_ok("/link/tool", guest.pid, &path, &open_path);
	assert_string_equal(path, "/link/tool");
	snprintf(want, sizeof(want), "/proc/%d/root/real/tool", guest.pid);
	assert_string_equal(open_path, want);
	free(path);
	free(open_path);
	locates("/bin/up", guest.pid, "jail/real/tool");
	locate_fails("/circle", guest.pid, ELOOP, "/circle in the root of");
	locate_fails("/bin/bash", guest.pid, ENOENT, "in the root of process");
	locate_fails("bash", guest.pid, ENOENT, "no program or library 'bash' for process");
	locate_fails("libc", guest.pid, ENOENT, "no program or library 'libc' for process");
	finish(guest);
}

static void test_no_process(void **state)
{
	char text[64];
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	/* A zombie first; then nothing. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	locate_fails("libc", pid, ESRCH, "has no memory");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(text, sizeof(text), "no process %d", pid);
	locate_fails("libc", pid, ESRCH, text);
	locate_fails("/bin/bash", pid, ESRCH, text);
	locate_fails("/bin/bash", -5, ESRCH, "no process -5");
}

static void test_forbidden(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		char *path, *open_path;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		ubp_err_reset(&err);
		_exit(object_locate("libc", getppid(), &path, &open_path, &err) == -EACCES &&
				      strstr(err.text, "same user, or with CAP_SYS_PTRACE")
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library_names),     cmocka_unit_test(test_paths),
		cmocka_unit_test(test_programs),          cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_several_libraries), cmocka_unit_test(test_cache),
		cmocka_unit_test(test_made_cache),        cmocka_unit_test(test_process),
		cmocka_unit_test(test_deleted),           cmocka_unit_test(test_soname),
		cmocka_unit_test(test_other_root),        cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_forbidden),
	};

	if (!system_is_of_this_kind()) {
		puts("the system's programs and libraries have another word size");
		return 77;
	}
	return cmocka_run_group_tests_name("locate", tests, NULL, NULL);
}
