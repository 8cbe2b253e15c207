"""Lowers random problems to the llvm level and looks for what must not be left.

usage: random_problems.py SEED COUNT SCRATCH [gpu] -- MLA-OPT...

Shapes, dtypes, layouts, masks, score code, targets and split policies are drawn
from what the host target takes; or, with `gpu`, from what a GPU does, and lowered
to the gpu level. A problem that fails stays in SCRATCH.
"""

import random
import re
import subprocess
import sys

seed, count, scratch = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
gpu = sys.argv[4] == "gpu"
assert sys.argv[4 + gpu] == "--"
tool = sys.argv[5 + gpu :]

SOFT_CAP = """score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %x = arith.divf %s, %cap : f32
      %y = math.tanh %x : f32
      %z = arith.mulf %y, %cap : f32
      mla.yield %z : f32
    }"""
TABLE_BY_HEAD_AND_KEY = """score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %hi = arith.index_cast %h : i32 to index
      %ki = arith.index_cast %kpos : i32 to index
      %bias = memref.load %biases[%hi, %ki] : memref<?x?xf32>
      %e = math.exp %bias : f32
      %near = arith.cmpi slt, %kpos, %qpos : i32
      %sum = arith.addf %s, %e : f32
      %z = arith.select %near, %sum, %s : f32
      mla.yield %z : f32
    }"""
# Ops of the llvm dialect that would become calls of libm or libgcc.
CALLS = re.compile(r"llvm\.call |llvm\.intr\.(exp|log|tanh|sin|cos|pow)|llvm\.fptrunc .* bf16|unrealized")


def make_problem(pick):
    kv_heads, group = pick([1, 1, 2, 3, 8]), pick([1, 2, 3, 5, 7, 16, 20, 32 if gpu else 128])
    dtype, out_dtype = pick(["bf16", "f16"] if gpu else ["bf16", "f16", "f32"]), pick(["bf16", "f16", "f32"])
    widths = [64, 80, 128, 256, 512] if gpu else [8, 16, 24, 64, 72, 128, 512]
    width, rope = pick(widths), pick([0, 0, 16 if gpu else 8, 64])
    width_v = pick([w for w in widths if w <= width and not (gpu and w % 64)])
    heads, page, integer = kv_heads * group, pick(["?", "1", "7", "64"]), pick(["i32", "i64"])
    ragged = pick([False, True])
    queries = "memref<?x" if ragged else "memref<?x?x"
    integers = "memref<?x%s>" % integer

    arguments, clauses = [], []

    def clause(keyword, *operands):
        for name, type in operands:
            arguments.append("%%%s: %s" % (name, type))
        clauses.append("%s(%s)" % (keyword, ", ".join("%%%s : %s" % o for o in operands)))

    def parts(prefix, name):
        whole = [(name, "%s%dx%s>" % (prefix, width, dtype))]
        return whole + [(name + "r", "%s%dx%s>" % (prefix, rope, dtype))] * bool(rope)

    clause("q", *parts("%s%dx" % (queries, heads), "q"))
    clause("k", *parts("memref<?x%sx%dx" % (page, kv_heads), "k"))
    layout = pick(["table", "table_rows", "csr", "dense"])
    if layout.startswith("table"):
        clause("table", ("table", "memref<?x?x%s>" % integer))
    if layout == "table_rows":
        clause("table_rows", ("rows", integers))
    if layout == "csr":
        clause("csr", ("indptr", integers), ("indices", integers))
    clause("seq_lens", ("lens", integers))
    if ragged:
        clause("q_offsets", ("offsets", integers))
    clause("scale", ("scale", "f32"))
    if pick([False, True]):
        clause("num_splits", ("splits", "i32"))
    mask = pick(["", "mask(#mla.none)", "mask(#mla.causal)", "mask(#mla.sliding_window, %window : i32)"])
    if "%window" in mask:
        arguments.append("%window: i32")
    clauses.append(mask)
    clause("out", ("out", "%s%dx%dx%s>" % (queries, heads, width_v, out_dtype)))
    if pick([False, True]):
        clause("lse", ("lse", "%s%dxf32>" % (queries, heads)))
    clauses.append("head_dim_v = %d" % width_v)
    score = pick(["", SOFT_CAP, TABLE_BY_HEAD_AND_KEY])
    if "%cap" in score:
        arguments.append("%cap: f32")
    if "%biases" in score:
        arguments.append("%biases: memref<?x?xf32>")
    clauses.append(score)
    body = "\n".join("    " + c for c in clauses if c)
    return "func.func @decode(%s) {\n  mla.decode\n%s\n  return\n}\n" % (", ".join(arguments), body)


for number in range(count):
    pick = random.Random(seed * 1000 + number).choice
    problem = make_problem(pick)
    options = "%s split=%s" % ("chip=sm_90a" if gpu else "cpu=" + pick(["x86-64-v3", "x86-64-v4", "znver4", "haswell"]),
                               pick(["whole", "balanced", "row_local"]))
    with open(scratch, "w") as file:
        file.write(problem)
    phases = ["--mla-problem-to-tile=" + options]
    phases += ["--mla-tile-to-gpu"] if gpu else ["--mla-tile-to-host", "--mla-host-to-llvm"]
    result = subprocess.run(tool + [scratch] + phases, capture_output=True, text=True)
    left = None if gpu else CALLS.search(result.stdout)
    expected = "mla_gpu.warp_specialize" if gpu else "llvm.func @decode("
    if result.returncode or left or expected not in result.stdout:
        sys.exit("seed %d, problem %d, %s: %s\n%s\n%s"
                 % (seed, number, options, "'%s' is left" % left.group(0) if left else "fails",
                    problem, result.stderr[:4000]))
print("%d problems" % count)
