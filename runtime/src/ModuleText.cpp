//===- ModuleText.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleText.h"

using namespace mlir;

namespace mla_jit {

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Else each print verifies.
  module->print(stream,
                OpPrintingFlags().printNameLocAsPrefix().assumeVerified());
  return text;
}

std::string textOf(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

llvm::Error
TextBeside::start(llvm::unique_function<void(const std::string &)> printed) {
  auto started = mla::ContainedCall::start(
      "print",
      [module = *copy, text = text, printed = std::move(printed)]() mutable {
        *text = textOf(module);
        printed(*text);
        return llvm::Error::success();
      });
  if (!started)
    return started.takeError();
  call = std::move(*started);
  return llvm::Error::success();
}

llvm::Expected<std::string> TextBeside::wait() {
  if (call)
    if (llvm::Error error = std::exchange(call, std::nullopt)->wait())
      return std::move(error);
  return std::move(*text);
}

} // namespace mla_jit
