//===- Command.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

char UsageError::ID = 0;

Expected<std::pair<std::string, double>> parseAssignment(StringRef flag,
                                                         StringRef text) {
  auto [name, value] = text.split('=');
  double number;
  if (name.empty() || value.empty() || value.getAsDouble(number))
    return usageError(flag + " requires NAME=NUMBER, but got '" + text + "'");
  return std::pair(name.str(), number);
}

Error parseCommandLine(Command &command, int argc, char **argv) {
  // LLVM's own options work, but --help is about ours.
  for (auto &[name, option] : cl::getRegisteredOptions(command.sub))
    if (llvm::any_of(option->Categories, [](cl::OptionCategory *category) {
          return category == &cl::getGeneralCategory() ||
                 category->getName() == "Generic Options";
        }))
      option->setHiddenFlag(cl::ReallyHidden);
  cl::extrahelp examples(command.examples());

  std::string text;
  raw_string_ostream stream(text);
  if (cl::ParseCommandLineOptions(argc, argv, "", &stream, nullptr, nullptr,
                                  /*LongOptionsUseDoubleDash=*/true))
    return Error::success();
  // The parser prefixes its lines with the program's name, as main does too.
  StringRef message = StringRef(text).trim();
  message.consume_front("mla-jit: ");
  return usageError(message);
}

} // namespace mla_jit
