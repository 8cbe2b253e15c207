//===- CudaSmoke.cpp - The driver layer on a real GPU ---------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Prints a line a step; exits with 0 if all are right, 1 if not, and 77 after
// "skipped: ..." where there is no driver, device or sm_90a. With --clean, only
// steps that make no call fail, for a sanitizer.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/cuda/Launch.h"
#include "../../runtime/src/cuda/Link.h"
#include "../../runtime/src/cuda/TensorMap.h"
#include "../../runtime/src/cuda/Tools.h"
#include "CudaSmokeKernels.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

using namespace mla_jit::cuda;
using llvm::outs;

static void require(bool holds, const llvm::Twine &what) {
  if (holds)
    return;
  outs() << "FAILED: " << what << "\n";
  exit(1);
}
static void ok(llvm::Error error) {
  if (error)
    require(false, llvm::toString(std::move(error)));
}
template <typename T> static T get(llvm::Expected<T> value) {
  if (!value)
    ok(value.takeError());
  return std::move(*value);
}
/// Prints an error and returns its kind; it has to be one.
static ErrorKind refused(llvm::Error error) {
  require(static_cast<bool>(error), "an error was expected");
  ErrorKind kind = ErrorKind::Other;
  llvm::handleAllErrors(std::move(error), [&](const DriverError &driver) {
    kind = driver.kind();
    outs() << "  [" << toString(kind) << "] " << driver.message() << "\n";
  });
  return kind;
}
static double microseconds() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static void addVectors(const Function &function,
                       const std::shared_ptr<const Context> &context,
                       const Stream &stream) {
  int n = 1 << 20;
  std::vector<float> x(n), y(n), z(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 777);
  }
  size_t bytes = 4 * static_cast<size_t>(n);
  DeviceBuffer a = get(DeviceBuffer::allocate(context, bytes));
  DeviceBuffer b = get(DeviceBuffer::allocate(context, bytes));
  DeviceBuffer c = get(DeviceBuffer::allocate(context, bytes));
  ok(stream.copyToDevice(a.address(), x.data(), bytes));
  ok(stream.copyToDevice(b.address(), y.data(), bytes));
  ok(stream.fill(c.address(), 0xff, bytes));
  DevicePtr pa = a.address(), pb = b.address(), pc = c.address();
  void *parameters[] = {&pa, &pb, &pc, &n};
  LaunchConfig config;
  config.grid = {(static_cast<unsigned>(n) + 255) / 256, 1, 1};
  config.block = {256, 1, 1};
  config.stream = stream.handle();
  ok(launch(function, config, parameters));
  ok(stream.copyToHost(z.data(), pc, bytes));
  ok(stream.synchronize());
  for (int i = 0; i < n; ++i)
    require(z[i] == x[i] + y[i], "sum " + llvm::Twine(i));
  outs() << "vector_add: right\n";
  config.cluster = {2, 1, 1};
  config.programmaticDependent = true;
  ok(launch(function, config, parameters));
  ok(stream.synchronize());
  outs() << "vector_add with clusters of 2 and a dependent launch: runs\n";
  config.cluster = {1, 1, 1};
  config.programmaticDependent = false;

  // Few and small, so that the device does not slow them down.
  constexpr int kLaunches = 200;
  int none = 0;
  parameters[3] = &none;
  LaunchConfig small = config;
  small.grid = {1, 1, 1};
  for (bool inside : {false, true}) {
    std::optional<ContextScope> scope;
    if (inside)
      scope.emplace(get(context->enter()));
    double start = microseconds();
    for (int i = 0; i < kLaunches; ++i)
      ok(launch(function, small, parameters));
    double perLaunch = (microseconds() - start) / kLaunches;
    ok(stream.synchronize());
    outs() << llvm::format("host time a launch, context %s current: %.2f us\n",
                           inside ? "already" : "not", perLaunch);
  }
  DriverLaunchConfig raw = {};
  raw.grid[0] = raw.grid[1] = raw.grid[2] = 1;
  raw.block[0] = 256;
  raw.block[1] = raw.block[2] = 1;
  raw.stream = stream.handle();
  {
    ContextScope scope = get(context->enter());
    double start = microseconds();
    for (int i = 0; i < kLaunches; ++i)
      context->driver().call().launchKernelEx(&raw, function.handle(),
                                              parameters, nullptr);
    double perLaunch = (microseconds() - start) / kLaunches;
    ok(stream.synchronize());
    outs() << llvm::format("of that the driver: %.2f us\n", perLaunch);
  }
  parameters[3] = &n;

  constexpr int kNodes = 20;
  Graph graph = get(Graph::capture(context, stream, [&]() -> llvm::Error {
    require(get(isCapturing(*context, stream.handle())), "capturing");
    for (int i = 0; i < kNodes; ++i)
      if (llvm::Error error = launch(function, config, parameters))
        return error;
    return llvm::Error::success();
  }));
  L2Flush flush = get(L2Flush::create(context));
  TimingOptions options;
  options.before = [&] { return flush.run(stream); };
  Timing timing = get(timeReplays(context, graph, stream, options));
  outs() << llvm::format("graph of %d launches: median %.2f us (%.2f to %.2f), "
                         "%.2f us a launch, %d replays\n",
                         kNodes, timing.median, timing.least, timing.most,
                         timing.median / kNodes, timing.replays);
}

static void useSharedMemory(const Function &function,
                            const std::shared_ptr<const Context> &context,
                            const Stream &stream) {
  DeviceBuffer out = get(DeviceBuffer::allocate(context, 4));
  DevicePtr pointer = out.address();
  auto limit = static_cast<unsigned>(function.dynamicSharedLimit());
  for (unsigned bytes : {49148u, 49152u, 49156u, limit}) {
    ok(function.allowDynamicShared(bytes));
    LaunchConfig config;
    config.dynamicShared = bytes;
    config.stream = stream.handle();
    void *parameters[] = {&pointer, &bytes};
    ok(launch(function, config, parameters));
    unsigned seen = 0;
    ok(stream.copyToHost(&seen, pointer, 4));
    ok(stream.synchronize());
    require(seen == bytes, "the last word of shared memory");
    outs() << function.info().symbol << " with " << bytes << " bytes: right\n";
  }
  require(refused(function.allowDynamicShared(limit + 1)) ==
              ErrorKind::Unsupported,
          "a byte more is unsupported");
}

/// Says where dynamic shared memory of alignment 1024 is beside a static part:
/// why kernels that use TMA should have none.
static void locateBeside(const Function &function,
                         const std::shared_ptr<const Context> &context,
                         const Stream &stream) {
  DeviceBuffer out = get(DeviceBuffer::allocate(context, 4));
  DevicePtr pointer = out.address();
  void *parameters[] = {&pointer};
  LaunchConfig config;
  config.stream = stream.handle();
  ok(launch(function, config, parameters));
  unsigned address = 0;
  ok(stream.copyToHost(&address, pointer, 4));
  ok(stream.synchronize());
  outs() << "a pool of alignment 1024 beside a static part is at " << address
         << ", " << address % 1024 << " modulo 1024\n";
}

/// The first launch of a kernel is captured, while another thread links, loads,
/// unloads, allocates and frees.
static void captureMeanwhile(const Function &function,
                             const std::shared_ptr<const Context> &context,
                             const Stream &stream, const LinkedImage &image) {
  for (CaptureMode mode : {CaptureMode::Global, CaptureMode::ThreadLocal}) {
    DeviceBuffer out = get(DeviceBuffer::allocate(context, 4));
    DevicePtr pointer = out.address();
    unsigned bytes = 4;
    ok(function.allowDynamicShared(bytes));
    LaunchConfig config;
    config.dynamicShared = bytes;
    config.stream = stream.handle();
    void *parameters[] = {&pointer, &bytes};
    const Driver &driver = context->driver();
    ContextScope scope = get(context->enter());
    ok(driver.check(driver.call().streamBeginCapture(stream.handle(), mode),
                    "cuStreamBeginCapture"));
    ok(launch(function, config, parameters));
    std::thread([&] {
      get(linkPTX(*context, kSmokePTX));
      get(Function::get(get(Library::load(context, image.cubin)), "copy_box"));
      get(DeviceBuffer::allocate(context, 1 << 20));
    }).join();
    GraphHandle graph = nullptr;
    ok(driver.check(driver.call().streamEndCapture(stream.handle(), &graph),
                    "cuStreamEndCapture"));
    driver.call().graphDestroy(graph);
  }
  outs() << "captures survive what other threads load and free\n";
}

static void copyBoxes(const Function &function,
                      const std::shared_ptr<const Context> &context,
                      const Stream &stream) {
  constexpr unsigned kPages = 5, kRows = 64, kColumns = 576, kBox = 64;
  std::vector<uint16_t> pool(kPages * kRows * kColumns), box(kRows * kBox);
  for (size_t i = 0; i < pool.size(); ++i)
    pool[i] = static_cast<uint16_t>(i * 40503u >> 7);
  DeviceBuffer memory = get(DeviceBuffer::allocate(context, 2 * pool.size()));
  DeviceBuffer out = get(DeviceBuffer::allocate(context, 2 * box.size()));
  ok(stream.copyToDevice(memory.address(), pool.data(), memory.size()));

  TensorMapSpec spec;
  spec.rank = 3;
  spec.base = memory.address();
  spec.dims = {kColumns, kRows, kPages};
  spec.strides = {2 * kColumns, 2 * kColumns * kRows};
  spec.box = {kBox, kRows, 1};
  spec.swizzle = Swizzle::B128;
  TensorMap map = get(encodeTensorMap(*context, spec));
  ok(function.allowDynamicShared(8200));
  for (auto [column, page] : {std::pair(0u, 0u), {64u, 3u}, {512u, 4u}}) {
    DevicePtr pointer = out.address();
    void *parameters[] = {&map, &pointer, &column, &page};
    LaunchConfig config;
    config.block = {32, 1, 1};
    config.dynamicShared = 8200;
    config.stream = stream.handle();
    ok(launch(function, config, parameters));
    ok(stream.copyToHost(box.data(), pointer, out.size()));
    ok(stream.synchronize());
    // Row r has its 16-byte pieces at their number xor r modulo 8.
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned c = 0; c < kBox; ++c) {
        unsigned piece = (c / 8) ^ (r % 8);
        require(box[r * kBox + 8 * piece + c % 8] ==
                    pool[(page * kRows + r) * kColumns + column + c],
                "element " + llvm::Twine(r) + ", " + llvm::Twine(c));
      }
  }
  outs() << "tensor map of 64 x 576 bf16 pages, boxes 64 x 64: right\n";

  auto change = [&](auto f) {
    TensorMapSpec other = spec;
    f(other);
    return encodeTensorMap(*context, other).takeError();
  };
  refused(change([](TensorMapSpec &s) { s.strides[0] = 584; }));
  refused(change([](TensorMapSpec &s) { s.base += 8; }));
  refused(change([](TensorMapSpec &s) { s.box[0] = 128; }));
  refused(change([](TensorMapSpec &s) { s.box[1] = 257; }));
  // Legal by our rules, so the driver has to take them as well.
  for (uint64_t stride : {576, 656, 1152, 1280}) {
    spec.strides[0] = stride;
    get(encodeTensorMap(*context, spec));
  }
  spec.strides = {1152, (uint64_t(1) << 40) - 16};
  spec.dims[2] = uint64_t(1) << 32;
  get(encodeTensorMap(*context, spec));
}

int main(int argc, char **argv) {
  llvm::Expected<const Driver &> found = Driver::get();
  if (!found) {
    ErrorKind kind = ErrorKind::Other;
    llvm::handleAllErrors(found.takeError(), [&](const DriverError &error) {
      kind = error.kind();
      outs() << "skipped: " << toString(kind) << ": " << error.message()
             << "\n";
    });
    return kind == ErrorKind::NoDriver || kind == ErrorKind::NoDevice ? 77 : 1;
  }
  const Driver &driver = *found;
  Device device = get(Device::open(driver));
  outs() << llvm::format(
      "%s: %s, %d SMs, %d B shared a block, %d B L2, %.0f MHz, %.0f MHz "
      "memory, %.1f GiB; CUDA %s, PTX %d\n",
      device.name.c_str(), device.chip.c_str(), device.numSMs,
      device.sharedBytesPerBlock, device.l2Bytes, device.clockKilohertz / 1e3,
      device.memoryClockKilohertz / 1e3,
      static_cast<double>(device.memoryBytes) / (1u << 30),
      versionText(driver.version()).c_str(), driver.ptxVersion());
  if (device.chip != "sm_90a") {
    outs() << "skipped: the kernels require sm_90a, but the device is "
           << device.chip << "\n";
    return 77;
  }
  auto context = get(Context::retain(driver, device));
  outs() << get(context->freeMemory()) << " bytes of memory are free\n";

  double start = microseconds();
  LinkedImage image = get(linkPTX(*context, kSmokePTX));
  outs() << llvm::format("linked in %.1f ms: %zu bytes; log:\n",
                         (microseconds() - start) / 1e3, image.cubin.size())
         << image.infoLog << "\n"
         << image.errorLog << "\n";
  // Now the driver has it in its cache.
  LinkOptions hasty;
  hasty.fullLog = false;
  for (const LinkOptions &options : {hasty, LinkOptions()}) {
    start = microseconds();
    LinkedImage again = get(linkPTX(*context, kSmokePTX, options));
    outs() << llvm::format(
        "linked again in %.1f ms, %s log, %s cubin%s\n",
        (microseconds() - start) / 1e3, options.fullLog ? "full" : "any",
        again.cubin == image.cubin ? "the same" : "another",
        again.fromDriverCache ? ", from the driver's cache" : "");
    require(!options.fullLog || !again.fromDriverCache, "a full log");
  }
  start = microseconds();
  auto library = get(Library::load(context, image.cubin));
  auto kernel = [&](const char *name, llvm::ArrayRef<size_t> sizes) {
    auto function = get(Function::get(library, name, sizes));
    const FunctionInfo &info = function->info();
    outs() << name << ": " << info.registers << " registers, "
           << info.localBytes << " B local, " << info.staticSharedBytes
           << " B shared\n";
    return function;
  };
  auto add = kernel("vector_add", {8, 8, 8, 4});
  outs() << llvm::format("loaded in %.1f ms\n", (microseconds() - start) / 1e3);
  Stream stream = get(Stream::create(context));
  auto touch = kernel("touch_shared", {8, 4});
  // Sanitizers break such captures, and count what is refused as errors.
  bool clean = argc > 1 && llvm::StringRef(argv[1]) == "--clean";
  if (!clean)
    captureMeanwhile(*touch, context, stream, image);
  addVectors(*add, context, stream);
  useSharedMemory(*touch, context, stream);
  useSharedMemory(*kernel("touch_beside", {8, 4}), context, stream);
  copyBoxes(*kernel("copy_box", {128, 8, 4, 4}), context, stream);
  locateBeside(*kernel("locate_beside", {8}), context, stream);
  if (clean) {
    outs() << "passed\n";
    return 0;
  }

  std::string ptx = kSmokePTX;
  require(refused(linkPTX(*context, ptx + "oops").takeError()) ==
              ErrorKind::Compile,
          "bad PTX");
  std::string newer = ptx;
  newer.replace(newer.find("8.0"), 3, "9.9");
  require(refused(linkPTX(*context, newer).takeError()) == ErrorKind::Compile,
          "PTX of a newer version");
  std::string other = ptx;
  other.replace(other.find("sm_90a"), 6, "sm_100a");
  require(refused(linkPTX(*context, other).takeError()) == ErrorKind::Compile,
          "PTX for another chip");
  refused(Library::load(context, "no image").takeError());
  refused(Function::get(library, "nothing").takeError());
  refused(DeviceBuffer::allocate(context, size_t(1) << 42).takeError());
  addVectors(*add, context, stream); // all still works

  // Last, as it breaks the context for good.
  LaunchConfig config;
  config.stream = stream.handle();
  ok(launch(*kernel("write_to_null", {}), config, {}));
  require(refused(stream.synchronize()) == ErrorKind::DeviceLost,
          "a write to null loses the device");
  require(refused(launch(*add, config, std::vector<void *>(4, &config))) ==
              ErrorKind::DeviceLost,
          "the error is sticky");
  outs() << "passed\n";
  return 0;
}
