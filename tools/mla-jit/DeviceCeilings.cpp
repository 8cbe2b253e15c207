//===- DeviceCeilings.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCeilings.h"
#include "cuda/Launch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>
#include <thread>

using namespace llvm;

namespace mla_jit {

/// What is read or multiplied in one launch: long beside its start.
static constexpr size_t kReadBytes = size_t(1) << 30;
static constexpr int kProductSteps = 400;
static constexpr int kReadVectorBytes = 16;
static constexpr int kProductThreads = 256, kAccumulators = 128;
/// As rows are timed: in a burst after a pause, which power does not bound yet.
static constexpr std::chrono::milliseconds kPause(100);
static constexpr int kReplays = 9;

/// The sum of all that was read or multiplied goes to memory if it is one that
/// does not occur: the assembler must not find out that nobody wants it.
static constexpr const char *kNever = "0x7fc12345";

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

static std::string joinIndexed(StringRef format, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += formatv(format.data(), i).str();
  return text;
}

static std::string makeKernel(StringRef version, StringRef chip,
                              StringRef globals, StringRef name, int threads,
                              StringRef body) {
  return formatv(".version {0}\n.target {1}\n.address_size 64\n{2}"
                 ".visible .entry {3}(.param .u64 data, .param .u64 sink,\n"
                 "                    .param .u32 steps)\n"
                 ".reqntid {4}\n.minnctapersm 1\n{{\n"
                 ".reg .pred more, found;\n"
                 ".reg .b32 thread, step, sum;\n"
                 ".reg .b64 from, out;\n"
                 "ld.param.u64 from, [data];\nld.param.u64 out, [sink];\n"
                 "ld.param.u32 step, [steps];\nmov.u32 thread, %tid.x;\n"
                 "mov.b32 sum, 0;\n{5}"
                 "setp.eq.b32 found, sum, {6};\n@found st.global.b32 [out], "
                 "sum;\nret;\n}\n",
                 version, chip, globals, name, threads, body, kNever);
}

std::string getReadPTX() {
  std::string body =
      formatv(".reg .b32 cta, ctas, a<{0}>, b<{0}>, c<{0}>, d<{0}>;\n"
              ".reg .b64 stride, offset;\n"
              "mov.u32 cta, %ctaid.x;\nmov.u32 ctas, %nctaid.x;\n"
              "mul.wide.u32 stride, ctas, {1};\n"
              "mad.lo.u32 cta, cta, {2}, thread;\n"
              "mul.wide.u32 offset, cta, {3};\nadd.u64 from, from, offset;\n"
              "next:\n",
              kReadsPerStep, kReadThreads * kReadVectorBytes, kReadThreads,
              kReadVectorBytes);
  body += joinIndexed("ld.global.nc.L1::no_allocate.v4.b32 "
                      "{{a{0}, b{0}, c{0}, d{0}}, [from];\n"
                      "add.u64 from, from, stride;\n",
                      kReadsPerStep);
  body += joinIndexed("xor.b32 a{0}, a{0}, b{0};\nxor.b32 c{0}, c{0}, d{0};\n"
                      "xor.b32 sum, sum, a{0};\nxor.b32 sum, sum, c{0};\n",
                      kReadsPerStep);
  body += "sub.u32 step, step, 1;\nsetp.ne.u32 more, step, 0;\n@more bra "
          "next;\n";
  return makeKernel("7.4", "sm_70", "", "read", kReadThreads, body);
}

/// Descriptors of K-major operands with a swizzle of 128 bytes: 64 x 64 for
/// each warpgroup, and 256 x 64 for both behind them.
static std::string makeDescriptors() {
  return "and.b32 base, base, 0x3ffff;\nshr.u32 base, base, 4;\n"
         "shr.u32 group, thread, 7;\nmad.lo.u32 sum, group, 512, base;\n"
         "cvt.u64.u32 lhs, sum;\nadd.u32 base, base, 1024;\n"
         "cvt.u64.u32 rhs, base;\n"
         // Groups of 8 rows are 1024 bytes apart.
         "or.b64 lhs, lhs, 0x4000004000010000;\n"
         "or.b64 rhs, rhs, 0x4000004000010000;\n";
}

std::string getMultiplyPTX() {
  // All threads copy 16 bytes at a time.
  std::string body =
      formatv(".reg .pred sums;\n.reg .b32 base, group, at, x<4>;\n"
              ".reg .f32 o<{0}>, total;\n.reg .b64 lhs, rhs, left, right;\n"
              "mov.u32 base, operands;\nmul.lo.u32 at, thread, {1};\n"
              "cvt.u64.u32 left, at;\nadd.u64 from, from, left;\n"
              "add.u32 at, at, base;\n",
              kAccumulators, kReadVectorBytes);
  int copied = kProductThreads * kReadVectorBytes;
  for (int i = 0; i < kProductSharedBytes / copied; ++i)
    body += formatv("ld.global.v4.b32 {{x0, x1, x2, x3}, [from+{0}];\n"
                    "st.shared.v4.b32 [at+{0}], {{x0, x1, x2, x3};\n",
                    i * copied)
                .str();
  body +=
      "setp.eq.u32 sums, 0, 0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n" +
      makeDescriptors();
  body += joinIndexed("mov.f32 o{0}, 0f00000000;\n", kAccumulators);
  std::string accumulators;
  for (int i = 0; i < kAccumulators; ++i)
    accumulators += (i ? ", o" : "o") + std::to_string(i);
  body += "next:\nwgmma.fence.sync.aligned;\n";
  for (int i = 0; i < kProductsPerStep; ++i)
    // 16 columns are 32 bytes on, of 128.
    body += formatv("add.u64 left, lhs, {0};\nadd.u64 right, rhs, {0};\n"
                    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16\n"
                    "{{{1}}, left, right, sums, 1, 1, 0, 0;\n",
                    i % 4 * 2, accumulators)
                .str();
  body += "wgmma.commit_group.sync.aligned;\n"
          "wgmma.wait_group.sync.aligned 0;\n"
          "sub.u32 step, step, 1;\nsetp.ne.u32 more, step, 0;\n"
          "@more bra next;\nmov.f32 total, 0f00000000;\n";
  body += joinIndexed("add.f32 total, total, o{0};\n", kAccumulators);
  body += "mov.b32 sum, total;\n";
  return makeKernel("8.0", "sm_90a",
                    ".extern .shared .align 1024 .b8 operands[];\n", "multiply",
                    kProductThreads, body);
}

//===----------------------------------------------------------------------===//
// Measurement
//===----------------------------------------------------------------------===//

namespace {
/// A kernel with the parameters that both have.
class Instrument {
public:
  static Expected<Instrument> load(const DeviceSession &session,
                                   const std::string &ptx,
                                   const std::string &name, int sharedBytes);
  /// Microseconds of one launch of `steps`, of launches that begin at each of
  /// `data` in turn.
  Expected<double> time(int ctas, int threads, int steps,
                        ArrayRef<cuda::DevicePtr> data) const;

private:
  explicit Instrument(const DeviceSession &session) : session(&session) {}
  const DeviceSession *session;
  std::shared_ptr<const cuda::Function> function;
  cuda::DeviceBuffer sink;
  int sharedBytes = 0;
};
} // namespace

Expected<Instrument> Instrument::load(const DeviceSession &session,
                                      const std::string &ptx,
                                      const std::string &name,
                                      int sharedBytes) {
  Instrument instrument(session);
  instrument.sharedBytes = sharedBytes;
  auto library = cuda::Library::assemble(session.context(), ptx);
  if (!library)
    return library.takeError();
  if (Error error =
          cuda::Function::get(*library, name).moveInto(instrument.function))
    return std::move(error);
  if (Error error = instrument.function->allowDynamicShared(sharedBytes))
    return std::move(error);
  if (Error error = cuda::DeviceBuffer::allocate(session.context(), 4)
                        .moveInto(instrument.sink))
    return std::move(error);
  return std::move(instrument);
}

Expected<double> Instrument::time(int ctas, int threads, int steps,
                                  ArrayRef<cuda::DevicePtr> data) const {
  cuda::LaunchConfig config;
  config.grid = {static_cast<unsigned>(ctas), 1, 1};
  config.block = {static_cast<unsigned>(threads), 1, 1};
  config.dynamicShared = sharedBytes;
  config.stream = session->stream().handle();
  auto graph =
      cuda::Graph::capture(session->context(), session->stream(), [&]() {
        Error error = Error::success();
        for (cuda::DevicePtr from : data) {
          cuda::DevicePtr to = sink.address();
          void *parameters[] = {&from, &to, &steps};
          if (!error)
            error = cuda::launch(*function, config, parameters);
        }
        return error;
      });
  if (!graph)
    return graph.takeError();
  cuda::TimingOptions options;
  options.replays = kReplays;
  auto timing =
      cuda::timeReplays(session->context(), *graph, session->stream(), options);
  if (!timing)
    return timing.takeError();
  return timing->median / data.size();
}

/// Looks for the best grid: which one it is depends on the chip.
static Error measureReads(const DeviceSession &session, cuda::DevicePtr data,
                          size_t bytes, DeviceCeilings &ceilings) {
  auto reads = Instrument::load(session, getReadPTX(), "read", 0);
  if (!reads)
    return reads.takeError();
  // What one launch reads is out of the L2 when it comes again.
  size_t launchBytes = std::min(bytes / 2, kReadBytes);
  for (int ctasPerSM : {2, 4, 8, 16, 32}) {
    int ctas = session.context()->device().numSMs * ctasPerSM;
    size_t stepBytes =
        size_t(ctas) * kReadThreads * kReadsPerStep * kReadVectorBytes;
    size_t steps = launchBytes / stepBytes;
    if (!steps)
      break;
    auto time = reads->time(ctas, kReadThreads, static_cast<int>(steps),
                            {data, data + launchBytes});
    if (!time)
      return time.takeError();
    double rate = 1e-3 * steps * stepBytes / *time;
    if (rate > ceilings.readGBytes) {
      ceilings.readGBytes = rate;
      ceilings.readCTAs = ctas;
    }
  }
  return Error::success();
}

static Error measureProducts(const DeviceSession &session, cuda::DevicePtr data,
                             DeviceCeilings &ceilings) {
  auto products = Instrument::load(session, getMultiplyPTX(), "multiply",
                                   kProductSharedBytes);
  if (!products)
    return products.takeError();
  std::this_thread::sleep_for(kPause);
  int ctas = session.context()->device().numSMs;
  auto time = products->time(ctas, kProductThreads, kProductSteps, data);
  if (!time)
    return time.takeError();
  double flop = 2.0 * 64 * 256 * 16 * kProductsPerStep * kProductSteps * 2;
  ceilings.mmaTFlops = 1e-6 * flop * ctas / *time;
  return Error::success();
}

Expected<DeviceCeilings> measureCeilings(const DeviceSession &session,
                                         cuda::DevicePtr data, size_t bytes) {
  DeviceCeilings ceilings;
  if (Error error = measureReads(session, data, bytes, ceilings))
    return std::move(error);
  if (session.context()->device().chip == "sm_90a")
    if (Error error = measureProducts(session, data, ceilings))
      return std::move(error);
  return ceilings;
}

} // namespace mla_jit
