//===- ModuleText.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleText.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

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

llvm::Error checkNesting(llvm::StringRef text) {
  constexpr int kMostNested = 256; // as brackets, or as signs of one number
  int depth = 0, signs = 0;
  bool isInString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (isInString) {
      i += c == '\\';
      isInString = c != '"' && c != '\n';
      continue;
    }
    if (c == '/' && next == '/') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    bool isArrow = c == '-' && next == '>',
         isCompared = (c == '>' || c == '<') && next == '=';
    if (isArrow || isCompared)
      ++i;
    else if (c == '"')
      isInString = true;
    else if (llvm::StringRef("([{<").contains(c))
      ++depth;
    else if (llvm::StringRef(")]}>").contains(c))
      depth = std::max(depth - 1, 0);
    if (!llvm::isSpace(c))
      signs = c == '-' && !isArrow ? signs + 1 : 0;
    if (depth + signs > kMostNested)
      return llvm::createStringError("requires at most " +
                                     llvm::Twine(kMostNested) +
                                     " levels of brackets, but got more");
  }
  return llvm::Error::success();
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
