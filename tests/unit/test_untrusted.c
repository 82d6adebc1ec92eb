/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Files made to wear us out or to lead us astray: sparse ones that claim to hold
 * gigabytes, names without end, fifos, links out of another root.
 */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/elf/object.h"
#include "engine/files/ldcache.h"
#include "engine/os/untrusted_file.h"
#include "engine/symbols/functions.h"
#include "tests/unit/temp.h"

#define SHDRS_AT 0x1000
#define DATA_AT  0x4000
#define N_SYMS   4096

/* A file in memory. */
static int make_file(char path[64])
{
	int fd = memfd_create("untrusted", MFD_CLOEXEC);

	assert_true(fd >= 0);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void put(int fd, uint64_t at, const void *bytes, size_t len)
{
	assert_int_equal(pwrite(fd, bytes, len, (off_t)at), len);
}

/* The header of a library with @n sections. */
static void put_header(int fd, uint16_t n)
{
	Elf64_Ehdr ehdr = { .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_shoff = SHDRS_AT,
			    .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = n };

	memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	put(fd, 0, &ehdr, sizeof(ehdr));
}

static void put_section(int fd, unsigned i, Elf64_Shdr shdr)
{
	put(fd, SHDRS_AT + i * sizeof(shdr), &shdr, sizeof(shdr));
}

/* A table of symbols of 3 GiB in a file that takes no room. */
static void test_sparse_symbols(void **state)
{
	char path[64];
	int fd = make_file(path);
	uint64_t len = UINT64_C(3) << 30;
	struct object_symbol symbol;
	struct object *object;
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	put_header(fd, 3);
	put_section(fd, 1,
		    (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				  .sh_offset = DATA_AT,
				  .sh_size = len,
				  .sh_link = 2,
				  .sh_entsize = 24 });
	put_section(fd, 2, (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = 8, .sh_size = 1 });
	assert_int_equal(ftruncate(fd, (off_t)(DATA_AT + len)), 0);
	assert_int_equal(object_open(path, &object, &err), 0);
	assert_int_equal(object_find_symbol(object, "f", &symbol, &err), -ENOEXEC);
	object_free(object);
	close(fd);
}

/* Each section costs memory, whether it is looked at or not. */
static void test_many_sections(void **state)
{
	char path[64];
	int fd = make_file(path);
	uint64_t n = UINT64_C(1) << 24;
	struct object *object;
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	put_header(fd, 0);
	put_section(fd, 0, (Elf64_Shdr){ .sh_size = n });
	assert_int_equal(ftruncate(fd, (off_t)(SHDRS_AT + n * sizeof(Elf64_Shdr))), 0);
	assert_int_equal(object_open(path, &object, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, "section headers"));
	close(fd);
}

/*
 * Thousands of symbols share a name of a megabyte with a version at its end. To cut
 * the version off each would take gigabytes.
 */
static void test_endless_names(void **state)
{
	char path[64];
	int fd = make_file(path);
	size_t len = 1 << 20;
	char *names = malloc(len);
	Elf64_Sym sym = { .st_name = 1,
			  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			  .st_shndx = 1 };
	struct object_symbol symbol;
	struct object *object;
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	assert_non_null(names);
	memset(names, 'a', len);
	memcpy(names + len - 3, "@V", 3);
	names[0] = '\0';
	put_header(fd, 3);
	put_section(fd, 1,
		    (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				  .sh_offset = DATA_AT,
				  .sh_size = N_SYMS * sizeof(sym),
				  .sh_link = 2,
				  .sh_entsize = sizeof(sym) });
	put_section(fd, 2,
		    (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				  .sh_offset = DATA_AT + N_SYMS * sizeof(sym),
				  .sh_size = len });
	for (size_t i = 1; i < N_SYMS; i++)
		put(fd, DATA_AT + i * sizeof(sym), &sym, sizeof(sym));
	put(fd, DATA_AT + N_SYMS * sizeof(sym), names, len);
	assert_int_equal(object_open(path, &object, &err), 0);
	assert_int_equal(object_find_symbol(object, "f", &symbol, &err), -ENOENT);
	object_free(object);
	free(names);
	close(fd);
}

/* Of two libraries in the cache one has a name that goes on to the end of the file. */
static void test_cache_names(void **state)
{
	enum { STRINGS = 48 + 2 * 24, LEN = 20000 };
	uint8_t file[LEN];
	uint32_t head[7] = { 2, LEN - STRINGS },
		 entries[2][6] = { { 0x303, STRINGS, STRINGS },
				   { 0x303, STRINGS + 4, STRINGS } };
	struct ldcache cache;
	char path[64];
	int fd = make_file(path);

	(void)state;
	memset(file, 'a', sizeof(file));
	memcpy(file, "glibc-ld.so.cache1.1", 20);
	memcpy(file + 20, head, sizeof(head));
	memcpy(file + 48, entries, sizeof(entries));
	memcpy(file + STRINGS, "c.so", 4);
	file[STRINGS + 3] = file[LEN - 1] = '\0';
	put(fd, 0, file, sizeof(file));
	assert_int_equal(ldcache_read(path, &cache), 0);
	assert_int_equal(cache.n, 1);
	assert_string_equal(cache.entries[0].name, "c.s");
	ldcache_free(&cache);
	close(fd);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* What is no file is told apart without opening it: a fifo without a writer would block. */
static void test_no_files(void **state)
{
	char folder[TEMP_LEN], path[64];
	struct stat st;

	(void)state;
	temp_folder(folder);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_open(path, &st), -EINVAL);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(file_open("/dev/null", &st), -EINVAL);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(file_open(folder, &st), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(file_open(path, &st), -ENOENT);
	assert_int_equal(st.st_mode, 0);
	assert_int_equal(rmdir(folder), 0);
}

/* A process whose root is @folder, or 0 where that can't be had. */
static pid_t live_in(const char *folder)
{
	int pipes[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test may fail */
		if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
			_exit(1);
		if (chroot(folder) < 0 || write(pipes[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(pipes[0]);
	return pid;
}

/* The same absolute link means another file in another root. */
static void test_links_in_root(void **state)
{
	char folder[TEMP_LEN], path[192], target[64], inside[128];
	struct stat st, want;
	pid_t pid;
	int fd;

	(void)state;
	temp_folder(folder);
	pid = live_in(folder);
	if (pid == 0) {
		rmdir(folder);
		skip();
	}
	/* FOLDER/link leads to /tmp/...-file, of which there is one in either root. */
	snprintf(target, sizeof(target), "%s-file", folder);
	snprintf(inside, sizeof(inside), "%s/tmp", folder);
	assert_int_equal(mkdir(inside, 0700), 0);
	snprintf(inside, sizeof(inside), "%s%s", folder, target);
	snprintf(path, sizeof(path), "%s/link", folder);
	write_file(target, "out");
	write_file(inside, "in");
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(stat(inside, &want), 0);

	snprintf(path, sizeof(path), "/proc/%d/root/link", (int)pid);
	fd = file_open(path, &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_ino, want.st_ino);
	close(fd);
	/* Nor do dots lead out. */
	snprintf(path, sizeof(path), "/proc/%d/root/../..%s", (int)pid, target);
	fd = file_open(path, &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_ino, want.st_ino);
	close(fd);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(target);
	unlink(inside);
	snprintf(path, sizeof(path), "%s/link", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/tmp", folder);
	rmdir(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sparse_symbols), cmocka_unit_test(test_many_sections),
		cmocka_unit_test(test_endless_names),  cmocka_unit_test(test_cache_names),
		cmocka_unit_test(test_no_files),       cmocka_unit_test(test_links_in_root),
	};

	return cmocka_run_group_tests_name("untrusted", tests, NULL, NULL);
}
