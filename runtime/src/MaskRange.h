//===- MaskRange.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_MASKRANGE_H
#define MLA_JIT_SRC_MASKRANGE_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mla_jit {

/// Which keys a mask lets a run of queries see, as numbers: the mask's own IR,
/// folded on constants. For checks, not for launches.
class MaskRange {
public:
  /// From a mask attribute's text.
  static llvm::Expected<MaskRange> create(const std::string &mask);
  MaskRange(MaskRange &&);
  ~MaskRange();

  /// Names of the launch-time parameters.
  const std::vector<std::string> &parameterNames() const;
  /// What queries at positions first..last see of so many keys.
  struct Keys {
    int64_t begin, end;           ///< a hull of what some query sees
    int64_t innerBegin, innerEnd; ///< keys that every query sees
  };
  Keys keys(int64_t firstQuery, int64_t lastQuery, int64_t numKeys,
            const std::vector<int32_t> &parameters) const;
  /// Whether a query sees a key that exists.
  bool sees(int64_t query, int64_t key,
            const std::vector<int32_t> &parameters) const;
  /// The hull [begin, end) of the keys that queries at these positions see.
  std::pair<int64_t, int64_t>
  visible(int64_t firstQuery, int64_t lastQuery, int64_t numKeys,
          const std::vector<int32_t> &parameters) const;

private:
  struct State;
  explicit MaskRange(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_MASKRANGE_H
