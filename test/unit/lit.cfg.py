"""lit suite of the GoogleTest executables, each test counted by itself."""

import os

import lit.formats

config.name = "mla-jit-unit"
config.test_source_root = os.path.join(config.mla_binary_root, "test", "unit")
config.test_exec_root = config.test_source_root
config.suffixes = []
config.test_format = lit.formats.GoogleTest(".", "Test")

# lit only warns of a suite without tests, and does not miss an executable.
for name in config.mla_unit_tests:
    path = os.path.join(config.test_exec_root, name)
    if not os.access(path, os.X_OK):
        lit_config.fatal("requires %s, but found none: build it first" % path)
