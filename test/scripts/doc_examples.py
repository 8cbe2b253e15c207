"""Feeds the examples in a dialect's documentation to mla-opt.

usage: doc_examples.py MLIR-TBLGEN FILE.td SCRATCH INCLUDE-FLAGS... -- MLA-OPT...

Every op needs an example: a ```mlir block that parses and verifies by itself or,
for an op that cannot stand alone (a terminator), an inline `Example: ...` and a
place in the example of another op. Examples of attributes and types are parsed as
attributes of a function, where they are not abridged ("...").
"""

import re
import subprocess
import sys

arguments = sys.argv[1:]
dashes = arguments.index("--")
(tblgen, source, scratch), includes = arguments[:3], arguments[3:dashes]
tool = arguments[dashes + 1 :]
errors = []


def document(kind):
    """The docs of one kind: pairs of a name and the text under its heading."""
    result = subprocess.run([tblgen, "--gen-" + kind + "-doc", source, *includes],
                            capture_output=True, text=True)
    if result.returncode:
        sys.exit("mlir-tblgen --gen-%s-doc failed:\n%s" % (kind, result.stderr))
    # Headings are "### `mla.qk` (mla::QKOp)" for ops, "### TargetAttr" and
    # "### KVTileType" for the others.
    headings = re.split(r"^###+ (.*)$", result.stdout, flags=re.M)
    for heading, text in zip(headings[1::2], headings[2::2]):
        if kind == "op":
            name = re.match(r"`([a-z_.0-9]+)`", heading)
        else:
            name = re.match(r"([A-Z]\w*(?:Attr|Type))$", heading)
        if name:
            yield name.group(1), text


def blocks(text):
    return re.findall(r"^```mlir\n(.*?)^```", text, flags=re.M | re.S)


def inline(text):
    return re.findall(r"Example: `([^`]*)`", text)


def parses(what, code):
    with open(scratch, "w") as file:
        file.write(code)
    result = subprocess.run(tool + [scratch], capture_output=True, text=True)
    if result.returncode:
        errors.append("the example of %s fails:\n%s\n%s" % (what, code, result.stderr))


ops = list(document("op"))
all_code = "\n".join(block for _, text in ops for block in blocks(text))
counted = 0
for name, text in ops:
    found = blocks(text)
    counted += len(found)
    for code in found:
        parses(name, code)
        # An example is one of its op.
        if not re.search(r"\b%s\b" % re.escape(name), code):
            errors.append("the example of %s does not contain it:\n%s" % (name, code))
    if not found:
        if not inline(text):
            errors.append("%s has no example" % name)
        elif not re.search(r"\b%s\b" % re.escape(name), all_code):
            errors.append("%s has only an inline example and is in none of another op" % name)

for kind in ["attrdef", "typedef"]:
    for name, text in document(kind):
        for code in blocks(text) + inline(text):
            code = code.strip()
            if "..." in code:
                continue
            mask = re.match(r"mask\((#[a-z_.]+)", code)
            if mask:
                code = mask.group(1)
            counted += 1
            parses(name, "func.func private @f() attributes {example = %s}\n" % code)

if len(ops) < 10 or counted < len(ops):
    errors.append("requires the docs of the dialect's ops, but got %d ops and %d examples" % (len(ops), counted))
print("%d ops, %d examples" % (len(ops), counted))
if errors:
    sys.exit("\n\n".join(errors))
