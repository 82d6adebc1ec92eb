# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""contained.py --caps NAME[,NAME] [--root DIR] -- COMMAND: run it as container engines run theirs by default, but with these capabilities alone: they are
the bounding set, no_new_privs is set, and the default seccomp profile is applied.

The profile is that of the file SECCOMP_PROFILE, in the form that Docker, containerd and Podman have (/usr/share/containers/seccomp.json of Debian's
golang-github-containers-common serves), as far as it says what is allowed with these capabilities. In any case what Docker's and containerd's forbids to who
has not CAP_SYS_ADMIN is forbidden: namespaces, mounts, keys, clone3()."""

import argparse
import ctypes
import json
import os
import sys

CAPS = "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner " \
       "sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control " \
       "setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore".split()
FORBIDDEN = "fsconfig fsmount fsopen fspick get_mempolicy keyctl add_key request_key mbind mount mount_setattr move_mount open_tree pivot_root reboot set_mempolicy " \
            "setns syslog umount umount2 unshare chroot bpf perf_event_open kexec_load kexec_file_load init_module finit_module delete_module userfaultfd move_pages " \
            "migrate_pages quotactl swapon swapoff acct iopl ioperm settimeofday clock_settime open_by_handle_at fanotify_init lookup_dcookie nfsservctl uselib ustat " \
            "sysfs vhangup".split()
NAMESPACES = 0x7e020000
ALLOW, KILL = 0x7fff0000, 0x80000000
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 38, 24
OPS = {"SCMP_CMP_NE": 1, "SCMP_CMP_LT": 2, "SCMP_CMP_LE": 3, "SCMP_CMP_EQ": 4, "SCMP_CMP_GE": 5, "SCMP_CMP_GT": 6, "SCMP_CMP_MASKED_EQ": 7}
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine)


def errno_action(n):
    return 0x00050000 | n


class Arg(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Filter:
    def __init__(self, default):
        self.lib = ctypes.CDLL("libseccomp.so.2")
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.default = default
        self.ctx = ctypes.c_void_p(self.lib.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action, name, args=()):
        number = self.lib.seccomp_syscall_resolve_name(name.encode())
        if number == -1 or action == self.default:
            return
        array = (Arg * max(len(args), 1))(*args)
        rc = self.lib.seccomp_rule_add_array(self.ctx, ctypes.c_uint32(action), number, len(args), array)
        if rc < 0 and rc != -33:  # EDOM: it is none of this machine's
            sys.exit(f"contained.py: {name}: {os.strerror(-rc)}")

    def load(self):
        rc = self.lib.seccomp_load(self.ctx)
        if rc < 0:
            sys.exit(f"contained.py: seccomp: {os.strerror(-rc)}")


def applies(rule, caps):
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    have = {"CAP_" + c.upper() for c in caps}
    if "arches" in includes and ARCH not in includes["arches"] or ARCH in excludes.get("arches", ()):
        return False
    return set(includes.get("caps", ())) <= have and not set(excludes.get("caps", ())) & have


def from_file(path, caps):
    with open(path, encoding="utf-8") as f:
        profile = json.load(f)
    made = Filter(errno_action(profile.get("defaultErrnoRet", 1)))
    for rule in profile["syscalls"]:
        if applies(rule, caps):
            action = ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else errno_action(rule.get("errnoRet", 1))
            args = [Arg(a["index"], OPS[a["op"]], a["value"], a.get("valueTwo", 0)) for a in rule.get("args") or ()]
            for name in rule["names"]:
                made.add(action, name, args)
    return made


def forbidden():
    made = Filter(ALLOW)
    for name in FORBIDDEN:
        made.add(errno_action(1), name)
    for bit in range(32):
        if NAMESPACES >> bit & 1:
            made.add(errno_action(1), "clone", [Arg(0, OPS["SCMP_CMP_MASKED_EQ"], 1 << bit, 1 << bit)])
    made.add(errno_action(38), "clone3")
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--caps", default="")
    parser.add_argument("--root")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    caps = [c for c in args.caps.split(",") if c]
    filters = [forbidden()]
    if os.environ.get("SECCOMP_PROFILE"):
        filters.append(from_file(os.environ["SECCOMP_PROFILE"], caps))
    libc = ctypes.CDLL(None)
    if args.root:
        os.chroot(args.root)
        os.chdir("/")
    for number, name in enumerate(CAPS):
        if name not in caps:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        sys.exit("contained.py: no_new_privs")
    for made in filters:
        made.load()
    os.execv(args.command[0], args.command)


main()
