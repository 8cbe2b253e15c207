"""Runs the phases of a problem in one mla-opt and in one each, and compares.

With --again each phase also runs on its own result, which must not change.

usage: phases.py [--again] PROBLEM.mlir TILE-OPTIONS SCRATCH -- MLA-OPT...

Text that is printed, read and printed again has the numbers of its values and
the names of its aliases settled, so comparing text is comparing modules.
"""

import subprocess
import sys

HOST = {"tile": "--mla-problem-to-tile", "host": "--mla-tile-to-host", "llvm": "--mla-host-to-llvm"}
GPU = {"tile": "--mla-problem-to-tile", "gpu": "--mla-tile-to-gpu"}


def main():
    arguments = sys.argv[1:]
    again = arguments[0] == "--again"
    problem, options, scratch, dashes, *tool = arguments[again:]
    assert dashes == "--"

    def run(source, arguments):
        result = subprocess.run(tool + [source] + arguments, capture_output=True, text=True)
        if result.returncode:
            sys.exit("mla-opt %s failed:\n%s" % (" ".join(arguments), result.stderr[:4000]))
        return result.stdout

    def same(text, other, what):
        if text == other:
            return
        for number, (a, b) in enumerate(zip(text.splitlines(), other.splitlines()), 1):
            if a != b:
                sys.exit("%s: line %d is\n  %s\ninstead of\n  %s" % (what, number, b, a))
        sys.exit("%s: one text is longer" % what)

    phases = GPU if "chip=" in options else HOST
    flags = list(phases.values())
    flags[0] += "=" + options
    source = problem
    for number, level in enumerate(phases):
        text = run(source, [flags[number]])
        path = "%s.%s.mlir" % (scratch, level)
        with open(path, "w") as file:
            file.write(text)
        same(text, run(problem, flags[: number + 1]), "phases to %s, by one run and by several" % level)
        same(text, run(path, []), "%s level, printed and read" % level)
        if again:
            same(text, run(path, [flags[number]]), "%s level, by its own phase again" % level)
        source = path


main()
