/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/live/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/err.h"

bool place_is_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= PLACE_NAME_MAX && !strchr("._-", *name) &&
	       strspn(name,
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
		       len;
}

static int name_folder(char path[PATH_MAX], struct ubp_err *err)
{
	const char *runtime = geteuid() == 0 ? "/run" : secure_getenv("XDG_RUNTIME_DIR");
	int n;

	if (!runtime || *runtime != '/')
		return ubp_fail(err, EINVAL,
				"XDG_RUNTIME_DIR is not set: sessions have no place");
	n = snprintf(path, PATH_MAX, "%s/ubp", runtime);
	return n < PATH_MAX ? 0 : ubp_fail(err, ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
}

int place_path(const char *name, char path[PATH_MAX], struct ubp_err *err)
{
	char folder[PATH_MAX];
	int n, rc = name_folder(folder, err);

	if (rc < 0)
		return rc;
	n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return n < PATH_MAX ? 0 : ubp_fail(err, ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
}

int place_open(bool make, struct ubp_err *err)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, rc = name_folder(path, err);

	if (rc < 0)
		return rc;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return ubp_fail_sys(err, "%s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ubp_fail_sys(err, "%s", path);
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	(void)close(fd);
	return ubp_fail(err, EPERM, "%s: is not yours alone (owner, or mode 0700)", path);
}

/* However long the folder's name is. */
static struct sockaddr_un address_of(int place, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", place,
		       name);
	return address;
}

/* -ECONNREFUSED: nobody listens any more. */
static int try_connect(int place, const char *name, unsigned seconds)
{
	struct sockaddr_un address = address_of(place, name);
	struct timeval patience = { .tv_sec = seconds };
	int rc, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (seconds) {
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	}
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	rc = -errno;
	(void)close(fd);
	return rc;
}

static int fail_exists(const char *name, struct ubp_err *err)
{
	(void)ubp_fail(err, EBUSY, "there is a session '%s'", name);
	ubp_err_hint(err, "--session %s --add DEF changes it, --session %s --end ends it", name,
		     name);
	return -EBUSY;
}

/* Under the folder's lock: two that begin at once do not take each other for dead. */
static int bind_as(int place, int fd, const char *name, struct ubp_err *err)
{
	struct sockaddr_un address = address_of(place, name);
	int other;

	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno != EADDRINUSE)
			return ubp_fail_sys(err, "session '%s'", name);
		other = try_connect(place, name, 1);
		if (other >= 0)
			(void)close(other);
		if (other != -ECONNREFUSED)
			return fail_exists(name, err);
		(void)unlinkat(place, name, 0);
		if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
			return ubp_fail_sys(err, "session '%s'", name);
	}
	return listen(fd, 16) < 0 ? ubp_fail_sys(err, "session '%s'", name) : 0;
}

int place_listen(int place, const char *name, struct ubp_err *err)
{
	int rc, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return ubp_fail_sys(err, "session '%s'", name);
	(void)flock(place, LOCK_EX);
	rc = bind_as(place, fd, name, err);
	(void)flock(place, LOCK_UN);
	if (rc == 0)
		return fd;
	(void)close(fd);
	return rc;
}

void place_forget(int place, const char *name)
{
	(void)unlinkat(place, name, 0);
}

/* One that begins has its name before it listens, but holds the lock that long. */
static int connect_or_bury(int place, const char *name, unsigned seconds)
{
	int fd;

	(void)flock(place, LOCK_EX);
	fd = try_connect(place, name, seconds);
	if (fd == -ECONNREFUSED)
		(void)unlinkat(place, name, 0);
	(void)flock(place, LOCK_UN);
	return fd;
}

int place_connect(int place, const char *name, unsigned seconds, struct ubp_err *err)
{
	int fd = try_connect(place, name, seconds);

	if (fd == -ECONNREFUSED)
		fd = connect_or_bury(place, name, seconds);
	if (fd >= 0)
		return fd;
	if (fd == -ECONNREFUSED || fd == -ENOENT)
		return ubp_fail(err, ENOENT, "there is no session '%s'", name);
	errno = -fd;
	return ubp_fail_sys(err, "session '%s'", name);
}
