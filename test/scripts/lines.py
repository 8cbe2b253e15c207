"""Fails unless a file has between LEAST and MOST lines, blank ones aside.

usage: lines.py FILE LEAST MOST
"""

import sys

path, least, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path) as file:
    lines = sum(1 for line in file if line.strip())
if not least <= lines <= most:
    sys.exit("%s: requires %d to %d lines, but got %d" % (path, least, most, lines))
