"""Fails unless functions of a module have at most so many lines.

usage: function_lines.py FILE NAME=MOST...

A function is from its name to its closing brace, which is indented alike.
"""

import sys

path, *limits = sys.argv[1:]
lengths, name, closing = {}, None, None
with open(path) as file:
    for line in file:
        words = line.split("@", 1)
        if words[0].strip() in ("func.func", "func.func private"):
            name, closing = words[1].split("(")[0], words[0].split("func")[0] + "}"
            lengths[name] = 0
        if name:
            lengths[name] += 1
            if line.rstrip() == closing:
                name = None
for limit in limits:
    function, most = limit.split("=")
    if function not in lengths:
        sys.exit("%s: has no function '%s', but %s" % (path, function, ", ".join(lengths)))
    if lengths[function] > int(most):
        sys.exit(
            "%s: requires '%s' to have at most %s lines, but got %d"
            % (path, function, most, lengths[function])
        )
