//===- CacheFiles.h -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What is in a cache directory and in archives, of whatever build.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_CACHEFILES_H
#define MLA_JIT_TOOLS_CACHEFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace mla_jit {

namespace cache {
class DiskCache;
} // namespace cache

/// An existing cache directory. `trustGroup`: it may be writable by its group.
llvm::Expected<std::unique_ptr<cache::DiskCache>>
openCacheDirectory(const std::string &path, bool trustGroup, bool readOnly);

/// Prints a line for each entry of the directory (null: none) and the archives;
/// with `keys`, all that its kernel depends on below it.
llvm::Error listCaches(const cache::DiskCache *directory,
                       const std::vector<std::string> &archives, bool keys);

/// Checks every byte; prints what is wrong, which is an error.
llvm::Error verifyCaches(const cache::DiskCache *directory,
                         const std::vector<std::string> &archives);

struct ClearOptions {
  int64_t unusedSeconds = 0;
  /// Entries of this build stay; empty: of none.
  std::string keptBuild;
};
/// Removes entries and prints how many.
void clearCache(cache::DiskCache &directory, const ClearOptions &options);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_CACHEFILES_H
