# includes.py DIR: what the sources there include of others, a line each.
import pathlib
import re
import sys

directory = pathlib.Path(sys.argv[1])
sources = list(directory.glob("*.cpp")) + list(directory.glob("*.h"))
found = {
    header
    for source in sources
    for header in re.findall(r'^#include "(.*)"', source.read_text(), re.MULTILINE)
    if not (directory / header).exists()
}
public = re.compile(r"(llvm|mla|cuda|cache)/.*|mla_jit/mla_jit\.hp?p?")
for header in sorted(found):
    print(f"{header}: {'public' if public.fullmatch(header) else 'internal'}")
