//===- Spec.cpp -----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Problem/Spec.h"

namespace mla_jit {

std::string_view toString(KVLayout layout) {
  switch (layout) {
  case KVLayout::Dense:
    return "dense";
  case KVLayout::Paged:
    return "paged";
  case KVLayout::CSR:
    return "csr";
  }
  return "unknown";
}

std::string_view toString(Operation operation) {
  return operation == Operation::Decode ? "decode" : "merge";
}

} // namespace mla_jit
