# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A file system with one file, which takes so many bytes and answers EIO then, by the kernel's FUSE protocol (<linux/fuse.h>)."""

import ctypes
import errno
import os
import stat
import struct
import threading

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, INIT, INTERRUPT, CREATE, DESTROY = 1, 2, 3, 4, 14, 15, 16, 17, 18, 25, 26, 36, 35, 38
ROOT, FILE = 1, 2
FATTR_SIZE, FOPEN_DIRECT_IO = 1 << 3, 1
MAX_WRITE = 1 << 17
libc = ctypes.CDLL(None, use_errno=True)


class SmallFs:
    """Mounted at @folder while the block runs. Each write takes @most bytes at most; behind @room bytes there is but EIO."""

    def __init__(self, folder, room, most=MAX_WRITE):
        self.folder, self.room, self.most = folder, room, most
        self.name, self.data, self.n_short, self.n_failed = None, bytearray(), 0, 0

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0"
        if libc.mount(b"small", self.folder.encode(), b"fuse", ctypes.c_ulong(0), options.encode()) < 0:
            error = ctypes.get_errno()
            os.close(self.fd)
            raise OSError(error, os.strerror(error))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def __exit__(self, *_):
        libc.umount2(self.folder.encode(), 2)  # MNT_DETACH
        self.thread.join()
        os.close(self.fd)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, MAX_WRITE + 8192)
            except OSError as e:
                if e.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    continue
                return  # ENODEV: nobody has it mounted any more
            _, opcode, unique, node = struct.unpack_from("=IIQQ", request)
            if opcode in (FORGET, INTERRUPT):
                continue
            error, answer = self.answer(opcode, node, request[40:])
            os.write(self.fd, struct.pack("=IiQ", 16 + len(answer), -error, unique) + answer)
            if opcode == DESTROY:
                return

    def attr(self, node):
        is_root = node == ROOT
        mode = stat.S_IFDIR | 0o755 if is_root else stat.S_IFREG | 0o644
        size = 0 if is_root else len(self.data)
        return struct.pack("=6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def entry(self):
        return struct.pack("=4Q2I", FILE, 1, 0, 0, 0, 0) + self.attr(FILE)

    def write(self, body):
        _, at, size = struct.unpack_from("=QQI", body)
        data = body[40:40 + min(size, self.most)]
        if at + len(data) > self.room:
            self.n_failed += 1
            return errno.EIO, b""
        self.n_short += len(data) < size
        self.data[at:at + len(data)] = data
        return 0, struct.pack("=II", len(data), 0)

    def answer(self, opcode, node, body):
        opened = struct.pack("=QII", 1, FOPEN_DIRECT_IO, 0)
        if opcode == INIT:
            return 0, struct.pack("=4I2H2I2H8I", 7, 31, 0, 0, 16, 12, MAX_WRITE, 1, 0, 0, *[0] * 8)
        if opcode == LOOKUP:
            return (0, self.entry()) if body.rstrip(b"\0") == self.name else (errno.ENOENT, b"")
        if opcode == CREATE:
            self.name = body[16:].rstrip(b"\0")
            return 0, self.entry() + opened
        if opcode == SETATTR and struct.unpack_from("=I", body)[0] & FATTR_SIZE:
            size = struct.unpack_from("=Q", body, 16)[0]
            self.data = self.data[:size] + bytearray(max(size - len(self.data), 0))
        if opcode in (GETATTR, SETATTR):
            return 0, struct.pack("=QII", 0, 0, 0) + self.attr(node)
        if opcode == OPEN:
            return 0, opened
        if opcode == READ:
            _, at, size = struct.unpack_from("=QQI", body)
            return 0, bytes(self.data[at:at + size])
        if opcode == WRITE:
            return self.write(body)
        if opcode == STATFS:
            return 0, struct.pack("=5Q4I6I", 1 << 20, 1 << 20, 1 << 20, 10, 8, 4096, 255, 4096, *[0] * 7)
        return (0, b"") if opcode in (FLUSH, RELEASE, DESTROY) else (errno.ENOSYS, b"")
