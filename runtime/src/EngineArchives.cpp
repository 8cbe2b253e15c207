//===- EngineArchives.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Archives: kernels of many specs in one file.
//
//===----------------------------------------------------------------------===//

#include "EngineState.h"
#include "Failure.h"

#include <atomic>

namespace mla_jit {

ContextPtr Engine::State::archivesDevice() {
  return options.chip.empty() ? deviceIfAny() : nullptr;
}

llvm::Expected<std::vector<Engine::State::Wanted>>
Engine::State::findWanted(llvm::ArrayRef<Spec> specs) {
  std::vector<Wanted> wanted;
  for (const auto &[place, spec] : llvm::enumerate(specs)) {
    auto keys = makeKeys(spec, archivesDevice().get());
    if (!keys)
      return keys.takeError();
    if (llvm::none_of(wanted, [&](const Wanted &other) {
          return other.keys.archive == keys->archive;
        }))
      wanted.push_back({place, &spec, std::move(*keys)});
  }
  return wanted;
}

static llvm::Error nameSpec(size_t place, llvm::Error error) {
  Failure failure = describeFailure(std::move(error));
  failure.message = "spec " + std::to_string(place) + ": " + failure.message;
  return llvm::make_error<FailureError>(std::move(failure));
}

llvm::Error Engine::State::appendAll(llvm::ArrayRef<Wanted> wanted,
                                     cache::ArchiveBuilder &builder) {
  std::vector<std::optional<llvm::Expected<cache::Entry>>> entries(
      wanted.size());
  std::atomic<size_t> next = 0;
  auto work = [&](size_t) {
    for (size_t i = next++; i < wanted.size(); i = next++)
      entries[i].emplace(store.entry(wanted[i].keys, [&](const auto &trail) {
        return compileCode(*wanted[i].spec, wanted[i].keys,
                           archivesDevice().get(), trail);
      }));
  };
  size_t count = std::min(compileThreads(), wanted.size());
  auto share = budget.take(compileThreads(), std::max<size_t>(count, 1));
  ThreadGroup threads;
  if (!threads.start(count, work))
    work(0);
  threads.join();

  llvm::Error first = llvm::Error::success();
  for (const auto &[what, entry] : llvm::zip(wanted, entries)) {
    if (*entry && !first)
      first = store.append(builder, what.keys, **entry);
    else if (!*entry && !first)
      first = nameSpec(what.place, entry->takeError());
    else if (!*entry)
      llvm::consumeError(entry->takeError());
  }
  return first;
}

llvm::Error Engine::buildArchive(llvm::ArrayRef<Spec> specs,
                                 const std::string &path) {
  auto builder = cache::ArchiveBuilder::create(path, state->store.buildId());
  if (!builder)
    return fail(FailureKind::Archive, builder.error().message);
  auto wanted = state->findWanted(specs);
  if (!wanted)
    return wanted.takeError();
  // What is made and not yet written is in memory.
  size_t most = 4 * state->compileThreads();
  for (size_t begin = 0; begin < wanted->size(); begin += most) {
    size_t count = std::min(most, wanted->size() - begin);
    if (llvm::Error error = state->appendAll(
            llvm::ArrayRef(*wanted).slice(begin, count), *builder))
      return error;
  }
  if (auto finished = builder->finish(); !finished)
    return fail(FailureKind::Archive, finished.error().message);
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<cache::Archive>>
Engine::openArchive(const std::string &path, const cache::Digest *pin) {
  return state->store.openArchive(path, pin);
}

void Engine::closeArchive(const std::shared_ptr<cache::Archive> &archive) {
  state->store.closeArchive(archive);
}

} // namespace mla_jit
