"""status.py STATUS COMMAND...: fails if the command ends with another status."""

import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit("requires exit status %s, but got %s" % (sys.argv[1], status))
