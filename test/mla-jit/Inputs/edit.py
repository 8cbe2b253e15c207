"""Edits a .safetensors file: edit.py IN OUT [EDIT...]

    drop:NAME               without the tensor
    rename:NAME=NEW         under another name
    shape:NAME=2,3          another shape of as many bytes
    dtype:NAME=F16          another type of as many bytes an element
    set:NAME[INDEX]=VALUE   one element of an I32 or I64 tensor
    meta:KEY=VALUE          metadata; without =VALUE: none of that key
"""

import json
import re
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        body = bytearray(data[8 + length + begin : 8 + length + end])
        tensors[name] = [tensor["dtype"], tensor["shape"], body]
    return metadata, tensors


def write(path, metadata, tensors):
    header, body = {"__metadata__": metadata}, b""
    for name, (dtype, shape, data) in tensors.items():
        offsets = [len(body), len(body) + len(data)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        body += data
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def edit(metadata, tensors, what, text):
    name, _, value = text.partition("=")
    if what == "drop":
        del tensors[name]
    elif what == "rename":
        tensors[value] = tensors.pop(name)
    elif what == "shape":
        tensors[name][1] = [int(n) for n in value.split(",")]
    elif what == "dtype":
        tensors[name][0] = value
    elif what == "set":
        name, index = re.fullmatch(r"(.*)\[(\d+)\]", name).groups()
        dtype, _, data = tensors[name]
        code, size = {"I32": ("<i", 4), "I64": ("<q", 8)}[dtype]
        struct.pack_into(code, data, int(index) * size, int(value))
    elif what == "meta":
        metadata.pop(name, None)
        if value:
            metadata[name] = value
    else:
        sys.exit("edit.py: no such edit: " + what)


metadata, tensors = read(sys.argv[1])
for argument in sys.argv[3:]:
    what, _, text = argument.partition(":")
    edit(metadata, tensors, what, text)
write(sys.argv[2], metadata, tensors)
