//===- mla_jit.hpp - The C interface for C++17 ------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Handles that end by themselves, and results that hold a value or a status.
// Header only; throws nothing but what std::string does.
//
//   auto engine = mla::Engine::create(mla::make<mla_engine_options>());
//   auto kernel = engine->prepare(spec);
//   if (!kernel)
//     return complain(kernel.status().message);
//   kernel->launch(args);
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_MLA_JIT_HPP
#define MLA_JIT_MLA_JIT_HPP

#include "mla_jit/mla_jit.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mla {

/// A struct of the C interface, zeroed and with its size.
template <typename T> T make() {
  T value;
  MLA_INIT(&value);
  return value;
}

/// What a call had to say. True: it succeeded.
class [[nodiscard]] Status {
public:
  Status() : what(make<mla_status>()) {}
  explicit operator bool() const { return what.code == MLA_OK; }
  mla_code code() const { return static_cast<mla_code>(what.code); }
  const mla_status *operator->() const { return &what; }
  const char *message() const { return what.message; }
  mla_status *get() { return &what; }

private:
  mla_status what;
};

/// A value, or the status of the call that failed to make one.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state(std::in_place_index<1>, std::move(status)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return *std::get_if<0>(&state); }
  const T &operator*() const { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }
  /// Of a failure.
  const Status &status() const { return *std::get_if<1>(&state); }

private:
  std::variant<T, Status> state;
};

/// Copies share the kernel.
class Kernel {
public:
  Kernel() = default;
  /// Takes over the caller's reference.
  explicit Kernel(mla_kernel *kernel) : handle(kernel, mla_kernel_release) {}

  Status launch(const mla_args &args, void *stream = nullptr) const {
    Status status;
    mla_launch(handle.get(), stream, &args, status.get());
    return status;
  }
  Status schedule(const mla_args &args, void *schedule, size_t bytes,
                  void *stream = nullptr) const {
    Status status;
    mla_schedule(handle.get(), stream, &args, schedule, bytes, status.get());
    return status;
  }
  Status merge(const mla_merge_args &args, void *stream = nullptr) const {
    Status status;
    mla_merge(handle.get(), stream, &args, status.get());
    return status;
  }
  Result<mla_kernel_info> info(int32_t batch = 0, int32_t totalQ = 0) const {
    Status status;
    auto info = make<mla_kernel_info>();
    if (mla_kernel_get_info(handle.get(), batch, totalQ, &info, status.get()))
      return status;
    return info;
  }
  Result<std::string> stage(const char *name) const {
    return text(mla_kernel_get_stage, name);
  }
  Result<std::string> warning(int32_t index) const {
    return text(mla_kernel_get_warning, index);
  }
  Result<mla_arg_info> argument(int32_t index) const {
    Status status;
    auto info = make<mla_arg_info>();
    if (mla_kernel_get_arg(handle.get(), index, &info, status.get()))
      return status;
    return info;
  }
  Result<mla_stage_time> time(int32_t index) const {
    Status status;
    auto time = make<mla_stage_time>();
    if (mla_kernel_get_time(handle.get(), index, &time, status.get()))
      return status;
    return time;
  }
  Result<mla_sizes> sizes(int32_t batch, int32_t totalQ,
                          int32_t maxSplits = 0) const {
    Status status;
    auto sizes = make<mla_sizes>();
    if (mla_kernel_get_sizes(handle.get(), batch, totalQ, maxSplits, &sizes,
                             status.get()))
      return status;
    return sizes;
  }
  Status check(const mla_args &args) const {
    Status status;
    mla_check(handle.get(), &args, status.get());
    return status;
  }
  mla_kernel *get() const { return handle.get(); }
  explicit operator bool() const { return handle != nullptr; }

private:
  template <typename F, typename T>
  Result<std::string> text(F function, T of) const {
    Status status;
    size_t bytes = 0;
    if (function(handle.get(), of, nullptr, &bytes, status.get()))
      return status;
    std::string content(bytes, '\0');
    if (function(handle.get(), of, content.data(), &bytes, status.get()))
      return status;
    content.pop_back(); // the 0
    return content;
  }

  std::shared_ptr<mla_kernel> handle;
};

/// To be gone before its engine.
class Archive {
public:
  explicit Archive(mla_archive *archive) : handle(archive) {}

private:
  struct Close {
    void operator()(mla_archive *archive) const { mla_archive_close(archive); }
  };
  std::unique_ptr<mla_archive, Close> handle;
};

class Engine {
public:
  static Result<Engine> create(const mla_engine_options &options) {
    Status status;
    mla_engine *engine = nullptr;
    if (mla_engine_create(&options, &engine, status.get()))
      return status;
    return Engine(engine);
  }

  Result<Kernel> prepare(const mla_spec &spec) {
    return obtain(spec, mla_prepare);
  }
  Result<Kernel> lookup(const mla_spec &spec) {
    return obtain(spec, mla_lookup);
  }
  Result<Kernel> prepare(const char *mlir, const char *name) {
    Status status;
    mla_kernel *kernel = nullptr;
    if (mla_prepare_mlir(handle.get(), mlir, name, &kernel, status.get()))
      return status;
    return Kernel(kernel);
  }
  /// All of them, or the status of the first that failed.
  Result<std::vector<Kernel>> prepare(const std::vector<mla_spec> &specs) {
    Status status;
    std::vector<mla_kernel *> made(specs.size());
    mla_prepare_many(handle.get(), specs.data(),
                     static_cast<int32_t>(specs.size()), made.data(), nullptr,
                     nullptr, status.get());
    std::vector<Kernel> kernels;
    for (mla_kernel *kernel : made)
      kernels.emplace_back(kernel);
    if (!status)
      return status;
    return kernels;
  }
  /// A stage of a compilation that is for this alone.
  Result<std::string> compile(const mla_spec &spec, const char *stage) {
    Status status;
    std::string content;
    if (mla_compile(handle.get(), &spec, stage, append, &content, status.get()))
      return status;
    return content;
  }
  Result<std::string> compile(const char *mlir, const char *name,
                              const char *stage) {
    Status status;
    std::string content;
    if (mla_compile_mlir(handle.get(), mlir, name, stage, append, &content,
                         status.get()))
      return status;
    return content;
  }
  Status isSupported(const mla_spec &spec) {
    Status status;
    mla_is_supported(handle.get(), &spec, status.get());
    return status;
  }
  Result<mla_sizes> sizes(const mla_spec &spec, int32_t batch = 0,
                          int32_t totalQ = 0) {
    Status status;
    auto sizes = make<mla_sizes>();
    if (mla_sizes_for(handle.get(), &spec, batch, totalQ, &sizes, status.get()))
      return status;
    return sizes;
  }
  Result<mla_target_info> target() const {
    Status status;
    auto info = make<mla_target_info>();
    if (mla_engine_get_target(handle.get(), &info, status.get()))
      return status;
    return info;
  }
  Result<mla_device_info> device() const {
    Status status;
    auto info = make<mla_device_info>();
    if (mla_engine_get_device(handle.get(), &info, status.get()))
      return status;
    return info;
  }
  Result<mla_counters> counters() const {
    Status status;
    auto counters = make<mla_counters>();
    if (mla_engine_counters(handle.get(), &counters, status.get()))
      return status;
    return counters;
  }
  Status setPolicy(mla_policy policy) {
    Status status;
    mla_engine_set_policy(handle.get(), policy, status.get());
    return status;
  }
  Result<uint64_t> trim() {
    Status status;
    uint64_t unloaded = 0;
    if (mla_engine_trim(handle.get(), &unloaded, status.get()))
      return status;
    return unloaded;
  }
  Status buildArchive(const std::vector<mla_spec> &specs, const char *path) {
    Status status;
    mla_archive_build(handle.get(), specs.data(),
                      static_cast<int32_t>(specs.size()), path, status.get());
    return status;
  }
  Result<Archive> openArchive(const char *path,
                              const uint8_t *sha256 = nullptr) {
    Status status;
    mla_archive *archive = nullptr;
    if (mla_archive_open(handle.get(), path, sha256, &archive, status.get()))
      return status;
    return Archive(archive);
  }
  mla_engine *get() const { return handle.get(); }

private:
  explicit Engine(mla_engine *engine) : handle(engine) {}

  template <typename F>
  Result<Kernel> obtain(const mla_spec &spec, F function) {
    Status status;
    mla_kernel *kernel = nullptr;
    if (function(handle.get(), &spec, &kernel, status.get()))
      return status;
    return Kernel(kernel);
  }

  static void append(void *to, const char *content, size_t bytes) {
    static_cast<std::string *>(to)->append(content, bytes);
  }

  struct Destroy {
    void operator()(mla_engine *engine) const { mla_engine_destroy(engine); }
  };
  std::unique_ptr<mla_engine, Destroy> handle;
};

} // namespace mla

#endif // MLA_JIT_MLA_JIT_HPP
