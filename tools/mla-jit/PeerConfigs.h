//===- PeerConfigs.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The decodes that kernels of others were measured with: bench/peers.json.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_PEERCONFIGS_H
#define MLA_JIT_TOOLS_PEERCONFIGS_H

#include "mla/Problem/Spec.h"
#include "llvm/Support/Error.h"

namespace mla_jit {

struct PeerConfig {
  std::string name;
  Spec spec;
  int64_t queries = 1; ///< of each request
  std::vector<int64_t> seqLens;
  double bestMicroseconds = 0; ///< of all peers

  int64_t numPages() const;
  /// Bytes of the pages that a launch reads.
  int64_t poolBytes() const;
  /// What a launch reads of KV, and computes, at least.
  double gbytes() const, tflop() const;
};

/// Reads the file; only configurations whose names have the part `only`. An
/// error names what is missing, and where.
llvm::Expected<std::vector<PeerConfig>> readPeerConfigs(llvm::StringRef path,
                                                        llvm::StringRef only);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_PEERCONFIGS_H
