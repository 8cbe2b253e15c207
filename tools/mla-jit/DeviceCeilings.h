//===- DeviceCeilings.h --------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a GPU can do at the most: kernels that only read, or only multiply.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_DEVICECEILINGS_H
#define MLA_JIT_TOOLS_DEVICECEILINGS_H

#include "DeviceLaunch.h"

namespace mla_jit {

struct DeviceCeilings {
  double readGBytes = 0; ///< GB/s
  int readCTAs = 0;      ///< of the grid that read so fast
  double mmaTFlops = 0;  ///< TFLOP/s of bf16; 0: no kernel for this chip
};

/// Measures on device memory of `bytes` at `data`, which it does not change:
/// random bf16 numbers, much more of them than the L2 holds. The power that
/// products take depends on the numbers.
llvm::Expected<DeviceCeilings> measureCeilings(const DeviceSession &session,
                                               cuda::DevicePtr data,
                                               size_t bytes);

/// PTX of `read(data, sink, i32 steps)`: a CTA of kReadThreads threads reads
/// 16 bytes a thread, and again so much behind all CTAs' bytes.
inline constexpr int kReadThreads = 256;
/// Reads of a thread in one of its steps.
inline constexpr int kReadsPerStep = 8;
std::string getReadPTX();

/// PTX of `multiply(data, sink, i32 steps)`: two warpgroups, each
/// kProductsPerStep times 64 x 256 x 16 in a step, of operands in
/// kProductSharedBytes of dynamic shared memory.
inline constexpr int kProductsPerStep = 16;
inline constexpr int kProductSharedBytes = 48 * 1024;
std::string getMultiplyPTX();

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_DEVICECEILINGS_H
