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

#include "mla/Target/Contained.h"
#include "mla/Target/PtxReport.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using llvm::createStringError;

static constexpr llvm::StringLiteral kToolkit = "/usr/local/cuda/bin";

char mla::ToolNotFound::ID;

void mla::ToolNotFound::log(llvm::raw_ostream &stream) const {
  stream << message;
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
      llvm::join(names.begin(), names.end(), " or ") +
      " not found in PATH or " + kToolkit.str());
}

static std::error_code errorCode(int number) {
  return {number, std::generic_category()};
}

/// Starts a program that reads nothing and writes to `log`. It may wait for
/// programs of its own, also where this process ignores SIGCHLD.
static llvm::Expected<pid_t> startTool(const std::string &path,
                                       llvm::ArrayRef<std::string> arguments,
                                       int log) {
  llvm::SmallVector<char *> argv = {const_cast<char *>(path.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // In this order: `log` may be 0 where the process has closed that.
  posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGCHLD);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  int error = ::posix_spawn(&process, path.c_str(), &files, &attributes,
                            argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error)
    return createStringError(errorCode(error),
                             "cannot start " + path + ": " + ::strerror(error));
  return process;
}

/// The status of waitpid; nothing if the program has ended, but somebody else
/// was told how.
static llvm::Expected<std::optional<int>>
waitForTool(const std::string &path, pid_t process,
            std::chrono::milliseconds timeLimit) {
  auto start = std::chrono::steady_clock::now();
  // Polled: LLVM's wait with a time limit takes SIGALRM from the process, and
  // one that does not block leaves its handler there.
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(2 * pause, std::chrono::milliseconds(8))) {
    int status = 0;
    pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process)
      return status;
    if (ended < 0 && errno == ECHILD)
      return std::nullopt;
    if (timeLimit.count() > 0 &&
        std::chrono::steady_clock::now() - start > timeLimit) {
      ::kill(process, SIGKILL);
      ::waitpid(process, &status, 0);
      return createStringError(std::make_error_code(std::errc::timed_out),
                               path +
                                   " was not done within the time limit of " +
                                   llvm::Twine(timeLimit.count()) + " ms");
    }
    std::this_thread::sleep_for(pause);
  }
}

llvm::Expected<mla::ToolResult>
mla::runTool(llvm::StringRef name, llvm::ArrayRef<std::string> arguments,
             std::chrono::milliseconds timeLimit) {
  std::string path = name.str();
  int log = ::memfd_create("mla-tool", MFD_CLOEXEC);
  if (log < 0)
    return createStringError(errorCode(errno),
                             "no memory for what " + path +
                                 " prints: " + ::strerror(errno));
  auto close = llvm::make_scope_exit([&] { ::close(log); });
  auto process = startTool(path, arguments, log);
  if (!process)
    return process.takeError();
  auto status = waitForTool(path, *process, timeLimit);
  if (!status)
    return status.takeError();
  if (*status && !WIFEXITED(**status))
    return createStringError(path + " failed: ended by signal " +
                             llvm::Twine(WTERMSIG(**status)) + ", " +
                             ::strsignal(WTERMSIG(**status)));
  auto buffer = llvm::MemoryBuffer::getOpenFile(log, path, /*FileSize=*/-1);
  if (!buffer)
    return createStringError(buffer.getError(),
                             "cannot read what " + path + " printed");
  ToolResult result;
  if (*status)
    result.status = WEXITSTATUS(**status);
  result.output = (*buffer)->getBuffer().str();
  return result;
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

static llvm::Expected<mla::Assembler> readVersion(llvm::StringRef path) {
  auto result = mla::runTool(path, {"--version"}, std::chrono::seconds(10));
  if (!result)
    return result.takeError();
  if (result->status.value_or(0) != 0)
    return createStringError(llvm::formatv("{0} --version failed: exit status "
                                           "{1}\n{2}",
                                           path, *result->status,
                                           result->output));
  // "Cuda compilation tools, release 13.0, V13.0.88"
  llvm::StringRef text = result->output;
  mla::Assembler assembler;
  assembler.path = path.str();
  assembler.release = text.split("release ").second.split(',').first.str();
  assembler.version = mla::parseAssemblerVersion(text.split(", V").second);
  assembler.ptxVersion = mla::ptxVersionOfRelease(assembler.release);
  if (!assembler.ptxVersion || assembler.version == mla::AssemblerVersion() ||
      assembler.version.patch == mla::kUnknownPatch)
    return createStringError(path + " --version printed '" +
                             text.trim().take_back(200) + "'");
  return assembler;
}

llvm::Expected<mla::Assembler> mla::askAssembler(llvm::StringRef path) {
  std::error_code access =
      llvm::sys::fs::access(path, llvm::sys::fs::AccessMode::Exist);
  if (access == std::errc::no_such_file_or_directory ||
      access == std::errc::not_a_directory)
    return llvm::make_error<ToolNotFound>("there is no " + path.str());
  auto assembler = readVersion(path);
  if (assembler)
    return assembler;
  std::error_code code;
  std::string why;
  llvm::handleAllErrors(assembler.takeError(),
                        [&](const llvm::ErrorInfoBase &error) {
                          code = error.convertToErrorCode();
                          why = error.message();
                        });
  return inStage("assemble",
                 createStringError(code, "requires a ptxas that says which "
                                         "known release it is, but " +
                                             why));
}

llvm::Expected<mla::Assembler> mla::findAssembler() {
  auto path = findTool({"ptxas"});
  if (!path)
    return path.takeError();
  return askAssembler(*path);
}

std::string mla::nameOf(const Assembler &assembler) {
  const AssemblerVersion &version = assembler.version;
  return llvm::formatv("ptxas {0}.{1}.{2}", version.major, version.minor,
                       version.patch);
}
