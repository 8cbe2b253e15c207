//===- CInterface.h ---------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A small host application for the tests of the C interface.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_CINTERFACE_H
#define MLA_TEST_UNIT_CINTERFACE_H

#include "mla_jit/mla_jit.hpp"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>

namespace mla_test {

/// 4 heads of 72/64, pages of 16.
inline mla_spec smallSpec() {
  auto spec = mla::make<mla_spec>();
  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_F32;
  spec.h_q = 4;
  spec.h_kv = 1;
  spec.d_qk = 72;
  spec.d_v = 64;
  spec.page_size = 16;
  spec.table_kind = MLA_TABLE_DENSE;
  spec.mask = MLA_MASK_CAUSAL;
  return spec;
}

/// DeepSeek-V3's decode of so many heads: 576/512 in bf16, pages of 64.
inline mla_spec gpuSpec(int32_t heads = 16) {
  mla_spec spec = smallSpec();
  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
  spec.h_q = heads;
  spec.d_qk = 576;
  spec.d_v = 512;
  spec.page_size = 64;
  return spec;
}

inline mla_tensor tensor(void *data, int32_t dtype,
                         std::initializer_list<int64_t> shape) {
  mla_tensor made = {};
  made.data = data;
  made.dtype = dtype;
  made.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), made.shape);
  int64_t stride = 1;
  for (int dim = made.rank; dim-- > 0; stride *= made.shape[dim])
    made.stride[dim] = stride;
  return made;
}

/// An engine of 2 threads without a cache on disk, unless a change says so.
inline mla::Engine
makeEngine(const std::function<void(mla_engine_options &)> &change = {}) {
  auto options = mla::make<mla_engine_options>();
  options.num_sms = 2;
  options.cache_dir = "";
  if (change)
    change(options);
  auto engine = mla::Engine::create(options);
  if (engine)
    return std::move(*engine);
  ADD_FAILURE() << engine.status().message();
  std::abort();
}

/// What a call that was refused with that code, and a reason, is refused for.
inline std::string refusal(const mla::Status &status, mla_code code) {
  EXPECT_EQ(status.code(), code)
      << mla_code_name(status.code()) << ": " << status.message();
  EXPECT_STRNE(status.message(), "");
  return status->argument;
}

/// What an engine told, from any thread.
class Events {
public:
  void record(mla_engine_options &options) {
    options.log_user = this;
    options.log = [](void *user, const mla_log *event) {
      auto *events = static_cast<Events *>(user);
      std::lock_guard lock(events->mutex);
      events->told.emplace_back(event->event, event->message);
    };
  }
  /// The messages of one kind.
  std::vector<std::string> of(int32_t kind) {
    std::lock_guard lock(mutex);
    std::vector<std::string> messages;
    for (const auto &[event, message] : told)
      if (event == kind)
        messages.push_back(message);
    return messages;
  }

private:
  std::mutex mutex;
  std::vector<std::pair<int32_t, std::string>> told;
};

inline mla_counters countersOf(const mla::Engine &engine) {
  return *engine.counters();
}

/// Inputs and outputs of one launch of smallSpec's: two requests of 20 and 5
/// keys. Keys hold their number in the first column and q is 0, so the first
/// column of a row's output is the mean of the numbers of its keys.
struct SmallStep {
  explicit SmallStep(const mla_sizes &sizes, int queries = 1)
      : queries(queries), q(size_t(2) * queries * 4 * 72),
        k(size_t(4) * 16 * 72), out(size_t(2) * queries * 4 * 64) {
    for (size_t key = 0; key < 64; ++key)
      k[key * 72] = static_cast<float>(key);
    args = mla::make<mla_args>();
    args.batch = 2;
    args.q_len = queries;
    args.total_q = 2 * queries;
    args.q = tensor(q.data(), MLA_F32, {2, queries, 4, 72});
    args.k = tensor(k.data(), MLA_F32, {4, 16, 1, 72});
    args.out = tensor(out.data(), MLA_F32, {2, queries, 4, 64});
    args.seq_lens = tensor(lengths, MLA_I32, {2});
    args.table = tensor(table, MLA_I32, {2, 2});
    args.softmax_scale = 0.1f;
    args.workspace_bytes = sizes.workspace_bytes;
    args.workspace = std::aligned_alloc(
        sizes.alignment,
        (sizes.workspace_bytes / sizes.alignment + 1) * sizes.alignment);
  }
  ~SmallStep() { std::free(args.workspace); }

  float mean(int request, int query = 0) const {
    return out[(size_t(request) * queries + query) * 4 * 64];
  }

  int queries;
  std::vector<float> q, k, out;
  int32_t lengths[2] = {20, 5};
  int32_t table[4] = {2, 0, 1, -1};
  mla_args args;
};

/// Launches smallSpec's kernel; whether its outputs are right.
inline bool givesTheMeans(mla::Engine &engine, const mla::Kernel &kernel) {
  SmallStep step(*engine.sizes(smallSpec(), 2, 2));
  return kernel.launch(step.args) && std::abs(step.mean(1) - 18) < 1e-4;
}

/// A directory for one test.
struct Scratch {
  Scratch() {
    std::string name = testing::TempDir() + "mla-c-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string path;
};

} // namespace mla_test

#endif // MLA_TEST_UNIT_CINTERFACE_H
