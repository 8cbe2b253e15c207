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

static std::string &usageText() {
  static std::string text;
  return text;
}

raw_ostream &usageStream() {
  static raw_string_ostream stream(usageText());
  return stream;
}

/// The first complaint of LLVM's parser and its advice, in one line.
static std::string shorten(StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string message;
  for (StringRef line : lines) {
    line.consume_front("mla-jit: ");
    bool isAdvice = line.starts_with("Did you mean");
    if (!message.empty() && !isAdvice)
      break;
    line = line.take_until([](char c) { return c == '!'; });
    line = line.substr(0, line.find(".  Try: "));
    if (line.consume_front("for the ")) {
      auto [flag, complaint] = line.split(" option: ");
      message += (flag + " " + complaint).str();
      continue;
    }
    if (isAdvice)
      message += "; did" + line.drop_front(3).str();
    else if (line.consume_front("Unknown command line argument "))
      message += "unknown argument " + line.str();
    else
      message += line.str();
  }
  return message;
}

Error parseCommandLine(Command &command, int argc, char **argv) {
  // --help is about our flags.
  DenseMap<StringRef, cl::Option *> &options =
      cl::getRegisteredOptions(command.sub);
  for (StringRef name : {"help-list", "help-list-hidden", "help-hidden",
                         "print-options", "print-all-options"})
    options.erase(name);
  for (auto &[name, option] : options)
    if (option->Categories.front()->getName() == "Generic Options")
      option->setHiddenFlag(cl::ReallyHidden);
  cl::extrahelp examples(command.examples());

  if (cl::ParseCommandLineOptions(argc, argv, "", &usageStream(), nullptr,
                                  nullptr, /*LongOptionsUseDoubleDash=*/true))
    return Error::success();
  std::string message = shorten(usageText());
  // Empty: LLVM has already said it.
  return usageError(message);
}

} // namespace mla_jit
