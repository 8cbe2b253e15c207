//===- FakePtxas.h ----------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_FAKEPTXAS_H
#define MLA_TEST_UNIT_FAKEPTXAS_H

#include "CacheFixture.h"

#include <sys/stat.h>

namespace mla_test {

/// Leaves what has the head of a cubin, and the names of the kernels in it.
inline const char *const kMakesCubin =
    "{ printf '\\177ELF\\002'; head -c 13 /dev/zero; printf '\\276'\n"
    "head -c 45 /dev/zero; cat \"$input\"; } > \"$2\"";

/// A shell script in the place of ptxas.
class FakePtxas {
public:
  /// Does this to $input, for $2; `says`: what it does for --version.
  explicit FakePtxas(
      const std::string &does,
      const std::string &says = "echo 'release 12.8, V12.8.1'; exit 0") {
    become(does, says);
  }
  /// Another one in the same place.
  void become(const std::string &does, const std::string &says) {
    overwrite(path(), "#!/bin/sh\nif [ \"$1\" = --version ]; then\n" + says +
                          "\nfi\nwhile [ \"$1\" != -o ]; do input=$1; shift; "
                          "done\n" +
                          does + "\n");
    ::chmod(path().c_str(), 0755);
  }
  const std::string &path() const { return where; }

private:
  TemporaryDirectory directory;
  std::string where = directory / "ptxas";
};

} // namespace mla_test

#endif // MLA_TEST_UNIT_FAKEPTXAS_H
