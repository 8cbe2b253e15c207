//===- RuntimeBench.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeBench.h"

#include "DriverCache.h"
#include "RuntimeHost.h"
#include "RuntimeTimes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <dlfcn.h>
#include <thread>

using namespace llvm;

namespace mla_jit {

static Error toError(const mla::Status &status, const Twine &what) {
  return status ? Error::success()
                : createStringError(what + ": " + status.message());
}

namespace {

/// A directory that is removed with all that is in it.
class TemporaryDirectory {
public:
  static Expected<TemporaryDirectory> create() {
    TemporaryDirectory made;
    if (std::error_code error =
            sys::fs::createUniqueDirectory("mla-jit-bench", made.path))
      return createStringError("a temporary directory: " + error.message());
    return std::move(made);
  }
  TemporaryDirectory(TemporaryDirectory &&other) noexcept
      : path(std::exchange(other.path, {})) {}
  ~TemporaryDirectory() {
    if (!path.empty())
      sys::fs::remove_directories(path);
  }
  const char *name() { return path.c_str(); }

private:
  TemporaryDirectory() = default;
  SmallString<128> path;
};

class Bench {
public:
  explicit Bench(const RuntimeBenchOptions &options) : options(options) {}
  Expected<std::vector<RuntimeFigure>> run();

private:
  mla::Engine makeEngine(const char *directory) const;
  mla_spec spec() const;
  Error timeCold();
  Error timeDisk();
  Error timeMemory();
  Error timeThreads();
  Error timeChecks();
  Error timeLibrary();
  void add(std::string name, double seconds, double goal,
           std::string note = "") {
    figures.push_back({std::move(name), seconds, goal, std::move(note)});
  }

  const RuntimeBenchOptions &options;
  std::vector<RuntimeFigure> figures;
};

} // namespace

mla::Engine Bench::makeEngine(const char *directory) const {
  auto asked = mla::make<mla_engine_options>();
  asked.target = options.onGPU ? "cuda" : "host";
  asked.device = options.device;
  asked.memory_entries = std::max(options.specs, 64);
  asked.cache_dir = directory;
  auto engine = mla::Engine::create(asked);
  if (!engine)
    report_fatal_error(engine.status().message());
  return std::move(*engine);
}

/// DeepSeek-V3's decode for 16 heads.
mla_spec Bench::spec() const {
  auto spec = mla::make<mla_spec>();
  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
  spec.h_q = 16;
  spec.h_kv = 1;
  spec.d_qk = 576;
  spec.d_v = 512;
  spec.page_size = 64;
  spec.table_kind = MLA_TABLE_DENSE;
  spec.mask = MLA_MASK_CAUSAL;
  return spec;
}

/// One of many kernels that compile in a moment: asking for one again costs
/// what it does for any other.
static mla_spec smallSpec(int number) {
  auto spec = mla::make<mla_spec>();
  spec.operation = MLA_MERGE;
  spec.out_dtype = number % 2 ? MLA_F16 : MLA_BF16;
  spec.h_q = 1 + number / 2 % 128;
  spec.d_v = 8 * (1 + number / 256);
  return spec;
}

static std::string partsOf(const mla_kernel_info &info) {
  return formatv("{0:F1} ms of it compiling, {1:F2} ms loading",
                 info.compile_seconds * 1e3, info.load_seconds * 1e3);
}

/// Of a stage; 0 if there was none.
static double secondsOf(const mla::Kernel &kernel, StringRef stage) {
  mla_kernel_info info = *kernel.info();
  for (int32_t i = 0; i < info.num_times; ++i)
    if (mla_stage_time time = *kernel.time(i); stage == time.stage)
      return time.seconds;
  return 0;
}

Error Bench::timeCold() {
  mla::Engine engine = makeEngine("");
  auto start = Clock::now();
  auto kernel = engine.prepare(spec());
  double seconds = secondsSince(start);
  if (!kernel)
    return toError(kernel.status(), "mla_prepare");
  add("prepare, cold", seconds, 0, partsOf(*kernel->info()));
  return Error::success();
}

/// By engines that have not seen the spec, as after a restart; what the driver
/// and the library do once in a process is done.
Error Bench::timeDisk() {
  auto directory = TemporaryDirectory::create();
  if (!directory)
    return directory.takeError();
  mla::Engine first = makeEngine(directory->name());
  std::vector<double> loads, graphs;
  for (int32_t queries : {1, 4}) {
    // Only a GPU's key has what is chosen for them.
    if (queries > 1 && !options.onGPU)
      break;
    mla_spec asked = spec();
    asked.max_q_len = queries;
    if (auto compiled = first.prepare(asked); !compiled)
      return toError(compiled.status(), "mla_prepare");
    std::vector<double> ours;
    for (int round = 0; round < 15; ++round) {
      mla::Engine engine = makeEngine(directory->name());
      if (auto target = engine.target(); !target)
        return toError(target.status(), "mla_engine_target");
      auto start = Clock::now();
      auto kernel = engine.prepare(asked);
      double seconds = secondsSince(start);
      if (!kernel)
        return toError(kernel.status(), "mla_prepare");
      mla_kernel_info info = *kernel->info();
      if (info.origin != MLA_ORIGIN_DISK)
        return createStringError("a kernel that was stored was not found");
      double making = secondsOf(*kernel, "graphs");
      graphs.push_back(making);
      loads.push_back(info.load_seconds - making);
      ours.push_back(seconds - info.load_seconds);
    }
    add(queries > 1 ? "prepare, from disk, 4 queries" : "prepare, from disk",
        medianOf(ours), 2e-3, "without loading");
  }
  add("loading", medianOf(loads), 0,
      options.onGPU ? "the driver's part: its cache has the code"
                    : "the linker's part");
  if (options.onGPU)
    add("launch graphs", medianOf(graphs), 0, "made when a kernel is loaded");
  return Error::success();
}

Error Bench::timeMemory() {
  mla::Engine engine = makeEngine("");
  mla_spec asked = spec();
  auto kernel = engine.prepare(asked);
  if (!kernel)
    return toError(kernel.status(), "mla_prepare");
  double seconds = secondsACall(9, 20000, [&] {
    mla_kernel *again = nullptr;
    mla_prepare(engine.get(), &asked, &again, nullptr);
    mla_kernel_release(again);
  });
  add("prepare, in memory", seconds, 1e-6);
  return Error::success();
}

/// Seconds a call of so many threads together: the best of some rounds, as
/// other work on the machine is not theirs.
static double secondsByThreads(mla::Engine &engine, ArrayRef<mla_spec> specs,
                               int count) {
  constexpr int kRounds = 5, kGets = 20000;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> ready = 0;
    std::atomic<bool> go = false;
    auto work = [&](int thread) {
      ++ready;
      while (!go)
        std::this_thread::yield();
      for (int i = 0; i < kGets; ++i) {
        mla_kernel *kernel = nullptr;
        mla_prepare(engine.get(), &specs[(thread * 125 + i) % specs.size()],
                    &kernel, nullptr);
        mla_kernel_release(kernel);
      }
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < count; ++thread)
      threads.emplace_back(work, thread);
    while (ready < count)
      std::this_thread::yield();
    auto start = Clock::now();
    go = true;
    for (std::thread &thread : threads)
      thread.join();
    best = std::min(best, secondsSince(start) / kGets / count);
  }
  return best;
}

Error Bench::timeThreads() {
  mla::Engine engine = makeEngine("");
  std::vector<mla_spec> specs;
  for (int i = 0; i < options.specs; ++i)
    specs.push_back(smallSpec(i));
  auto kernels = engine.prepare(specs);
  if (!kernels)
    return toError(kernels.status(), "mla_prepare_many");
  double alone = 0;
  for (int count : {1, 2, 8}) {
    double seconds = secondsByThreads(engine, specs, count);
    if (count == 1)
      alone = seconds;
    std::string note = formatv("{0} specs", specs.size());
    if (count > 1)
      note += formatv(", {0:F1} times as many a second as by 1 thread, {1} "
                      "processors",
                      alone / seconds, std::thread::hardware_concurrency());
    add(formatv("prepare, {0} thread{1}", count, count > 1 ? "s" : ""), seconds,
        0, std::move(note));
  }
  return Error::success();
}

static mla_tensor noRows(int32_t dtype, std::initializer_list<int64_t> shape) {
  mla_tensor tensor = {};
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  int64_t stride = 1;
  for (int dim = tensor.rank; dim-- > 0; stride *= tensor.shape[dim])
    tensor.stride[dim] = stride;
  return tensor;
}

/// A launch of no requests is all checks and no work.
Error Bench::timeChecks() {
  mla::Engine engine = makeEngine("");
  mla_spec asked = spec();
  auto kernel = engine.prepare(asked);
  if (!kernel)
    return toError(kernel.status(), "mla_prepare");
  auto args = mla::make<mla_args>();
  args.q_len = 1;
  args.q = noRows(MLA_BF16, {0, asked.h_q, asked.d_qk});
  args.k = noRows(MLA_BF16, {0, asked.page_size, 1, asked.d_qk});
  args.out = noRows(MLA_BF16, {0, asked.h_q, asked.d_v});
  args.lse = noRows(MLA_F32, {0, asked.h_q});
  args.seq_lens = noRows(MLA_I32, {0});
  args.table = noRows(MLA_I32, {0, 128});
  args.softmax_scale = 0.1f;
  // Page tables have a width, also those of no request.
  args.table.stride[0] = 128;
  auto sizes = engine.sizes(asked, 0, 0);
  if (!sizes)
    return toError(sizes.status(), "mla_sizes_for");
  args.workspace_bytes = sizes->workspace_bytes;
  if (mla::Status status = kernel->launch(args); !status)
    return toError(status, "mla_launch");
  double seconds = secondsACall(
      9, 20000, [&] { mla_launch(kernel->get(), nullptr, &args, nullptr); });
  add("launch, checks alone", seconds, 1e-6);
  return Error::success();
}

Error timeLibraryLoad(const std::string &library) {
  auto start = Clock::now();
  if (!::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL))
    return createStringError(::dlerror());
  outs() << formatv("{0:F9}\n", secondsSince(start));
  return Error::success();
}

Error Bench::timeLibrary() {
  if (options.library.empty())
    return Error::success();
  std::string program = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&timeLibraryLoad));
  SmallString<128> output;
  if (std::error_code error =
          sys::fs::createTemporaryFile("mla-jit-load", "txt", output))
    return createStringError("a temporary file: " + error.message());
  FileRemover remove(output);
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    StringRef arguments[] = {program, "bench", "--load", options.library};
    std::string message;
    int rc = sys::ExecuteAndWait(program, arguments, std::nullopt,
                                 {StringRef(), StringRef(output), std::nullopt},
                                 /*SecondsToWait=*/60, 0, &message);
    auto printed = MemoryBuffer::getFile(output);
    double seconds = 0;
    if (rc || !printed || (*printed)->getBuffer().trim().getAsDouble(seconds))
      return createStringError("--library '" + options.library +
                               "' could not be loaded " + message);
    times.push_back(seconds);
  }
  add("loading the library", medianOf(times), 20e-3);
  return Error::success();
}

Expected<std::vector<RuntimeFigure>> Bench::run() {
  for (Error (Bench::*part)() :
       {&Bench::timeLibrary, &Bench::timeCold, &Bench::timeDisk,
        &Bench::timeMemory, &Bench::timeThreads, &Bench::timeChecks})
    if (Error error = (this->*part)())
      return std::move(error);
  if (options.onGPU)
    if (Error error = timeDeviceLaunch(options.device, figures))
      return std::move(error);
  return std::move(figures);
}

Expected<std::vector<RuntimeFigure>>
benchRuntime(const RuntimeBenchOptions &options) {
  auto driverCache = TemporaryDirectory::create();
  if (!driverCache)
    return driverCache.takeError();
  if (options.onGPU)
    useDriverCache(driverCache->name());
  return Bench(options).run();
}

} // namespace mla_jit
