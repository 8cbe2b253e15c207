"""Copies a library and makes it one of another build: in its ELF note, the first
byte of the linker's hash is another one.

other_build.py LIBRARY COPY
"""

import re
import sys

with open(sys.argv[1], "rb") as file:
    library = bytearray(file.read())
# Size of the name, of the hash, type 3 (build id), name.
notes = list(re.finditer(rb"\x04\0\0\0.\0\0\0\x03\0\0\0GNU\0", library, re.DOTALL))
if len(notes) != 1:
    sys.exit("requires a library with one build id, but found %d" % len(notes))
library[notes[0].end()] ^= 1
with open(sys.argv[2], "wb") as file:
    file.write(library)
