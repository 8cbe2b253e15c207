"""Fails unless all ops of a module in generic form are of the given dialects.

usage: only_dialect.py DIALECT[,DIALECT] GENERIC.mlir

Of the module itself only the name is looked at.
"""

import re
import sys

dialects, path = sys.argv[1:]
with open(path) as file:
    text = file.read()
# An op is a quoted name that an operand list follows; strings of attributes
# are not.
names = re.findall(r'"([a-z_0-9]+\.[a-zA-Z_0-9.]+)"\s*(?=[\(\[<])', text)
if "builtin.module" not in names or len(names) < 10:
    sys.exit("requires a module with ops in generic form, but got %d ops" % len(names))
for name in names:
    if name != "builtin.module" and name.split(".")[0] not in dialects.split(","):
        sys.exit('op "%s" is not of the dialect %s' % (name, dialects))
