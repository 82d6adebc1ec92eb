/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Objects: real programs and libraries, and fixtures with one symbol of each kind. */

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"
#include "tests/unit/fixture_file.h"

static struct ubp_err err;

static struct object *open_ok(const char *path)
{
	struct object *object = NULL;
	int rc;

	ubp_err_reset(&err);
	rc = object_open(path, &object, &err);
	if (rc != 0)
		print_error("%s\n", err.text);
	assert_int_equal(rc, 0);
	return object;
}

static struct object_symbol find_ok(struct object *object, const char *name)
{
	struct object_symbol symbol;
	int rc = object_find_symbol(object, name, &symbol, &err);

	if (rc != 0)
		print_error("%s: %s\n", name, err.text);
	assert_int_equal(rc, 0);
	return symbol;
}

/* The search fails with @code and a text that has @part. */
static void find_fails(struct object *object, const char *name, int code, const char *part)
{
	struct object_symbol symbol;

	ubp_err_reset(&err);
	assert_int_equal(object_find_symbol(object, name, &symbol, &err), -code);
	assert_int_equal(err.code, code);
	if (!strstr(err.text, part))
		print_error("'%s' not in '%s'\n", part, err.text);
	assert_non_null(strstr(err.text, part));
}

static void open_fails(const char *path, int code, const char *part)
{
	struct object *object = NULL;

	ubp_err_reset(&err);
	assert_int_equal(object_open(path, &object, &err), -code);
	assert_null(object);
	if (!strstr(err.text, part))
		print_error("'%s' not in '%s'\n", part, err.text);
	assert_non_null(strstr(err.text, part));
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

/* --- what is opened ---------------------------------------------------------- */

static void test_no_elf_files(void **state)
{
	Elf64_Ehdr ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', 2, 1, 1 }, .e_type = ET_REL };

	(void)state;
	open_fails("/nonexistent/x", ENOENT, "/nonexistent/x: No such file");
	open_fails("/etc/passwd/x", ENOTDIR, "Not a directory");
	open_fails("/etc", EINVAL, "a directory");
	open_fails("/dev/null", EINVAL, "a device");
	open_fails("/etc/passwd", ENOEXEC, "a text, not an ELF file");
	assert_int_equal(mkfifo("a_fifo", 0600), 0);
	open_fails("a_fifo", EINVAL, "a pipe");
	write_file("empty", "", 0);
	open_fails("empty", ENOEXEC, "empty");
	write_file("script", "#!/bin/sh\n", 10);
	open_fails("script", ENOEXEC, "a script");
	write_file("short", &ehdr, 10);
	open_fails("short", ENOEXEC, "short: ELF file is cut short: ELF header");
	write_file("binary", "\x01\x02\x03\x04\x05", 5);
	open_fails("binary", ENOEXEC, "binary: not an ELF file");
	write_file("rel", &ehdr, sizeof(ehdr));
	open_fails("rel", ENOEXEC, "an object file");
	ehdr.e_type = ET_CORE;
	write_file("core", &ehdr, sizeof(ehdr));
	open_fails("core", ENOEXEC, "a core dump");
	assert_int_equal(symlink("loop", "loop"), 0);
	open_fails("loop", ELOOP, "loop");
}

static void test_unreadable(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	write_file("secret", "x", 1);
	assert_int_equal(chmod("secret", 0), 0);
	assert_int_equal(chmod(".", 0755), 0);
	pid = fork();
	if (pid == 0) {
		struct object *object;

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(2);
		ubp_err_reset(&err);
		/* 1: opened; 0: refused as it must be */
		_exit(object_open("secret", &object, &err) == -EACCES &&
				      strcmp(err.text, "secret: Permission denied") == 0
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_other_machine(void **state)
{
	Elf64_Ehdr ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', 2, 1, 1 },
			    .e_type = ET_EXEC,
			    .e_machine = EM_AARCH64 };
	struct object *object;
	uint64_t ignored;

	(void)state;
	write_file("arm64", &ehdr, sizeof(ehdr));
	object = open_ok("arm64");
	assert_string_equal(object_machine_name(object), "aarch64");
	assert_null(object_interp(object));
	assert_int_equal(object_find_bytes_slack(object, 1, &ignored, &ignored), -ENOSPC);
	object_free(object);
	ehdr.e_machine = 0x1234;
	write_file("odd", &ehdr, sizeof(ehdr));
	object = open_ok("odd");
	assert_null(object_arch(object));
	assert_string_equal(object_machine_name(object), "ELF machine 4660");
	object_free(object);
	/* Of one number, in two byte orders. */
	ehdr.e_machine = EM_PPC64;
	write_file("ppc64le", &ehdr, sizeof(ehdr));
	object = open_ok("ppc64le");
	assert_non_null(object_arch(object));
	assert_string_equal(object_machine_name(object), "ppc64le");
	object_free(object);
	ehdr.e_ident[EI_DATA] = ELFDATA2MSB;
	ehdr.e_type = (uint16_t)(ET_EXEC << 8);
	ehdr.e_machine = (uint16_t)(EM_PPC64 << 8);
	write_file("ppc64", &ehdr, sizeof(ehdr));
	object = open_ok("ppc64");
	assert_null(object_arch(object));
	assert_string_equal(object_machine_name(object), "ppc64");
	object_free(object);
	/* A big-endian header is read in its own order. */
	ehdr.e_ident[EI_DATA] = ELFDATA2MSB;
	ehdr.e_type = (uint16_t)(ET_EXEC << 8);
	ehdr.e_machine = (uint16_t)(EM_S390 << 8);
	write_file("big", &ehdr, sizeof(ehdr));
	object = open_ok("big");
	assert_null(object_arch(object));
	assert_string_equal(object_machine_name(object), "s390x");
	object_free(object);
	object_free(NULL);
}

static void test_i386(void **state)
{
	struct object *object;
	struct object_symbol symbol;

	(void)state;
	if (system("printf 'void here(void){} void _start(void){ for (;;) here(); }' | "
		   "gcc -m32 -nostdlib -static -ffreestanding -x c - -o m32 2> m32.err") != 0)
		skip();
	object = open_ok("m32");
	assert_string_equal(object_machine_name(object), "i386");
	symbol = find_ok(object, "here");
	assert_true(object_is_executable(object, symbol.foffset));
	object_free(object);
}

/* That of this program. */
static uint16_t machine(void)
{
	return ((const ElfW(Ehdr) *)getauxval(AT_PHDR) - 1)->e_machine;
}

static bool needs(const struct object *object, const char *soname)
{
	const char *needed;

	for (size_t i = 0; (needed = object_needed(object, i)); i++)
		if (strcmp(needed, soname) == 0)
			return true;
	return false;
}

static void test_headers(void **state)
{
	struct object *object;
	struct utsname names;
	struct stat st;

	(void)state;
	if (!system_is_of_this_kind())
		skip();
	object = open_ok("/bin/bash");
	assert_int_equal(stat("/bin/bash", &st), 0);
	assert_string_equal(object_path(object), "/bin/bash");
	assert_int_equal(object_dev(object), st.st_dev);
	assert_int_equal(object_ino(object), st.st_ino);
	assert_int_equal(object_size(object), st.st_size);
	assert_ptr_equal(object_arch(object),
			 ubp_arch_find(machine(), (uint8_t)(sizeof(void *) / 4)));
	assert_int_equal(uname(&names), 0);
	assert_string_equal(object_machine_name(object), names.machine);
	assert_true(object_is_pie(object));
	assert_string_equal(object_interp(object), loader_path());
	assert_null(object_soname(object));
	assert_true(needs(object, "libc.so.6"));
	assert_false(needs(object, "libc.so"));
	object_free(object);
	object = open_ok(libc_path());
	assert_string_equal(object_soname(object), "libc.so.6");
	object_free(object);
	object = open_ok(fixture_path("obj_static"));
	assert_false(object_is_pie(object));
	assert_null(object_interp(object));
	assert_null(object_soname(object));
	assert_false(needs(object, "libc.so.6"));
	object_free(object);
}

/* --- addresses ---------------------------------------------------------------- */

static void test_segments(void **state)
{
	struct object *object = open_ok(fixture_path("obj_nopie"));
	struct object_symbol text = find_ok(object, "plain");
	struct object_symbol init = find_ok(object, "_init");
	uint64_t back, data;
	uint8_t byte;

	(void)state;
	assert_false(object_is_pie(object));
	/* Two executable segments, at different distances from the file. */
	assert_true(text.elf_vaddr >= 0x654000);
	assert_true(text.elf_vaddr - text.foffset != init.elf_vaddr - init.foffset);
	assert_int_equal(object_foffset_to_vaddr(object, text.foffset, &back), 0);
	assert_int_equal(back, text.elf_vaddr);
	assert_int_equal(object_vaddr_to_foffset(object, init.elf_vaddr, &back), 0);
	assert_int_equal(back, init.foffset);
	assert_true(object_is_executable(object, text.foffset));
	assert_int_equal(object_symbol_value(object, "data_word", &data), 0);
	assert_int_equal(object_vaddr_to_foffset(object, data, &back), 0);
	assert_false(object_is_executable(object, back));
	assert_int_equal(object_read(object, back, &byte, 1), 1);
	assert_int_equal(byte, 7);
	assert_int_equal(object_vaddr_to_foffset(object, 0x10, &back), -ENOENT);
	assert_int_equal(object_foffset_to_vaddr(object, object_size(object), &back), -ENOENT);
	assert_int_equal(object_read(object, object_size(object), &byte, 1), 0);
	assert_int_equal(object_read(object, UINT64_MAX, &byte, 1), -EINVAL);
	object_free(object);
}

static void test_slack(void **state)
{
	const char *const paths[] = { "/bin/bash", libc_path(), loader_path(),
				      "/usr/bin/python3.11" };
	uint64_t vaddr = 0, len = 0, foffset;
	char bytes[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct object *object = open_ok(paths[i]);

		assert_int_equal(object_find_bytes_slack(object, 5000, &vaddr, &len), -ENOSPC);
		if (object_find_bytes_slack(object, 16, &vaddr, &len) < 0) {
			object_free(object);
			continue;
		}
		assert_int_equal(vaddr % 16, 0);
		assert_true(len >= 16 && len < 4096);
		assert_int_equal((vaddr + len) % 4096, 0);
		/* The cave is behind the segment, in its last page: zeroes in the file. */
		assert_int_equal(object_vaddr_to_foffset(object, vaddr, &foffset), -ENOENT);
		assert_int_equal(object_vaddr_to_foffset(object, vaddr - 16, &foffset), 0);
		assert_true(object_is_executable(object, foffset));
		assert_int_equal(object_read(object, foffset + 16, bytes, len), len);
		for (size_t k = 0; k < len; k++)
			assert_int_equal(bytes[k], 0);
		object_free(object);
	}
	assert_true(len != 0); /* at least one of them has a cave */
}

/* --- symbols by name ----------------------------------------------------------- */

static void test_kinds(void **state)
{
	struct object *object = open_ok(fixture_path("obj_funcs"));
	struct object_symbol plain = find_ok(object, "plain"), other;

	(void)state;
	assert_string_equal(plain.name, "plain");
	assert_null(plain.version);
	assert_true(plain.is_function && plain.is_global && !plain.is_ifunc);
	assert_true(plain.size > 0);
	other = find_ok(object, "weak_plain");
	assert_int_equal(other.elf_vaddr, plain.elf_vaddr);
	assert_string_equal(other.name, "weak_plain");
	other = find_ok(object, "only_here");
	assert_true(other.is_function && !other.is_global);
	assert_true(object_is_executable(object, find_ok(object, "hot_one").foffset));
	assert_true(object_is_executable(object, find_ok(object, "in_own_section").foffset));
	other = find_ok(object, "bare_label");
	assert_false(other.is_function);
	assert_int_equal(other.size, 0);
	other = find_ok(object, "by_ifunc");
	assert_true(other.is_ifunc);
	assert_int_equal(other.elf_vaddr, find_ok(object, "pick_one").elf_vaddr);
	object_free(object);
}

static void test_not_found(void **state)
{
	struct object *object = open_ok(fixture_path("obj_funcs"));

	(void)state;
	find_fails(object, "data_word", ENOENT, "is data, not a function");
	find_fails(object, "tls_word", ENOENT, "is data, not a function");
	find_fails(object, "puts", ENOENT, "'puts' is imported, not defined in ");
	find_fails(object, "puts", ENOENT, "; try libc.so.6:puts");
	find_fails(object, "camelcase", ENOENT, "; did you mean 'CamelCase'?");
	find_fails(object, "plian", ENOENT, "did you mean 'plain'");
	find_fails(object, "hot_on", ENOENT, "did you mean 'hot_one'");
	find_fails(object, "in_own", ENOENT, "did you mean 'in_own_section'");
	find_fails(object, "plain@V9", ENOENT, "but no version 'V9'");
	find_fails(object, "qqqqqqqqqqqqqqqq", ENOENT, "no function 'qqqqqqqqqqqqqqqq' in ");
	assert_null(strstr(err.text, "did you mean"));
	find_fails(object, "", ENOENT, "no function ''");
	find_fails(object, "@", ENOENT, "no function '@'");
	object_free(object);
	object = open_ok(fixture_path("obj_stripped"));
	find_fails(object, "plain", ENOENT, "stripped");
	find_fails(object, "puts", ENOENT, "imported");
	object_free(object);
}

static void test_duplicates(void **state)
{
	struct object *object = open_ok(fixture_path("obj_dup"));
	struct object_symbol symbol;
	unsigned long long offset[3];
	const char *at;

	(void)state;
	find_fails(object, "twice", EEXIST, "'twice' is 3 functions of ");
	at = strstr(err.text, ": twice@");
	assert_non_null(at);
	assert_int_equal(sscanf(at,
				": twice@obj_dup.c at 0x%llx, twice@obj_dup_b.inc at 0x%llx, "
				"twice@obj_dup_c.inc at 0x%llx; choose",
				&offset[0], &offset[1], &offset[2]),
			 3);
	assert_non_null(strstr(err.text, "or all by twice@*"));
	assert_int_equal(find_ok(object, "twice@obj_dup.c").foffset, offset[0]);
	assert_int_equal(find_ok(object, "twice@obj_dup_c.inc").foffset, offset[2]);
	find_fails(object, "twice@obj_dup_d.c", ENOENT, "nor one of such a file");
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(object_function_at(object, offset[i], &symbol), 0);
		assert_string_equal(symbol.name, "twice");
		assert_int_equal(symbol.foffset, offset[i]);
	}
	/* A global function wins over a static one. */
	symbol = find_ok(object, "both");
	assert_true(symbol.is_global);
	object_free(object);
}

static void test_versions(void **state)
{
	struct object *object = open_ok(fixture_path("obj_versions"));
	struct object_symbol symbol = find_ok(object, "versioned");
	uint64_t value;

	(void)state;
	assert_string_equal(object_soname(object), "libubpobj.so.1");
	assert_string_equal(symbol.name, "versioned");
	assert_string_equal(symbol.version, "V2");
	assert_int_equal(symbol.elf_vaddr, find_ok(object, "versioned_v2").elf_vaddr);
	assert_int_equal(object_symbol_value(object, "versioned", &value), 0);
	assert_int_equal(value, symbol.elf_vaddr);
	symbol = find_ok(object, "versioned@V1");
	assert_string_equal(symbol.version, "V1");
	assert_int_equal(symbol.elf_vaddr, find_ok(object, "versioned_v1").elf_vaddr);
	assert_int_equal(find_ok(object, "versioned@@V2").elf_vaddr, value);
	assert_int_equal(find_ok(object, "versioned@V2").elf_vaddr, value);
	find_fails(object, "versioned@@V1", ENOENT, "no version 'V1'");
	find_fails(object, "versioned@V3", ENOENT, "no version 'V3'");
	find_fails(object, "old_only", EEXIST, "old_only@V1 at 0x");
	find_ok(object, "old_only@V1");
	object_free(object);
}

static void test_libc(void **state)
{
	struct object *object = open_ok(libc_path());
	struct object_symbol open_symbol = find_ok(object, "fopen"), symbol;
	uint64_t value;
	char hint[64];

	(void)state;
	assert_true(strncmp(open_symbol.version, "GLIBC_2.", 8) == 0);
	assert_true(open_symbol.is_function);
	symbol = find_ok(object, "memcpy");
	assert_true(symbol.is_ifunc);
	assert_true(strncmp(symbol.version, "GLIBC_2.", 8) == 0);
	/* Two of them, where there was a C library that long ago. */
	if (machine() == EM_X86_64) {
		assert_string_equal(symbol.version, "GLIBC_2.14");
		symbol = find_ok(object, "memcpy@GLIBC_2.2.5");
		assert_string_equal(symbol.version, "GLIBC_2.2.5");
	}
	find_fails(object, "fopne", ENOENT, "'fopen'");
	find_fails(object, "errno", ENOENT, "is data");
	snprintf(hint, sizeof(hint), "try %s:_rtld_global", strrchr(loader_path(), '/') + 1);
	find_fails(object, "_rtld_global", ENOENT, hint);
	assert_int_equal(object_symbol_value(object, "environ", &value), 0);
	assert_int_equal(object_symbol_value(object, "no_such_symbol", &value), -ENOENT);
	object_free(object);
	object = open_ok(loader_path());
	assert_int_equal(object_symbol_value(object, "_r_debug", &value), 0);
	assert_int_equal(object_symbol_value(object, "_dl_debug_state", &value), 0);
	assert_int_equal(value, find_ok(object, "_dl_debug_state").elf_vaddr);
	object_free(object);
}

/* What the loader says about functions of our own libc agrees. */
static void test_against_dlsym(void **state)
{
	static const char *const names[] = { "fopen", "getenv",  "qsort",   "pthread_create",
					     "abort", "realloc", "setjmp",  "sigaction",
					     "open",  "readdir", "strtoull" };
	struct object *object = open_ok(libc_path());
	void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	Dl_info info;

	(void)state;
	assert_non_null(handle);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct object_symbol symbol;
		void *address = dlsym(handle, names[i]);

		assert_non_null(address);
		/* A sanitizer may stand in front of libc. */
		if (!dladdr(address, &info) || !strstr(info.dli_fname, "libc.so.6"))
			continue;
		if (strcmp(names[i], "setjmp") == 0)
			continue;
		symbol = find_ok(object, names[i]);
		assert_int_equal((uintptr_t)address - (uintptr_t)info.dli_fbase,
				 symbol.elf_vaddr);
	}
	dlclose(handle);
	object_free(object);
}

static void test_python(void **state)
{
	struct object *object = open_ok("/usr/bin/python3.11");
	struct object_symbol symbol = find_ok(object, "PyObject_Repr");

	(void)state;
	assert_true(symbol.is_global && symbol.size > 0);
	find_fails(object, "pyobject_repr", ENOENT, "'PyObject_Repr'");
	find_fails(object, "PyObjcet_Repr", ENOENT, "'PyObject_Repr'");
	object_free(object);
}

struct listing {
	char last[512];
	size_t n;
	size_t stop_after;
	bool has_plain, has_data;
};

static int list_one(void *ctx, const struct object_symbol *symbol)
{
	struct listing *listing = ctx;

	assert_true(strcmp(listing->last, symbol->name) < 0);
	snprintf(listing->last, sizeof(listing->last), "%s", symbol->name);
	listing->has_plain |= strcmp(symbol->name, "plain") == 0;
	listing->has_data |= strcmp(symbol->name, "data_word") == 0;
	listing->n++;
	return listing->stop_after && listing->n == listing->stop_after ? 42 : 0;
}

static void test_each_function(void **state)
{
	struct object *object = open_ok(fixture_path("obj_funcs"));
	struct listing listing = { .n = 0 };

	(void)state;
	assert_int_equal(object_each_wanted(object, NULL, list_one, &listing, &err), 0);
	assert_true(listing.has_plain && !listing.has_data);
	assert_true(listing.n > 10);
	listing = (struct listing){ .stop_after = 3 };
	assert_int_equal(object_each_wanted(object, NULL, list_one, &listing, &err), 42);
	assert_int_equal(listing.n, 3);
	object_free(object);
	object = open_ok("/bin/bash");
	listing = (struct listing){ .n = 0 };
	assert_int_equal(object_each_wanted(object, NULL, list_one, &listing, &err), 0);
	assert_true(listing.n > 1000);
	object_free(object);
}

/* Thousands of small reads, as of who looks at all functions, here and there and across ends of pages. */
static void test_small_reads(void **state)
{
	struct object *object = open_ok("/proc/self/exe");
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t size = object_size(object), at = 0;
	uint8_t bytes[300], real[300];

	(void)state;
	assert_true(fd >= 0);
	for (unsigned i = 0; i < 20000; i++) {
		size_t len = 1 + i * 7 % sizeof(bytes);

		at = i % 3 ? at + len / 2 : at * 31 + 12345;
		at %= size + 100; /* the file's end, and what is behind it */
		assert_int_equal(object_read(object, at, bytes, len),
				 pread(fd, real, len, (off_t)at));
		if (at < size)
			assert_memory_equal(bytes, real, len < size - at ? len : size - at);
	}
	close(fd);
	object_free(object);
}

static void copy_self(int to)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t buf[4096];
	ssize_t n;

	assert_true(from >= 0);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		assert_int_equal(write(to, buf, (size_t)n), n);
	close(from);
}

/* What was read before is no answer for long: the file may be written to. */
static void test_small_reads_again(void **state)
{
	char path[] = "/tmp/ubp-object-XXXXXX";
	int fd = mkstemp(path);
	struct object *object;
	uint8_t byte = 0, other;

	(void)state;
	assert_true(fd >= 0);
	copy_self(fd);
	object = open_ok(path);
	for (int i = 0; i < 100; i++)
		assert_int_equal(object_read(object, 5000, &byte, 1), 1);
	other = (uint8_t)~byte;
	assert_int_equal(pwrite(fd, &other, 1, 5000), 1);
	alarm(60); /* a hang is the failure */
	while (byte != other)
		assert_int_equal(object_read(object, 5000, &byte, 1), 1);
	alarm(0);
	object_free(object);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_reads),   cmocka_unit_test(test_small_reads_again),
		cmocka_unit_test(test_no_elf_files),  cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_other_machine), cmocka_unit_test(test_i386),
		cmocka_unit_test(test_headers),       cmocka_unit_test(test_segments),
		cmocka_unit_test(test_slack),         cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_not_found),     cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_versions),      cmocka_unit_test(test_libc),
		cmocka_unit_test(test_against_dlsym), cmocka_unit_test(test_python),
		cmocka_unit_test(test_each_function),
	};

	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
