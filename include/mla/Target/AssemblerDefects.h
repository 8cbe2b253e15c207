//===- AssemblerDefects.h ------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Versions of NVIDIA's assembler that are known to make wrong code for chips
// and instructions that this project uses, and those that are known to make
// right code of this project's kernels. ptxas and the driver's assembler of
// the same version are one program.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TARGET_ASSEMBLERDEFECTS_H
#define MLA_TARGET_ASSEMBLERDEFECTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::mla {

/// {13, 0, 88} of "V13.0.88".
struct AssemblerVersion {
  unsigned major = 0, minor = 0, patch = 0;

  auto operator<=>(const AssemblerVersion &) const = default;
};

/// Of a driver, which tells the first two parts only: a defect that may have
/// been fixed in between is not held against it.
inline constexpr unsigned kUnknownPatch = ~0u;

/// A defect of all versions from `first` on that are before `fixed`.
struct AssemblerDefect {
  AssemblerVersion first, fixed;
  /// The version is not to be used. Otherwise other kernels than ours were hit:
  /// `mla-jit doctor` and `verify` tell.
  bool denied;
  llvm::StringRef text; ///< what it does, and who says so
};

llvm::ArrayRef<AssemblerDefect> getAssemblerDefects();

/// The defects that a version has.
llvm::SmallVector<AssemblerDefect>
findDefects(AssemblerVersion version,
            llvm::ArrayRef<AssemblerDefect> known = getAssemblerDefects());

/// Whether all of the project's numeric suite was right on a device of that
/// chip with code of this assembler: "driver 580.159.04", "ptxas 13.0.88".
bool isVerifiedAssembler(llvm::StringRef name, llvm::StringRef chip);

/// The version in "V13.0.88", "CUDA 13.0" or "13.0"; zeros if there is none.
AssemblerVersion parseAssemblerVersion(llvm::StringRef text);

} // namespace mlir::mla

#endif // MLA_TARGET_ASSEMBLERDEFECTS_H
