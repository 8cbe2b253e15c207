"""Writes a malformed .safetensors file: malformed.py OUT KIND"""

import struct
import sys

ENTRY = b'"q":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'


def pack(header, data=bytes(8), length=None):
    length = len(header) if length is None else length
    return struct.pack("<Q", length) + header + data


KINDS = {
    "empty": b"",
    "short": b"\x10\x00\x00",
    "truncated": pack(b"{" + ENTRY + b"}", length=200)[:40],
    "huge": pack(b"{" + ENTRY + b"}", length=4 << 30),
    "negative": pack(b"{" + ENTRY + b"}", length=(1 << 64) - 8),
    "past-end": pack(b"{" + ENTRY.replace(b"[0,8]", b"[8,16]") + b"}"),
    "wrong-size": pack(b"{" + ENTRY.replace(b"[2]", b"[3]") + b"}"),
    "overflow": pack(b"{" + ENTRY.replace(b"[2]", b"[4294967296,4294967296]") + b"}"),
    "duplicate": pack(b"{" + ENTRY + b"," + ENTRY + b"}"),
    "no-json": pack(b"{" + ENTRY),
    "deep": pack(b"[" * 100000, b""),
    "dtype": pack(b"{" + ENTRY.replace(b"F32", b"F8_E4M3") + b"}"),
    "trailing": pack(b"{" + ENTRY + b"}", bytes(9)),
}

with open(sys.argv[1], "wb") as file:
    file.write(KINDS[sys.argv[2]])
