//===- AssemblerDefects.cpp ---------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Target/AssemblerDefects.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using mla::AssemblerDefect;
using mla::AssemblerVersion;

// What is seen wrong in a kernel of ours is denied, and comes with a test.
static constexpr AssemblerDefect kDefects[] = {
    {{12, 0, 0},
     {12, 6, 85},
     false,
     "wrong code for Hopper (NVIDIA bug 4826023, openxla/xla#19927)"},
    {{12, 3, 103}, {12, 3, 104}, true, "wrong code (openxla/xla#7922)"},
    {{12, 8, 0},
     {13, 1, 0},
     false,
     "wrong results and stray stores to shared memory in kernels for sm_90a "
     "(fla-org/flash-linear-attention#1262)"},
    {{12, 9, 0},
     {13, 3, 0},
     false,
     "registers that wgmma reads may be written too early "
     "(triton-lang/triton#11781)"},
};

namespace {
struct VerifiedAssembler {
  llvm::StringRef name, chip; // all releases whose first parts are these
};
} // namespace

static constexpr VerifiedAssembler kVerified[] = {
    {"driver 580.159", "sm_90a"},
    {"ptxas 13.0", "sm_90a"},
};

bool mla::isVerifiedAssembler(llvm::StringRef name, llvm::StringRef chip) {
  return llvm::any_of(kVerified, [&](const VerifiedAssembler &known) {
    llvm::StringRef rest = name;
    return known.chip == chip && rest.consume_front(known.name) &&
           (rest.empty() || rest.front() == '.');
  });
}

llvm::ArrayRef<AssemblerDefect> mla::getAssemblerDefects() { return kDefects; }

llvm::SmallVector<AssemblerDefect>
mla::findDefects(AssemblerVersion version,
                 llvm::ArrayRef<AssemblerDefect> known) {
  llvm::SmallVector<AssemblerDefect> found;
  llvm::copy_if(known, std::back_inserter(found),
                [&](const AssemblerDefect &defect) {
                  return defect.first <= version && version < defect.fixed;
                });
  return found;
}

AssemblerVersion mla::parseAssemblerVersion(llvm::StringRef text) {
  text.consume_front("CUDA ");
  text.consume_front("V");
  AssemblerVersion version{0, 0, kUnknownPatch};
  if (text.consumeInteger(10, version.major) || !text.consume_front(".") ||
      text.consumeInteger(10, version.minor))
    return {};
  unsigned patch;
  if (text.consume_front(".") && !text.consumeInteger(10, patch))
    version.patch = patch;
  return version;
}
