//===- EngineSelfCheck.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An assembler that this library was not verified with: before its code is
// used, it has to make right code of two small decodes, one of each dataflow.
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "CudaKernel.h"
#include "EngineState.h"
#include "Failure.h"
#include "KnownAnswer.h"
#include "SideBySide.h"
#include "cuda/Tools.h"
#include "llvm/Support/FormatVariadic.h"

#include <mutex>

namespace mla_jit {

namespace {

/// A decode's tensors on a device.
class DeviceDecode {
public:
  DeviceDecode(ContextPtr context, const KnownAnswer &known,
               const Kernel &kernel, std::chrono::milliseconds limit)
      : context(std::move(context)), known(known), kernel(kernel),
        limit(limit) {}

  /// Launches with so many splits (0: automatic); what is wrong, if anything.
  llvm::Expected<std::optional<std::string>> run(int64_t splits);
  /// Whether the limit passed: the kernel and all tensors may be in use.
  bool isRunning() const { return running; }

private:
  template <typename T>
  llvm::Error put(const char *name, const std::vector<T> &values) {
    auto buffer = allocate(name, values.size() * sizeof(T));
    return buffer ? stream->copyToDevice(*buffer, values.data(),
                                         values.size() * sizeof(T))
                  : buffer.takeError();
  }
  llvm::Expected<cuda::DevicePtr> allocate(const std::string &name,
                                           size_t bytes);
  llvm::Error putAll();

  ContextPtr context;
  const KnownAnswer &known;
  const Kernel &kernel;
  std::chrono::milliseconds limit;
  bool running = false;
  std::optional<cuda::Stream> stream;
  std::map<std::string, cuda::DeviceBuffer> buffers;
};

} // namespace

/// Full of NaN, so that what is not written is seen.
llvm::Expected<cuda::DevicePtr> DeviceDecode::allocate(const std::string &name,
                                                       size_t bytes) {
  auto buffer = cuda::DeviceBuffer::allocate(context, bytes);
  if (!buffer)
    return buffer.takeError();
  cuda::DevicePtr address = buffer->address();
  buffers.insert_or_assign(name, std::move(*buffer));
  if (llvm::Error error = stream->fill(address, 0xff, bytes))
    return std::move(error);
  return address;
}

llvm::Error DeviceDecode::putAll() {
  if (llvm::Error error = put("q", known.q))
    return error;
  if (llvm::Error error = put("k", known.k))
    return error;
  if (llvm::Error error = put("seq_lens", known.lengths))
    return error;
  return put("table", known.table);
}

llvm::Expected<std::optional<std::string>> DeviceDecode::run(int64_t splits) {
  auto opened = cuda::Stream::create(context);
  if (!opened)
    return opened.takeError();
  stream.emplace(std::move(*opened));
  if (llvm::Error error = putAll())
    return std::move(error);
  std::vector<uint16_t> out(known.out.size());
  std::vector<float> lse(known.lse.size());
  size_t outBytes = out.size() * sizeof(out[0]);
  size_t lseBytes = lse.size() * sizeof(lse[0]);
  for (auto [name, bytes] : {std::pair{"out", outBytes}, {"lse", lseBytes}})
    if (auto buffer = allocate(name, bytes); !buffer)
      return buffer.takeError();

  Arguments arguments(kernel.info());
  if (llvm::Error error = known.set(arguments, [&](const char *name) {
        return reinterpret_cast<void *>(buffers.at(name).address());
      }))
    return std::move(error);
  if (llvm::Error error = arguments.set("num_splits", double(splits)))
    return std::move(error);
  size_t bytes = kernel.workspaceBytes(arguments);
  auto workspace = allocate("workspace", bytes);
  if (!workspace)
    return workspace.takeError();
  if (llvm::Error error =
          kernel.launch(arguments, reinterpret_cast<void *>(*workspace), bytes,
                        stream->handle()))
    return std::move(error);
  // Before the copies, which wait for as long as it takes.
  auto done = stream->synchronizeFor(limit);
  if (!done)
    return done.takeError();
  running = !*done;
  if (running)
    return llvm::formatv("nothing within {0} s", limit.count() / 1e3).str();
  for (auto [name, to, size] : {std::tuple{"out", (void *)out.data(), outBytes},
                                {"lse", (void *)lse.data(), lseBytes}})
    if (llvm::Error error =
            stream->copyToHost(to, buffers.at(name).address(), size))
      return std::move(error);
  if (llvm::Error error = stream->synchronize())
    return std::move(error);
  return known.findError(out, lse);
}

/// Keeps something for the rest of the process: the driver would wait for what
/// is running before it lets go of memory or code.
static void keepForever(std::shared_ptr<void> object) {
  static std::mutex &mutex = *new std::mutex;
  static auto &kept = *new std::vector<std::shared_ptr<void>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(object));
}

llvm::Expected<std::shared_ptr<Kernel>>
Engine::State::loadCheck(const Spec &spec, const ContextPtr &device,
                         const std::optional<mlir::mla::Assembler> &ptxas) {
  auto asked = request(spec);
  if (!asked)
    return asked.takeError();
  asked->supportedPTX =
      ptxas ? ptxas->ptxVersion : device->driver().ptxVersion();
  auto share = threadsForKernel();
  asked->entryThreads = ptxas ? 0 : share.threads();
  auto compiled = mla_jit::compile(*asked, Stage::PTX);
  if (!compiled)
    return compiled.takeError();
  if (ptxas) {
    auto report =
        assembleByPtxas(compiled->text, *compiled->info, *ptxas, options);
    if (!report)
      return report.takeError();
    compiled->cubin = std::move(report->cubin);
  }
  // Launched twice: the engine's graphs are for kernels that are kept.
  auto loaded = loadCudaKernel(*compiled, device, options.numWorkers,
                               share.threads(), /*graphs=*/nullptr);
  if (!loaded)
    return loaded.takeError();
  return std::shared_ptr<Kernel>(new Kernel(std::move(*loaded)));
}

llvm::Error
Engine::State::runCheck(const ContextPtr &device, const std::string &assembler,
                        const std::optional<mlir::mla::Assembler> &ptxas) {
  // Of each dataflow one, with partial results and without.
  const KnownAnswer answers[] = {{16, 2}, {128, 1}};
  constexpr size_t kCount = std::size(answers);
  std::array<std::optional<llvm::Expected<std::shared_ptr<Kernel>>>, kCount>
      kernels;
  runSideBySide(kCount, compileThreads(), [&](size_t i) {
    kernels[i].emplace(loadCheck(answers[i].spec, device, ptxas));
  });
  llvm::Error first = llvm::Error::success();
  for (auto &kernel : kernels) {
    if (*kernel)
      continue;
    llvm::Error error = kernel->takeError();
    // What the chip has no kernel for nobody will use.
    if (first || error.isA<UnsupportedError>())
      llvm::consumeError(std::move(error));
    else
      first = std::move(error);
    kernel = nullptr;
  }
  if (first)
    return first;
  for (auto [known, kernel] : llvm::zip(answers, kernels))
    for (int64_t splits : {0, 3}) {
      if (!**kernel)
        continue;
      auto decode = std::make_shared<DeviceDecode>(device, known, ***kernel,
                                                   options.selfCheckLimit);
      auto wrong = decode->run(splits);
      if (decode->isRunning()) {
        keepForever(decode);
        for (auto &loaded : kernels)
          keepForever(**loaded);
      }
      if (!wrong)
        return cuda::inStage("self-check", wrong.takeError());
      if (*wrong)
        return fail(
            FailureKind::Device,
            llvm::formatv(
                "stage 'assemble': requires an assembler that makes right code "
                "for {0}, but {1} does not: a decode of {2} heads and {3} "
                "splits gave {4}",
                device->device().chip, assembler, known.spec.numHeads,
                splits ? std::to_string(splits) : "automatic", **wrong));
    }
  return llvm::Error::success();
}

/// An error if the version is one of those that are not to be used.
static llvm::Error checkDefects(const cuda::Driver &driver) {
  auto version =
      mlir::mla::parseAssemblerVersion(cuda::versionText(driver.version()));
  for (const mlir::mla::AssemblerDefect &defect :
       mlir::mla::findDefects(version))
    if (defect.denied)
      return fail(FailureKind::Device,
                  llvm::formatv("stage 'assemble': the assembler of {0} is not "
                                "to be used: {1}",
                                nameDriversAssembler(driver), defect.text));
  return llvm::Error::success();
}

llvm::Error Engine::State::checkAssembler(const ContextPtr &device,
                                          const std::string &ptxas) {
  if (ptxas.empty())
    if (llvm::Error error = checkDefects(device->driver()))
      return error;
  const std::string &chip = device->device().chip;
  std::string name =
      ptxas.empty() ? nameDriversAssembler(device->driver()) : ptxas;
  if (options.selfCheck == SelfCheck::Never ||
      (options.selfCheck == SelfCheck::Unverified &&
       mlir::mla::isVerifiedAssembler(name, chip)))
    return llvm::Error::success();

  cache::KeyBuilder builder;
  auto key = builder.add("self-check", "1")
                 .add("assembler", name)
                 .add("target", "cuda")
                 .add("chip", chip)
                 .add("build", store.buildId())
                 .build();
  if (!key)
    return fail(FailureKind::Invalid, key.error().message);
  KernelStore::Silence silence(store);
  auto verdict = verdicts.getOrMake(
      *key, [&]() -> cache::Result<std::shared_ptr<Verdict>> {
        auto judged = judge(device, name, !ptxas.empty(), *key);
        if (!judged)
          return toCacheError(describeFailure(judged.takeError()));
        return std::make_shared<Verdict>(std::move(*judged));
      });
  if (!verdict)
    return toError(verdict.error());
  const Verdict &known = **verdict;
  return known ? toError(*known) : llvm::Error::success();
}

llvm::Expected<Engine::State::Verdict>
Engine::State::judge(const ContextPtr &device, const std::string &name,
                     bool isPtxas, const cache::CacheKey &key) {
  auto tell = [&](double seconds, std::string message) {
    store.tell(EngineEvent::Kind::SelfCheck, nullptr, seconds,
               std::move(message));
  };
  std::string what =
      "the assembler " + name + ", which this library was not verified with, ";
  auto skip = [&](const std::string &why) -> Verdict {
    tell(0, what + "is used without a self-check: " + why);
    return std::nullopt;
  };
  bool isRemembered = store.isRemembered(key);
  std::optional<mlir::mla::Assembler> ptxas;
  if (isPtxas && !isRemembered) {
    auto found = chooseAssembler(/*context=*/nullptr, options);
    if (!found)
      return skip(llvm::toString(found.takeError()));
    if (found->name != name)
      return skip("it is not on this machine");
    ptxas = std::move(found->ptxas);
  }
  if (store.currentPolicy() == JITPolicy::Forbid && !isRemembered)
    return skip("the policy forbids to compile");
  llvm::Error error = store.once(key, [&] {
    auto start = std::chrono::steady_clock::now();
    llvm::Error failure = runCheck(device, name, ptxas);
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    if (!failure)
      tell(took.count(), what + "made right code for " + device->device().chip);
    return failure;
  });
  if (!error)
    return std::nullopt;
  Failure failure = describeFailure(std::move(error));
  // A device that is lost or full says nothing of the assembler.
  if (failure.kind != FailureKind::Device || failure.driverCode)
    return toError(std::move(failure));
  tell(0, failure.message);
  return failure;
}

} // namespace mla_jit
