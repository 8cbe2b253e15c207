//===- PtxTools.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Finding and running NVIDIA's programs.
//
//===----------------------------------------------------------------------===//

#include "mla/Target/PtxReport.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <thread>

using namespace mlir;
using llvm::createStringError;

static constexpr llvm::StringLiteral kToolkit = "/usr/local/cuda/bin";

char mla::ToolNotFound::ID;

void mla::ToolNotFound::log(llvm::raw_ostream &stream) const {
  stream << names << " not found in PATH or " << kToolkit;
}

std::error_code mla::ToolNotFound::convertToErrorCode() const {
  return std::make_error_code(std::errc::no_such_file_or_directory);
}

llvm::Expected<std::string>
mla::findTool(llvm::ArrayRef<llvm::StringRef> names) {
  for (llvm::StringRef name : names) {
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
    if (auto path = llvm::sys::findProgramByName(name, {kToolkit}))
      return *path;
  }
  return llvm::make_error<ToolNotFound>(
      llvm::join(names.begin(), names.end(), " or "));
}

llvm::Expected<mla::ToolResult>
mla::runTool(llvm::StringRef path, llvm::ArrayRef<std::string> arguments,
             std::chrono::milliseconds timeLimit) {
  llvm::SmallString<128> log;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("mla-tool", "log", log))
    return createStringError(error, "cannot create a temporary file");
  llvm::FileRemover remover(log);

  llvm::SmallVector<llvm::StringRef> argv = {path};
  argv.append(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {"", log.str(), log.str()};
  std::string message;
  bool failed = false;
  auto start = std::chrono::steady_clock::now();
  llvm::sys::ProcessInfo process = llvm::sys::ExecuteNoWait(
      path, argv, std::nullopt, redirects, 0, &message, &failed);
  if (failed)
    return createStringError("cannot start " + path + ": " + message);

  // Polled: LLVM's wait with a time limit takes SIGALRM from the process, and
  // one that does not block leaves its handler there.
  int status = 0;
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(2 * pause, std::chrono::milliseconds(8))) {
    pid_t ended = ::waitpid(process.Pid, &status, WNOHANG);
    if (ended == process.Pid)
      break;
    if (ended < 0 && errno != EINTR)
      return createStringError(std::error_code(errno, std::generic_category()),
                               "cannot wait for " + path);
    if (timeLimit.count() > 0 &&
        std::chrono::steady_clock::now() - start > timeLimit) {
      ::kill(process.Pid, SIGKILL);
      ::waitpid(process.Pid, &status, 0);
      return createStringError(std::make_error_code(std::errc::timed_out),
                               path +
                                   " was not done within the time limit of " +
                                   llvm::Twine(timeLimit.count()) + " ms");
    }
    std::this_thread::sleep_for(pause);
  }
  if (!WIFEXITED(status))
    return createStringError(path + " failed: ended by signal " +
                             llvm::Twine(WTERMSIG(status)) + ", " +
                             ::strsignal(WTERMSIG(status)));
  auto buffer = llvm::MemoryBuffer::getFile(log);
  if (!buffer)
    return createStringError(buffer.getError(),
                             "cannot read what " + path + " printed");
  return ToolResult{WEXITSTATUS(status), (*buffer)->getBuffer().str()};
}

unsigned mla::ptxVersionOfRelease(llvm::StringRef release) {
  unsigned major, minor;
  auto [majorText, minorText] = release.split('.');
  if (majorText.getAsInteger(10, major) || minorText.getAsInteger(10, minor))
    return 0;
  static constexpr unsigned kOf11[] = {70, 71, 72, 73, 74, 75, 76, 77, 78};
  static constexpr unsigned kOf12[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
  if (major == 11 && minor < std::size(kOf11))
    return kOf11[minor];
  if (major == 12 && minor < std::size(kOf12))
    return kOf12[minor];
  if (major >= 13) // at least that
    return major == 13 ? std::min(90 + minor, 99u) : 99;
  return 0;
}

llvm::Expected<mla::Assembler> mla::findAssembler(llvm::StringRef path) {
  Assembler assembler{path.str(), {}, {}, 0};
  if (path.empty()) {
    auto found = findTool({"ptxas"});
    if (!found)
      return found.takeError();
    assembler.path = *found;
  }
  auto result =
      runTool(assembler.path, {"--version"}, std::chrono::seconds(10));
  if (!result)
    return result.takeError();
  // "Cuda compilation tools, release 13.0, V13.0.88"
  llvm::StringRef text = result->output;
  assembler.release = text.split("release ").second.split(',').first.str();
  assembler.version = parseAssemblerVersion(text.split(", V").second);
  assembler.ptxVersion = ptxVersionOfRelease(assembler.release);
  if (!assembler.ptxVersion)
    return createStringError(assembler.path +
                             " does not say of which known release it is");
  return assembler;
}
