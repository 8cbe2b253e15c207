//===- PeerTiming.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeerTiming.h"
#include "mla/Inputs/Models.h"
#include "mla/Inputs/TensorSet.h"
#include "mla/Oracle/Oracle.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

using namespace llvm;

namespace mla_jit {

/// Random elements are made once on the host, and repeated on the device: pages
/// do not divide it, so that no two are alike.
static constexpr size_t kRandomBytes = size_t(64) << 20;
static constexpr int kLeastLaunches = 10;
/// Of a step, that share a schedule: DeepSeek-V3's.
static constexpr int kLayers = 61;
/// Replays come in a burst of about this time after a pause, as the others'
/// times were taken: what lasts longer is bound by power, which clocks follow.
static constexpr double kBurstMicroseconds = 30000;
static constexpr std::chrono::milliseconds kPause(100);
static constexpr size_t kCopyBytes = size_t(1) << 30;
/// Queries begin so far behind the keys that no query is equal to a key.
static constexpr size_t kQueryShift = 640;

/// Normal bf16 elements of deviation 1.
static std::vector<uint16_t> randomElements() {
  std::vector<uint16_t> elements(kRandomBytes / sizeof(uint16_t));
  size_t numThreads = std::max(1u, std::thread::hardware_concurrency());
  size_t share = (elements.size() + numThreads - 1) / numThreads;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < numThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 engine(static_cast<unsigned>(t));
      std::normal_distribution<float> normal;
      size_t end = std::min(elements.size(), (t + 1) * share);
      for (size_t i = t * share; i < end; ++i)
        writeElement(elements.data(), DType::BF16, static_cast<int64_t>(i),
                     normal(engine));
    });
  for (std::thread &thread : threads)
    thread.join();
  return elements;
}

int PeerTiming::copiesOf(const PeerConfig &config) const {
  return cuda::rotationCopies(config.poolBytes(), l2Bytes);
}

Expected<std::unique_ptr<PeerTiming>>
PeerTiming::create(int device, ArrayRef<PeerConfig> configs) {
  auto session = DeviceSession::open(device);
  if (!session)
    return session.takeError();
  std::unique_ptr<PeerTiming> timing(new PeerTiming(std::move(*session)));
  timing->l2Bytes = timing->session->context()->device().l2Bytes;
  size_t bytes = 2 * kCopyBytes;
  for (const PeerConfig &config : configs)
    bytes =
        std::max<size_t>(bytes, config.poolBytes() * timing->copiesOf(config));
  auto pool = cuda::DeviceBuffer::allocate(timing->session->context(), bytes);
  if (!pool)
    return pool.takeError();
  timing->pool = std::move(*pool);
  if (Error error = timing->fillPool())
    return std::move(error);
  return timing;
}

Error PeerTiming::fillPool() {
  const cuda::Stream &stream = session->stream();
  std::vector<uint16_t> elements = randomElements();
  size_t first = std::min(kRandomBytes, pool.size());
  if (Error error = stream.copyToDevice(pool.address(), elements.data(), first))
    return error;
  for (size_t done = first; done < pool.size(); done += kRandomBytes)
    if (Error error = stream.copy(pool.address() + done, pool.address(),
                                  std::min(kRandomBytes, pool.size() - done)))
      return error;
  return stream.synchronize();
}

Expected<double> PeerTiming::measureCopy() {
  // What is copied is as random as before.
  auto graph = cuda::Graph::capture(
      session->context(), session->stream(), [&]() -> Error {
        for (int i = 0; i < 4; ++i)
          if (Error error = session->stream().copy(pool.address() + kCopyBytes,
                                                   pool.address(), kCopyBytes))
            return error;
        return Error::success();
      });
  if (!graph)
    return graph.takeError();
  cuda::TimingOptions options;
  options.replays = 9;
  auto timing =
      cuda::timeReplays(session->context(), *graph, session->stream(), options);
  if (!timing)
    return timing.takeError();
  return 8e-3 * kCopyBytes / timing->median;
}

Expected<DeviceCeilings> PeerTiming::measureCeilings() {
  return mla_jit::measureCeilings(*session, pool.address(), pool.size());
}

namespace {
/// Tensors of the launches of one configuration.
class PeerLaunches {
public:
  PeerLaunches(std::shared_ptr<DeviceSession> session, const PeerConfig &config,
               std::shared_ptr<const PublicKernel> kernel, cuda::DevicePtr pool,
               int copies)
      : session(std::move(session)), config(config), kernel(std::move(kernel)),
        pool(pool), copies(copies) {}

  Error prepare();
  /// Puts so many launches into the stream, copy by copy; behind a schedule if
  /// they share one.
  Error launchStep(int launches) const;
  /// An error if something of out is not a number.
  Error checkResult() const;

private:
  Expected<cuda::DevicePtr> allocate(size_t bytes);
  Expected<cuda::DevicePtr> upload(const std::vector<int32_t> &values);
  Error setAll(LaunchArgs &arguments, int copy);
  /// Which page holds which keys: [requests][columns], shuffled.
  std::vector<int32_t> makeTable(unsigned seed) const;
  int64_t numColumns() const;

  std::shared_ptr<DeviceSession> session;
  const PeerConfig &config;
  std::shared_ptr<const PublicKernel> kernel;
  cuda::DevicePtr pool, out = 0, lse = 0, lengths = 0;
  int copies;
  std::vector<mla_args> arguments; // by copy; none is by name
  cuda::DevicePtr schedule = 0;
  size_t scheduleBytes = 0;
  std::vector<cuda::DeviceBuffer> buffers;
};
} // namespace

Expected<cuda::DevicePtr> PeerLaunches::allocate(size_t bytes) {
  auto buffer = cuda::DeviceBuffer::allocate(session->context(), bytes);
  if (!buffer)
    return buffer.takeError();
  buffers.push_back(std::move(*buffer));
  cuda::DevicePtr address = buffers.back().address();
  if (Error error =
          session->stream().fill(address, oracle::kPrefillByte, bytes))
    return std::move(error);
  return address;
}

Expected<cuda::DevicePtr>
PeerLaunches::upload(const std::vector<int32_t> &values) {
  size_t bytes = values.size() * sizeof(int32_t);
  auto address = allocate(bytes);
  if (!address)
    return address.takeError();
  if (Error error =
          session->stream().copyToDevice(*address, values.data(), bytes))
    return std::move(error);
  return address;
}

int64_t PeerLaunches::numColumns() const {
  int64_t longest = *max_element(config.seqLens);
  return (longest + config.spec.pageSize - 1) / config.spec.pageSize;
}

std::vector<int32_t> PeerLaunches::makeTable(unsigned seed) const {
  std::vector<int32_t> pages(config.numPages());
  std::iota(pages.begin(), pages.end(), 0);
  std::mt19937 engine(seed);
  for (size_t i = pages.size(); i > 1; --i)
    std::swap(pages[i - 1], pages[engine() % i]);
  int64_t columns = numColumns();
  std::vector<int32_t> table(config.seqLens.size() * columns, -1);
  size_t next = 0;
  for (auto [b, length] : enumerate(config.seqLens))
    for (int64_t page = 0; page * config.spec.pageSize < length; ++page)
      table[b * columns + page] = pages[next++];
  return table;
}

Error PeerLaunches::setAll(LaunchArgs &of, int copy) {
  const Spec &spec = config.spec;
  auto batch = static_cast<int64_t>(config.seqLens.size());
  auto at = [](cuda::DevicePtr address) {
    return reinterpret_cast<void *>(address);
  };
  auto table = upload(makeTable(copy));
  if (!table)
    return table.takeError();
  const std::pair<const char *, Tensor> tensors[] = {
      {"q", Tensor(at(pool + kQueryShift), spec.qDType,
                   {batch, config.queries, spec.numHeads, spec.headDim})},
      {"k", Tensor(at(pool + copy * config.poolBytes()), spec.kvDType,
                   {config.numPages(), spec.pageSize, 1, spec.headDim})},
      {"table", Tensor(at(*table), DType::I32, {batch, numColumns()})},
      {"seq_lens", Tensor(at(lengths), DType::I32, {batch})},
      {"out", Tensor(at(out), spec.outDType,
                     {batch, config.queries, spec.numHeads, spec.headDimV})},
      {"lse",
       Tensor(at(lse), DType::F32, {batch, config.queries, spec.numHeads})}};
  for (const auto &[name, tensor] : tensors)
    if (Error error = of.set(name, tensor))
      return error;
  // A launch of the graph is set up while the one ahead ends.
  of.addFlags(MLA_LAUNCH_PDL_WAIT | MLA_LAUNCH_PDL_TRIGGER);
  return of.set("softmax_scale", findModel("deepseek-v3")->softmaxScale());
}

Error PeerLaunches::prepare() {
  const Spec &spec = config.spec;
  size_t rows = config.seqLens.size() * config.queries * spec.numHeads;
  if (Error error = allocate(rows * spec.headDimV * byteSize(spec.outDType))
                        .moveInto(out))
    return error;
  if (Error error = allocate(rows * sizeof(float)).moveInto(lse))
    return error;
  std::vector<int32_t> lengthsOf(config.seqLens.begin(), config.seqLens.end());
  if (Error error = upload(lengthsOf).moveInto(lengths))
    return error;
  for (int copy = 0; copy < copies; ++copy) {
    LaunchArgs one(kernel);
    if (Error error = setAll(one, copy))
      return error;
    arguments.push_back(one.get());
  }
  auto sizes = kernel->sizes(arguments.front());
  if (!sizes)
    return sizes.takeError();
  auto workspace = allocate(sizes->workspace_bytes);
  if (!workspace)
    return workspace.takeError();
  if (spec.sharedPlan) {
    scheduleBytes = sizes->schedule_bytes;
    if (Error error = allocate(scheduleBytes).moveInto(schedule))
      return error;
  }
  for (mla_args &args : arguments) {
    args.workspace = reinterpret_cast<void *>(*workspace);
    args.workspace_bytes = sizes->workspace_bytes;
  }
  return Error::success();
}

Error PeerLaunches::launchStep(int launches) const {
  mla_args args = arguments.front();
  void *stream = session->stream().handle(),
       *shared = reinterpret_cast<void *>(schedule);
  args.flags = 0; // the plan is made when all ahead has ended
  if (shared)
    if (Error error = kernel->schedule(args, shared, scheduleBytes, stream))
      return error;
  for (int i = 0; i < launches; ++i) {
    args = arguments[i % copies];
    args.schedule = shared;
    args.schedule_bytes = scheduleBytes;
    if (Error error = kernel->launch(args, stream))
      return error;
  }
  return Error::success();
}

Error PeerLaunches::checkResult() const {
  const Spec &spec = config.spec;
  int64_t count = static_cast<int64_t>(config.seqLens.size()) * config.queries *
                  spec.numHeads * spec.headDimV;
  std::vector<uint8_t> bytes(count * byteSize(spec.outDType));
  if (Error error =
          session->stream().copyToHost(bytes.data(), out, bytes.size()))
    return error;
  if (Error error = session->stream().synchronize())
    return error;
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(readElement(bytes.data(), spec.outDType, i)))
      return createStringError("element " + Twine(i) +
                               " of out is not a number");
  return Error::success();
}

Expected<LaunchTimes>
PeerTiming::measure(const PeerConfig &config,
                    std::shared_ptr<const PublicKernel> kernel,
                    double sustainedSeconds) {
  int copies = copiesOf(config);
  PeerLaunches launches(session, config, std::move(kernel), pool.address(),
                        copies);
  if (Error error = launches.prepare())
    return std::move(error);
  // Not captured: an error of the kernel shows here.
  if (Error error = launches.launchStep(1))
    return std::move(error);
  if (Error error = launches.checkResult())
    return std::move(error);

  int numLaunches =
      std::max(copies, config.spec.sharedPlan ? kLayers : kLeastLaunches);
  auto graph = cuda::Graph::capture(session->context(), session->stream(), [&] {
    return launches.launchStep(numLaunches);
  });
  if (!graph)
    return graph.takeError();
  auto timeFor = [&](double replays, double least, double most) {
    cuda::TimingOptions options;
    options.replays = static_cast<int>(std::clamp(replays, least, most));
    return cuda::timeReplays(session->context(), *graph, session->stream(),
                             options);
  };
  LaunchTimes times;
  std::this_thread::sleep_for(kPause);
  double expected = numLaunches * config.bestMicroseconds;
  if (Error error =
          timeFor(kBurstMicroseconds / expected, 5, 51).moveInto(times.burst))
    return std::move(error);
  if (sustainedSeconds > 0) {
    auto timing = timeFor(1e6 * sustainedSeconds / times.burst.median, 5, 1e6);
    if (!timing)
      return timing.takeError();
    times.sustained = timing->median / numLaunches;
  }
  for (double *time :
       {&times.burst.median, &times.burst.least, &times.burst.most})
    *time /= numLaunches;
  return times;
}

} // namespace mla_jit
