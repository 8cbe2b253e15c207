//===- HostLibrary.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLibrary.h"

#include "cache/BuildId.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace llvm;

namespace mla_jit {

static std::string findLibrary() {
  std::string name = "libmla_jit.so." + std::to_string(MLA_VERSION >> 16);
  static const char anchor = 0;
  std::string tool =
      sys::fs::getMainExecutable("mla-jit", const_cast<char *>(&anchor));
  StringRef prefix = sys::path::parent_path(sys::path::parent_path(tool));
  for (const char *directory : {"lib", "runtime"}) {
    SmallString<128> path(prefix);
    sys::path::append(path, directory, name);
    if (sys::fs::exists(path))
      return path.str().str();
  }
  return name;
}

Expected<HostLibrary> HostLibrary::load(StringRef path) {
  std::string found = path.empty() ? findLibrary() : path.str();
  void *handle = dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return createStringError("--library requires the library that hosts load, "
                             "but it cannot be: " +
                             Twine(dlerror()));
  HostLibrary library;
#define MLA_HOST_FIND(name)                                                    \
  library.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name));    \
  if (!library.name)                                                           \
    return createStringError("--library requires a library with " #name        \
                             ", but got '" +                                   \
                             found + "'");
  MLA_HOST_FUNCTIONS(MLA_HOST_FIND)
#undef MLA_HOST_FIND
  auto id = cache::buildIdOf(
      reinterpret_cast<const void *>(library.mla_engine_create));
  if (!id)
    return createStringError("'" + found + "': " + id.error().message);
  library.buildId = *id;
  return library;
}

static Error toError(const mla_status &status) {
  if (status.code == MLA_OK)
    return Error::success();
  return createStringError(status.message);
}

static mla_status makeStatus() {
  mla_status status;
  MLA_INIT(&status);
  return status;
}

Expected<HostEngine> HostEngine::create(const HostLibrary &library,
                                        const mla_engine_options &options) {
  mla_engine *engine = nullptr;
  mla_status status = makeStatus();
  library.mla_engine_create(&options, &engine, &status);
  if (Error error = toError(status))
    return std::move(error);
  return HostEngine(library, Handle(engine, library.mla_engine_destroy));
}

Expected<std::vector<mla_spec>> HostEngine::readSpecs(StringRef text,
                                                      StringRef name) const {
  std::vector<mla_spec> specs;
  std::string paragraph;
  int first = 0;
  auto finish = [&]() -> Error {
    if (paragraph.empty())
      return Error::success();
    mla_spec spec;
    MLA_INIT(&spec);
    mla_status status = makeStatus();
    library.mla_spec_from_text(handle.get(), paragraph.c_str(), &spec, &status);
    paragraph.clear();
    if (Error error = toError(status))
      return createStringError(name + ":" + Twine(first) + ": " +
                               toString(std::move(error)));
    specs.push_back(spec);
    return Error::success();
  };
  int number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    line = line.trim();
    if (line.starts_with("#"))
      continue;
    if (line.empty()) {
      if (Error error = finish())
        return std::move(error);
      continue;
    }
    if (paragraph.empty())
      first = number;
    paragraph += line.str() + "\n";
  }
  if (Error error = finish())
    return std::move(error);
  return specs;
}

Error HostEngine::prepare(const std::vector<mla_spec> &specs) const {
  std::vector<mla_kernel *> kernels(specs.size());
  mla_status status = makeStatus();
  library.mla_prepare_many(handle.get(), specs.data(),
                           static_cast<int32_t>(specs.size()), kernels.data(),
                           nullptr, nullptr, &status);
  for (mla_kernel *kernel : kernels)
    library.mla_kernel_release(kernel);
  return toError(status);
}

Error HostEngine::buildArchive(const std::vector<mla_spec> &specs,
                               const std::string &path) const {
  mla_status status = makeStatus();
  library.mla_archive_build(handle.get(), specs.data(),
                            static_cast<int32_t>(specs.size()), path.c_str(),
                            &status);
  return toError(status);
}

mla_counters HostEngine::counters() const {
  mla_counters counters;
  MLA_INIT(&counters);
  library.mla_engine_counters(handle.get(), &counters, nullptr);
  return counters;
}

} // namespace mla_jit
