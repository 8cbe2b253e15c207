"""lit suite over the tools; started through the build's lit.site.cfg.py."""

import ctypes
import os
import shlex
import shutil
import subprocess
import sys

import lit.formats

config.name = "mla-jit"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "scripts", "unit"]
config.test_source_root = os.path.join(config.mla_source_root, "test")
config.test_exec_root = os.path.join(config.mla_binary_root, "test")

# A misspelt prefix, or a variable that leaks from one function's checks into
# another's, fails instead of passing by chance.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"

# -Dverify_roundtrip=1: every mla-opt also checks that what it read survives
# printing and reading.
verify_roundtrip = lit_config.params.get("verify_roundtrip", "0")
if verify_roundtrip not in ("0", "1"):
    lit_config.fatal("requires verify_roundtrip to be 0 or 1, but got '%s'" % verify_roundtrip)


def tool(name, directory, *arguments):
    """Where a RUN line says `name`, run exactly that file."""
    path = os.path.join(directory, name)
    if not os.access(path, os.X_OK):
        lit_config.fatal("requires %s, but found none: build it first" % path)
    command = " ".join([path, *arguments])
    config.substitutions.append((r"(?<![\w./-])%s(?![\w./-])" % name, command))


config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%scripts", os.path.join(config.test_source_root, "scripts")))
config.substitutions.append(("%mla_include", os.path.join(config.mla_source_root, "include")))
config.substitutions.append(("%mlir_includes", " ".join("-I" + d for d in config.mlir_include_dirs)))
for name, value in [
    ("%cmake", config.cmake),
    ("%cc", config.c_compiler),
    ("%cxx", config.cxx_compiler),
    ("%mla_binary_root", config.mla_binary_root),
    ("%mla_library_dir", os.path.join(config.mla_binary_root, "runtime")),
    ("%mla_runtime_include", os.path.join(config.mla_source_root, "runtime", "include")),
    ("%mla_examples", os.path.join(config.mla_source_root, "examples")),
]:
    config.substitutions.append((name + r"\b", value))
if config.mla_build_type == "Asan":
    config.available_features.add("asan")
if config.mla_link_static == "ON":
    config.available_features.add("static-llvm")
if shutil.which("pkg-config"):
    config.available_features.add("pkg-config")
for name in config.mla_test_tools:
    if name == "mla-opt" and verify_roundtrip == "1":
        tool(name, config.mla_tools_dir, "--verify-roundtrip")
    else:
        tool(name, config.mla_tools_dir)
    config.available_features.add(name)
for name in ["FileCheck", "count", "llvm-nm", "llvm-readelf", "not", "mlir-tblgen", "split-file"]:
    tool(name, config.llvm_tools_dir)

# A driver for tests without a GPU, as a file that libcuda.so.1 can be a link to.
for name, library in [("%fakecuda_old", "libFakeCudaOld.so"), ("%fakecuda", "libcuda.so.580.159.0")]:
    path = os.path.join(config.mla_binary_root, "test", "unit", library)
    config.substitutions.append((name, path))
try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    config.available_features.add("no-cuda-driver")
# Another LLVM than ours, as other libraries of a host may load one.
other_llvm = "/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1"
if os.path.exists(other_llvm):
    config.available_features.add("other-llvm")
    config.substitutions.append(("%other_llvm", other_llvm))
# "%read_only DIR COMMAND": where not even root may write to the directory. Where
# nobody may mount, as it is; CInterfaceDiskTest then reports what it skips.
read_only = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
             'mount --bind -o ro "$0" "$0" && ! touch "$0/new" 2> /dev/null && exec "$@"']
try:
    subprocess.run([*read_only, config.mla_binary_root, "true"], check=True, capture_output=True)
except (OSError, subprocess.CalledProcessError):
    read_only = ["sh", "-c", 'exec "$@"']
config.substitutions.append((r"%read_only\b", shlex.join(read_only)))
toolkit = "/usr/local/cuda/bin"
if shutil.which("ptxas", path=os.environ.get("PATH", "") + os.pathsep + toolkit):
    config.available_features.add("ptxas")
