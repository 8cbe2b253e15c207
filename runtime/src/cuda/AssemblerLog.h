//===- AssemblerLog.h - What the driver's assembler says --------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_ASSEMBLERLOG_H
#define MLA_JIT_SRC_CUDA_ASSEMBLERLOG_H

#include "DriverAPI.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace mla_jit::cuda {

/// Buffers that the assembler writes to, and the options that say so to the
/// driver. They live as long as the driver may assemble.
class AssemblerLog {
public:
  explicit AssemblerLog(unsigned bytes, bool lineInfo = false)
      : info(bytes + 1), errors(bytes + 1),
        values{info.data(),
               sizeOf(info),
               errors.data(),
               sizeOf(errors),
               reinterpret_cast<void *>(uintptr_t(1)),
               reinterpret_cast<void *>(uintptr_t(lineInfo))} {}
  AssemblerLog(const AssemblerLog &) = delete;
  AssemblerLog &operator=(const AssemblerLog &) = delete;

  unsigned count() const { return names.size(); }
  LinkOption *optionNames() { return names.data(); }
  void **optionValues() { return values.data(); }

  std::string infoText() const { return textOf(info); }
  std::string errorText() const { return textOf(errors); }

private:
  static void *sizeOf(const std::vector<char> &buffer) {
    return reinterpret_cast<void *>(buffer.size() - 1);
  }
  static std::string textOf(const std::vector<char> &buffer) {
    size_t length = strnlen(buffer.data(), buffer.size() - 1);
    std::string result = llvm::StringRef(buffer.data(), length).rtrim().str();
    if (length + 1 >= buffer.size() - 1)
      result += "\n[cut after " + std::to_string(length) + " bytes]";
    return result;
  }

  std::vector<char> info, errors;
  std::array<LinkOption, 6> names = {
      LinkOption::InfoLog,    LinkOption::InfoLogBytes,
      LinkOption::ErrorLog,   LinkOption::ErrorLogBytes,
      LinkOption::LogVerbose, LinkOption::LineInfo};
  std::array<void *, 6> values;
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_ASSEMBLERLOG_H
