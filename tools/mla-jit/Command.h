//===- Command.h ---------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the subcommands have in common: how one is declared, how it ends, and
// how it speaks.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_COMMAND_H
#define MLA_JIT_TOOLS_COMMAND_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mla_jit {

/// A subcommand. It is made only when it was asked for, before the command line
/// is parsed, and owns its options, all of them in `sub`.
class Command {
public:
  Command(const char *name, const char *description) : sub(name, description) {}
  virtual ~Command() = default;

  /// Does the work. An error exits 1 (a UsageError 2) and is printed by main.
  virtual llvm::Error run() = 0;

  llvm::cl::SubCommand sub;
  /// What --help shows after the options.
  virtual llvm::StringRef examples() const { return ""; }
};

std::unique_ptr<Command> makeGenCommand();
std::unique_ptr<Command> makeRunCommand();
std::unique_ptr<Command> makeCompileCommand();
std::unique_ptr<Command> makeVerifyCommand();
std::unique_ptr<Command> makeVerifyRuntimeCommand();
std::unique_ptr<Command> makeDoctorCommand();
std::unique_ptr<Command> makeBenchCommand();
std::unique_ptr<Command> makeCacheCommand();

/// A command line that makes no sense, as against one that cannot be done.
class UsageError : public llvm::ErrorInfo<UsageError> {
public:
  static char ID;
  explicit UsageError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
};
inline llvm::Error usageError(const llvm::Twine &text) {
  return llvm::make_error<UsageError>(text.str());
}

/// Where options write while a command line is parsed.
llvm::raw_ostream &usageStream();

/// "name=value" as a number.
llvm::Expected<std::pair<std::string, double>>
parseAssignment(llvm::StringRef flag, llvm::StringRef text);

/// Parses a command line for one command. Nothing: it was right (what --help
/// prints ends the process).
llvm::Error parseCommandLine(Command &command, int argc, char **argv);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_COMMAND_H
