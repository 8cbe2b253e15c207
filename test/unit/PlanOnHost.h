//===- PlanOnHost.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The plan of a GPU (lib/Conversion/Work/DevicePlan.h), compiled for the host:
// mla_gpu.scan becomes loops, and the CTAs of the grid run after each other.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_PLANONHOST_H
#define MLA_TEST_UNIT_PLANONHOST_H

#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mla_test {

/// What a plan is compiled for.
struct PlanKind {
  std::string mask;  ///< #mla.none, #mla.causal or #mla.sliding_window
  std::string split; ///< whole, balanced or row_local
  int heads = 16, kvHeads = 1;
  int blockM = 16, rowBlocks = 1, splitTiles = 1;
  bool ragged = false, hasSplits = true;
  bool pairs = false; ///< two CTAs may merge what they split

  int group() const { return heads / kvHeads; }
};

/// A launch of it.
struct PlanInput {
  std::vector<int32_t> lengths;
  std::vector<int32_t> queries; ///< of each request; all alike unless ragged
  int32_t splits = 0, window = 0;
  int workers = 1;
};

using Entry = std::array<int32_t, 8>;

struct PlanOutput {
  std::vector<Entry> work;
  std::vector<std::array<int32_t, 2>> ranges; ///< of each CTA
  std::vector<Entry> splits;
  bool listsAlike = true; ///< the last CTA's list is that of those that merge
  bool overrun = false;   ///< wrote outside of a buffer
};

class PlanOnHost {
public:
  static llvm::Expected<PlanOnHost> compile(const PlanKind &kind);
  PlanOnHost(PlanOnHost &&);
  ~PlanOnHost();
  /// Runs all CTAs, on buffers of so many entries (pieces).
  PlanOutput run(const PlanInput &input, int64_t pieces) const;

private:
  struct State;
  explicit PlanOnHost(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mla_test

#endif // MLA_TEST_UNIT_PLANONHOST_H
