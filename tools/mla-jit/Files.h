//===- Files.h ------------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Files and progress: what goes to and comes from outside.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_FILES_H
#define MLA_JIT_TOOLS_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace mla_jit {

/// The text of a file; "-" is standard input.
llvm::Expected<std::string> readText(llvm::StringRef path);

/// Writes to a file that appears complete or not at all; "-" is standard
/// output.
llvm::Error writeBytes(llvm::StringRef path, llvm::StringRef bytes);

/// Says early that a file cannot be written: its directory does not exist, it
/// is a directory itself, or it is a device and would be `replaced`, as
/// writeSafetensors does. `flag` is for the message.
llvm::Error checkWritable(llvm::StringRef flag, llvm::StringRef path,
                          bool replaced = true);

/// "4.7 MB".
std::string formatBytes(uint64_t bytes);
/// "812 us", "35.2 ms", "4.1 s".
std::string formatSeconds(double seconds);

/// Says on standard error what takes longer than a second, and at its end how
/// long it took.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();

private:
  std::string what;
  bool done = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread speaker;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_FILES_H
