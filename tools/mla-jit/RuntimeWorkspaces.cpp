//===- RuntimeWorkspaces.cpp ----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Workspaces: of any contents, and of just the size that is asked for.
//
//===----------------------------------------------------------------------===//

#include "RuntimeHost.h"

#include <cmath>
#include <cstring>

using namespace llvm;

namespace mla_jit {

GuardedWorkspace::GuardedWorkspace(Check &check, const RuntimeHost &host,
                                   const cuda::Stream &stream, size_t bytes) {
  if (!check.ok())
    return;
  memory = check.get(
      cuda::DeviceBuffer::allocate(host.context(), bytes + kGuardBytes));
  if (!check.ok())
    return;
  check.require(stream.fill(memory.address(), 0xff, bytes));
  check.require(stream.fill(memory.address() + bytes, kGuard, kGuardBytes));
}

void GuardedWorkspace::requireGuard(Check &check, const cuda::Stream &stream,
                                    const Twine &when) const {
  if (!check.ok())
    return;
  std::vector<uint8_t> guard(kGuardBytes);
  check.require(stream.copyToHost(
      guard.data(), memory.address() + memory.size() - kGuardBytes,
      kGuardBytes));
  check.require(stream.synchronize());
  check.require(all_of(guard, [](uint8_t one) { return one == kGuard; }),
                when + ": bytes behind the workspace were written");
}

static mla::Kernel prepare(Check &check, RuntimeHost &host,
                           mla::Engine &engine) {
  return check.get(engine.prepare(host.spec()), "mla_prepare");
}

static void dirtyWorkspaces(Check &check, RuntimeHost &host) {
  constexpr int kLaunches = 1000;
  mla::Engine engine = host.makeEngine();
  mla::Kernel kernel = prepare(check, host, engine);
  DecodeStep::Bytes expected =
      DecodeStep(check, host, engine, kernel).run(kLongLengths);
  DecodeStep first(check, host, engine, kernel, {0, kLaunches}),
      second(check, host, engine, kernel, {0, kLaunches});
  for (DecodeStep *step : {&first, &second}) {
    step->launch();
    step->results();
  }
  size_t before = check.get(host.context()->freeMemory());
  for (int i = 0; i < kLaunches; ++i) {
    first.launch(i);
    second.launch(i);
  }
  first.results();
  second.results();
  size_t after = check.get(host.context()->freeMemory());
  check.require(before == after, "launches took " +
                                     Twine(int64_t(before) - int64_t(after)) +
                                     " bytes of device memory");
  for (DecodeStep *step : {&first, &second}) {
    for (int i = 0; i < kLaunches && check.ok(); ++i)
      step->requireResults(expected, "launch " + Twine(i), i);
    step->requireGuard("after all launches");
  }
}

static void shortWorkspace(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  for (int splits : {0, 8}) {
    DecodeStep step(check, host, engine, prepare(check, host, engine),
                    {splits, 1});
    step.launch();
    step.spoilOutputs();
    DecodeStep::Bytes untouched = step.results();
    if (!check.ok())
      return;
    --step.args.workspace_bytes;
    check.requireCode(step.kernel.launch(step.args, step.stream().handle()),
                      MLA_E_WORKSPACE, "a byte less");
    step.requireResults(untouched, "after the refusal");
  }
}

namespace {
/// A decode of many requests with 128 heads: every other one has one key, the
/// others have none. q is 0, so the answers are known without a sum: the value
/// of that key and ln 1, or 0 and -inf.
class ManyRequests {
public:
  static constexpr int kRequests = 512, kHeads = 128;

  ManyRequests(Check &check, RuntimeHost &host);
  mla_spec spec(int splits) const;
  /// Launches with a workspace of just what mla_sizes_for says.
  void launch(mla::Engine &engine, const mla::Kernel &kernel, int splits);

private:
  cuda::DeviceBuffer allocate(size_t bytes, uint8_t value);
  void requireAnswers(const Twine &when);

  Check &check;
  RuntimeHost &host;
  std::optional<cuda::Stream> stream;
  cuda::DeviceBuffer q, lengths, table, out, lse;
  std::vector<int32_t> pages; ///< of each request
  mla_args args = mla::make<mla_args>();
};
} // namespace

cuda::DeviceBuffer ManyRequests::allocate(size_t bytes, uint8_t value) {
  auto buffer = check.get(cuda::DeviceBuffer::allocate(host.context(), bytes));
  if (check.ok())
    check.require(stream->fill(buffer.address(), value, bytes));
  return buffer;
}

mla_spec ManyRequests::spec(int splits) const {
  mla_spec spec = host.spec();
  spec.h_q = kHeads;
  spec.max_batch = spec.max_total_q = kRequests;
  spec.max_splits = splits;
  return spec;
}

ManyRequests::ManyRequests(Check &check, RuntimeHost &host)
    : check(check), host(host) {
  auto opened = cuda::Stream::create(host.context());
  if (!check.require(opened.takeError()))
    return;
  stream.emplace(std::move(*opened));
  // A page of the requests of all steps for each.
  Tensor used = host.inputs().view("table");
  auto *ids = static_cast<const int32_t *>(used.data);
  const int64_t columns = kMaxKeys / host.spec().page_size;
  for (int i = 0; i < kRequests; ++i)
    pages.push_back(
        ids[i / columns % kStepBatch * used.stride[0] + i % columns]);
  std::vector<int32_t> keys(kRequests);
  for (int i = 0; i < kRequests; ++i)
    keys[i] = i % 2;
  const mla_spec of = spec(0);
  const int64_t rows = int64_t(kRequests) * kHeads;
  q = allocate(rows * of.d_qk * 2, 0);
  lengths = allocate(kRequests * sizeof(int32_t), 0);
  table = allocate(kRequests * sizeof(int32_t), 0);
  out = allocate(rows * of.d_v * 2, 0xff);
  lse = allocate(rows * sizeof(float), 0xff);
  if (!check.ok())
    return;
  for (auto [buffer, values] : {std::pair{&lengths, &keys}, {&table, &pages}})
    check.require(stream->copyToDevice(buffer->address(), values->data(),
                                       kRequests * sizeof(int32_t)));
  check.require(stream->synchronize());
  args.batch = args.total_q = kRequests;
  args.q_len = 1;
  args.q = deviceTensor(q.address(), MLA_BF16, {kRequests, kHeads, of.d_qk});
  args.k = deviceTensor(
      host.keys(), MLA_BF16,
      {host.inputs().view("k").shape[0], of.page_size, 1, of.d_qk});
  args.seq_lens = deviceTensor(lengths.address(), MLA_I32, {kRequests});
  args.table = deviceTensor(table.address(), MLA_I32, {kRequests, 1});
  args.out = deviceTensor(out.address(), MLA_BF16, {kRequests, kHeads, of.d_v});
  args.lse = deviceTensor(lse.address(), MLA_F32, {kRequests, kHeads});
  args.softmax_scale = host.scale();
}

void ManyRequests::requireAnswers(const Twine &when) {
  const mla_spec of = spec(0);
  const size_t rowBytes = size_t(of.d_v) * 2;
  std::vector<uint8_t> values(out.size());
  std::vector<float> sums(lse.size() / sizeof(float));
  check.require(stream->copyToHost(values.data(), out.address(), out.size()));
  check.require(stream->copyToHost(sums.data(), lse.address(), lse.size()));
  check.require(stream->synchronize());
  const std::vector<uint8_t> zeros(rowBytes);
  Tensor pool = host.inputs().view("k");
  for (int row = 0; row < kRequests * kHeads && check.ok(); ++row) {
    int request = row / kHeads;
    bool hasKey = request % 2;
    const void *expected = hasKey ? static_cast<const char *>(pool.data) +
                                        pages[request] * pool.stride[0] * 2
                                  : static_cast<const void *>(zeros.data());
    bool isRight =
        std::memcmp(values.data() + row * rowBytes, expected, rowBytes) == 0 &&
        sums[row] == (hasKey ? 0.0f : -INFINITY);
    check.require(isRight, when + ": the row of request " + Twine(request) +
                               " and head " + Twine(row % kHeads) +
                               " is wrong");
  }
}

void ManyRequests::launch(mla::Engine &engine, const mla::Kernel &kernel,
                          int splits) {
  if (!check.ok())
    return;
  size_t bytes =
      check.get(engine.sizes(spec(splits)), "mla_sizes_for").workspace_bytes;
  GuardedWorkspace workspace(check, host, *stream, bytes);
  if (!check.ok())
    return;
  args.num_splits = splits;
  args.workspace = DecodeStep::pointer(workspace.address());
  args.workspace_bytes = bytes - 1;
  check.requireCode(kernel.launch(args, stream->handle()), MLA_E_WORKSPACE,
                    "a byte less");
  args.workspace_bytes = bytes;
  check.require(stream->fill(out.address(), 0xff, out.size()));
  check.require(stream->fill(lse.address(), 0xff, lse.size()));
  check.require(kernel.launch(args, stream->handle()), "mla_launch");
  std::string when = (Twine(splits) + " splits").str();
  requireAnswers(when);
  workspace.requireGuard(check, *stream, when);
  check.note(when + ": " + Twine(bytes >> 20) + " MiB");
}

static void exactWorkspace(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  ManyRequests requests(check, host);
  mla::Kernel kernel =
      check.get(engine.prepare(requests.spec(0)), "mla_prepare");
  for (int splits : {0, 4})
    requests.launch(engine, kernel, splits);
}

ArrayRef<RuntimeCase> runtimeWorkspaceCases() {
  static constexpr RuntimeCase kCases[] = {
      {"C5.dirty",
       "1000 launches in each of two streams, workspaces full of 0xff; no "
       "allocation",
       dirtyWorkspaces},
      {"C5.short", "a workspace a byte short is refused, nothing is launched",
       shortWorkspace},
      {"C5.exact",
       "512 requests of 128 heads and 0 or 1 keys, with lse, in a workspace of "
       "just the size that is said",
       exactWorkspace},
  };
  return kCases;
}

} // namespace mla_jit
