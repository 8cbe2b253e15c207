//===- KernelStoreArchives.cpp --------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The archives that kernels are looked for in, and the entries of new ones.
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "KernelStore.h"

namespace mla_jit {

std::optional<cache::Entry>
KernelStore::findInArchives(const cache::CacheKey &key) {
  std::shared_lock lock(archivesMutex);
  auto opened = archives;
  lock.unlock();
  for (const auto &archive : opened) {
    auto entry = archive->lookup(key);
    if (entry)
      return *entry;
    if (entry.error().kind == cache::ErrorKind::Damaged)
      tell(EngineEvent::Kind::CacheWarning, nullptr, 0, entry.error().message);
  }
  return std::nullopt;
}

llvm::Error KernelStore::append(cache::ArchiveBuilder &builder,
                                const KernelKeys &keys,
                                const cache::Entry &entry) {
  auto renamed = cache::Entry::make(keys.archive, build, entry.sections());
  if (!renamed)
    return fail(FailureKind::Archive, renamed.error().message);
  if (auto done = builder.append(*renamed); !done)
    return fail(FailureKind::Archive, done.error().message);
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<cache::Archive>>
KernelStore::openArchive(const std::string &path, const cache::Digest *pin) {
  auto opened = cache::Archive::open(path, pin);
  if (!opened)
    return fail(FailureKind::Archive, opened.error().message);
  std::shared_ptr<cache::Archive> archive = std::move(*opened);
  if (archive->buildId() != build)
    return fail(FailureKind::Archive,
                "archive '" + path + "' requires the build " +
                    archive->buildId() + " of the library, but this is " +
                    build);
  std::unique_lock lock(archivesMutex);
  archives.insert(archives.begin(), archive);
  return archive;
}

void KernelStore::closeArchive(const std::shared_ptr<cache::Archive> &archive) {
  std::unique_lock lock(archivesMutex);
  std::erase(archives, archive);
}

} // namespace mla_jit
