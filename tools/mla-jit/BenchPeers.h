//===- BenchPeers.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit bench on a GPU: the decodes that others were measured with.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_BENCHPEERS_H
#define MLA_JIT_TOOLS_BENCHPEERS_H

#include "PublicEngine.h"

namespace mla_jit {

struct PeersOptions {
  std::string configs;  ///< file
  std::string only;     ///< a part of the names; empty: all
  std::string json;     ///< file for all figures; empty: none
  double sustained = 0; ///< seconds for which each is also repeated; 0: not
};

/// Times every configuration: whole launches, captured in a graph that goes
/// through copies of the KV pool larger together than the L2, and replayed.
/// Prints a row as each is done. An error if one could not be measured.
llvm::Error benchPeers(PublicEngine &engine, const PeersOptions &options);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_BENCHPEERS_H
