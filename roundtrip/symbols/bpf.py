"""Loads a BPF program of two functions with line information, and runs it for some seconds: count.py SECONDS."""

import ctypes
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
BPF_PROG_LOAD, BPF_PROG_TEST_RUN, BPF_BTF_LOAD = 5, 10, 18


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = libc.syscall(321, command, buffer, len(attributes))
    if result < 0:
        sys.exit(f"bpf({command}): error {ctypes.get_errno()}")
    return result


def buffer(data):
    kept.append(ctypes.create_string_buffer(data, len(data)))
    return ctypes.addressof(kept[-1])


def string(text):
    offset = len(strings)
    strings.extend(text.encode() + b"\0")
    return offset


def line(file, text, number, column):
    lines.append(struct.pack("<IIII", len(code), file, string(text), number << 10 | column))


def instruction(operation, target=0, source=0, offset=0, value=0):
    code.append(struct.pack("<BBhi", operation, target | source << 4, offset, value))


kept, strings, lines, code = [], bytearray(b"\0"), [], []
main, header = string("/srv/bpf/count.c"), string("/srv/bpf/square.h")

line(main, "int count(struct __sk_buff *skb)", 5, 0)
instruction(0xB7, 6)
line(main, "    for (int i = 0; i < 500; i++)", 7, 10)
instruction(0xB7, 8)
line(main, "        sum += square(i);", 8, 16)
loop = len(code)
instruction(0xBF, 1, 8)
instruction(0x85, source=1, value=6)  # call square
instruction(0x0F, 6, 0)
line(main, "    for (int i = 0; i < 500; i++)", 7, 29)
instruction(0x07, 8, value=1)
instruction(0xA5, 8, offset=loop - len(code) - 1, value=500)
line(main, "    return sum & 1;", 9, 5)
instruction(0xBF, 0, 6)
instruction(0x57, 0, value=1)
instruction(0x95)
square = len(code)
line(header, "static int square(int n)", 1, 0)
instruction(0xBF, 0, 1)
line(header, "    return n * n;", 3, 14)
for _ in range(20):
    instruction(0x2F, 0, 1)
instruction(0x95)
assert square == loop + 2 + 6

types = struct.pack("<IIII", string("int"), 1 << 24, 4, 32 | 1 << 24)
types += struct.pack("<IIIII", 0, 13 << 24 | 1, 1, string("n"), 1)
types += struct.pack("<III", string("count"), 12 << 24 | 1, 2)
types += struct.pack("<III", string("square"), 12 << 24, 2)
btf = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings)) + types + strings
btf_id = bpf(BPF_BTF_LOAD, struct.pack("<QQIII", buffer(btf), 0, len(btf), 0, 0))
functions = struct.pack("<IIII", 0, 3, square, 4)
attributes = struct.pack("<IIQQIIQII16sII", 1, len(code), buffer(b"".join(code)), buffer(b"GPL"), 0, 0, 0, 0, 0, b"count", 0, 0)
attributes += struct.pack("<IIQIIQI", btf_id, 8, buffer(functions), 2, 16, buffer(b"".join(lines)), len(lines))
program = bpf(BPF_PROG_LOAD, attributes + bytes(4))

packet, end = buffer(bytes(64)), time.time() + float(sys.argv[1])
while time.time() < end:
    bpf(BPF_PROG_TEST_RUN, struct.pack("<IIIIQQII", program, 0, 64, 0, packet, 0, 2000, 0) + bytes(40))
