//===- Contained.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Target/Contained.h"
#include "llvm/ADT/Twine.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>
#include <string>
#include <thread>

using namespace mlir;
using llvm::createStringError;

// LLVM recurses deeply on large functions; only touched pages cost memory.
static constexpr size_t kStackBytes = size_t(32) << 20;

namespace mlir::mla {
/// What runs on the thread of a call.
struct ContainedThread {
  using Call = ContainedCall::State;
  static thread_local Call *current;
  static void handleFatalError(void *, const char *reason, bool);
  static void handleBadAlloc(void *, const char *reason, bool);
  [[noreturn]] static void endWithoutMemory(Call &call);
  static llvm::Error runBody(Call &call);
  static void *run(void *argument);
};
} // namespace mlir::mla

using mla::ContainedThread;

static std::atomic<unsigned> abandonedThreads = 0;
/// Threads of calls that do not stand still, waited for or not.
static std::atomic<unsigned> busyThreads = 0;

/// A process that ends destroys what LLVM's passes use: it must not do so under
/// a thread that is in one. To be registered when calls are left behind, after
/// what they use was made: the last is the first to be destroyed.
static constexpr std::chrono::seconds kLastWait(10);
static void waitAtExit() {
  auto start = std::chrono::steady_clock::now();
  while (busyThreads && std::chrono::steady_clock::now() - start < kLastWait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

static void install() {
  llvm::install_fatal_error_handler(ContainedThread::handleFatalError);
  llvm::install_bad_alloc_error_handler(ContainedThread::handleBadAlloc);
  // A child process has none of the threads.
  pthread_atfork(nullptr, nullptr, [] { busyThreads = 0; });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// One contained call, shared by the caller and the thread.
struct mla::ContainedCall::State {
  llvm::unique_function<llvm::Error()> body;

  std::mutex mutex;
  std::condition_variable changed;
  std::string stage;
  bool finished = false;
  /// Not taken where nobody waits any longer.
  std::optional<llvm::Error> failure;
  bool outOfMemory = false;
  std::atomic<bool> abandoned = false;

  ~State() {
    if (failure)
      llvm::consumeError(std::move(*failure));
  }

  // With the mutex held.
  void abandon() {
    abandoned = true;
    ++abandonedThreads;
    std::atexit(waitAtExit);
  }
  void finish(llvm::Error why) {
    finished = true;
    if (why)
      failure.emplace(std::move(why));
    changed.notify_all();
  }
};

thread_local ContainedThread::Call *ContainedThread::current = nullptr;

[[noreturn]] static void standStill() {
  while (true)
    std::this_thread::sleep_for(std::chrono::hours(24));
}

void mla::standStillIfAbandoned() {
  if (!ContainedThread::current || !ContainedThread::current->abandoned)
    return;
  --busyThreads;
  standStill();
}

unsigned mla::numAbandonedThreads() { return abandonedThreads; }

void ContainedThread::handleFatalError(void *, const char *reason, bool) {
  Call *call = current;
  if (!call) {
    // Not ours: what LLVM prints without a handler. It then ends the process.
    llvm::errs() << "LLVM ERROR: " << reason << "\n";
    return;
  }
  {
    std::lock_guard<std::mutex> lock(call->mutex);
    --busyThreads;
    if (!call->abandoned) {
      call->abandon();
      call->finish(createStringError("stage '" + call->stage + "': " + reason));
    }
  }
  standStill();
}

/// Of LLVM's own allocations, as by malloc. On threads that are not ours as by
/// operator new: what LLVM does where it is built with exceptions.
void ContainedThread::handleBadAlloc(void *, const char *reason, bool) {
  if (current)
    endWithoutMemory(*current);
  throw std::bad_alloc();
}

/// Allocates nothing.
void ContainedThread::endWithoutMemory(Call &call) {
  {
    std::lock_guard<std::mutex> lock(call.mutex);
    --busyThreads;
    if (!call.abandoned) {
      call.abandon();
      call.outOfMemory = true;
      call.finish(llvm::Error::success());
    }
  }
  standStill();
}

/// What is between here and where bad_alloc was thrown was not made to be
/// unwound: it leaks, and may hold locks.
llvm::Error ContainedThread::runBody(Call &call) {
  try {
    return call.body();
  } catch (const std::bad_alloc &) {
    endWithoutMemory(call);
  }
}

void *ContainedThread::run(void *argument) {
  // Held for as long as the thread lives, which may be for good.
  auto call = std::move(*static_cast<std::shared_ptr<Call> *>(argument));
  delete static_cast<std::shared_ptr<Call> *>(argument);
  current = call.get();
  llvm::Error error = runBody(*call);
  // What the body owns goes before anyone hears that it is done.
  call->body = nullptr;
  std::lock_guard<std::mutex> lock(call->mutex);
  if (call->abandoned)
    --abandonedThreads;
  --busyThreads;
  call->finish(std::move(error));
  return nullptr;
}

llvm::Expected<mla::ContainedCall>
mla::ContainedCall::start(llvm::StringRef stage,
                          llvm::unique_function<llvm::Error()> body) {
  static std::once_flag installed;
  std::call_once(installed, install);

  auto call = std::make_shared<State>();
  call->body = std::move(body);
  call->stage = stage.str();

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  auto *argument = new std::shared_ptr<State>(call);
  pthread_t thread;
  ++busyThreads;
  int status =
      pthread_create(&thread, &attributes, ContainedThread::run, argument);
  pthread_attr_destroy(&attributes);
  if (status != 0) {
    --busyThreads;
    delete argument;
    return createStringError("stage '" + stage + "': cannot start a thread: " +
                             llvm::sys::StrError(status));
  }
  return ContainedCall(std::move(call));
}

llvm::Error mla::ContainedCall::wait(std::chrono::milliseconds timeLimit) {
  std::unique_lock<std::mutex> lock(state->mutex);
  auto isFinished = [&] { return state->finished; };
  if (timeLimit.count() <= 0)
    state->changed.wait(lock, isFinished);
  else if (!state->changed.wait_for(lock, timeLimit, isFinished)) {
    state->abandon();
    return createStringError(std::make_error_code(std::errc::timed_out),
                             "stage '" + llvm::Twine(state->stage) +
                                 "': not done within the time limit of " +
                                 llvm::Twine(timeLimit.count()) + " ms");
  }
  if (state->outOfMemory)
    return llvm::make_error<OutOfMemoryError>(state->stage);
  if (state->failure)
    return std::move(*state->failure);
  return llvm::Error::success();
}

llvm::Error mla::runContained(llvm::StringRef stage,
                              llvm::unique_function<llvm::Error()> body,
                              std::chrono::milliseconds timeLimit) {
  auto call = ContainedCall::start(stage, std::move(body));
  return call ? call->wait(timeLimit) : call.takeError();
}

char mla::OutOfMemoryError::ID;
void mla::OutOfMemoryError::log(llvm::raw_ostream &stream) const {
  stream << "stage '" << stage << "': requires more memory than there is";
}
std::error_code mla::OutOfMemoryError::convertToErrorCode() const {
  return std::make_error_code(std::errc::not_enough_memory);
}

llvm::Error mla::inStage(llvm::StringRef stage, llvm::Error error) {
  std::error_code code;
  std::string text;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    code = info.convertToErrorCode();
    text += (text.empty() ? "" : "\n") + info.message();
  });
  return createStringError(code, "stage '" + stage + "': " + text);
}

mla::ContainedStage::ContainedStage(llvm::StringRef name) {
  if (!ContainedThread::current)
    return;
  standStillIfAbandoned();
  std::lock_guard<std::mutex> lock(ContainedThread::current->mutex);
  previous = std::exchange(ContainedThread::current->stage, name.str());
}

mla::ContainedStage::~ContainedStage() {
  if (!ContainedThread::current)
    return;
  std::lock_guard<std::mutex> lock(ContainedThread::current->mutex);
  ContainedThread::current->stage = std::move(previous);
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

namespace {

/// Gathers errors; lets all else pass unseen.
struct ErrorCollector : llvm::DiagnosticHandler {
  static char tag;
  std::string errors;

  ErrorCollector() : DiagnosticHandler(&tag) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream stream(errors);
    stream << (errors.empty() ? "" : "\n");
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
};

char ErrorCollector::tag;

} // namespace

void mla::prepareContext(llvm::LLVMContext &context) {
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>());
  context.setYieldCallback(
      [](llvm::LLVMContext *, void *) { standStillIfAbandoned(); }, nullptr);
}

llvm::Error mla::takeDiagnostics(llvm::LLVMContext &context) {
  auto *handler =
      const_cast<llvm::DiagnosticHandler *>(context.getDiagHandlerPtr());
  if (!handler || handler->DiagnosticContext != &ErrorCollector::tag)
    return llvm::Error::success();
  auto &errors = static_cast<ErrorCollector *>(handler)->errors;
  if (errors.empty())
    return llvm::Error::success();
  return createStringError(std::exchange(errors, {}));
}
