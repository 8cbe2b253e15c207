//===- HostCode.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"
#include "mla/Target/Contained.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace llvm;

namespace mla_jit {

struct HostCode::State {
  explicit State(std::unique_ptr<orc::ExecutorProcessControl> process)
      : session(std::move(process)), layer(session) {
    // Which would print it.
    session.setErrorReporter(
        [this](Error error) { reported += "\n" + toString(std::move(error)); });
  }
  ~State() { cantFail(session.endSession()); }

  std::string reported; ///< of the reason why symbols were not found
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  std::vector<void *> addresses;
};

HostCode::HostCode(std::unique_ptr<State> state) : state(std::move(state)) {}
HostCode::HostCode(HostCode &&) = default;
HostCode &HostCode::operator=(HostCode &&) = default;
HostCode::~HostCode() = default;

const std::vector<void *> &HostCode::addresses() const {
  return state->addresses;
}

/// What code may call, by our own addresses: names that a process exports need
/// not be those of the library that loads it.
static Error defineLibraryCalls(orc::ExecutionSession &session,
                                orc::JITDylib &library) {
  orc::SymbolMap calls;
  auto add = [&](const char *name, auto *function) {
    calls[session.intern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                   JITSymbolFlags::Exported};
  };
  add("memcpy", &std::memcpy);
  add("memmove", &std::memmove);
  add("memset", &std::memset);
  return library.define(orc::absoluteSymbols(std::move(calls)));
}

Expected<HostCode> HostCode::link(StringRef object,
                                  const std::vector<std::string> &symbols) {
  auto process = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  auto state = std::make_unique<State>(std::move(*process));
  orc::JITDylib &library = state->session.createBareJITDylib("kernel");
  if (Error error = defineLibraryCalls(state->session, library))
    return std::move(error);
  auto others = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!others)
    return others.takeError();
  library.addGenerator(std::move(*others));
  if (Error error = state->layer.add(
          library, MemoryBuffer::getMemBufferCopy(object, "mla_kernel")))
    return std::move(error);
  for (const std::string &symbol : symbols) {
    auto found = state->session.lookup({&library}, symbol);
    if (!found)
      return mlir::mla::inStage(
          "link",
          createStringError(toString(found.takeError()) + state->reported));
    state->addresses.push_back(found->getAddress().toPtr<void *>());
  }
  return HostCode(std::move(state));
}

} // namespace mla_jit
