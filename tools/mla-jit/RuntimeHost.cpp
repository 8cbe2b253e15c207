//===- RuntimeHost.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeHost.h"

#include "mla/Inputs/Generate.h"
#include "mla/Inputs/Models.h"

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace mla_jit {

static constexpr int kPageSize = 64, kHeadDim = 576, kHeadDimV = 512;

/// spin(nanoseconds): until the clock is that much later.
static constexpr const char *kSpinPTX = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 nanoseconds)
{
  .reg .u64 %rd<4>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [nanoseconds];
  mov.u64 %rd2, %globaltimer;
again:
  mov.u64 %rd3, %globaltimer;
  sub.u64 %rd3, %rd3, %rd2;
  setp.lt.u64 %p1, %rd3, %rd1;
  @%p1 bra again;
  ret;
}
)";

//===----------------------------------------------------------------------===//
// RuntimeHost
//===----------------------------------------------------------------------===//

/// What is generated, as the library of inputs says it.
static Spec inputSpec() {
  Spec spec;
  spec.numHeads = kStepHeads;
  spec.headDim = kHeadDim;
  spec.headDimV = kHeadDimV;
  spec.pageSize = kPageSize;
  spec.qDType = spec.kvDType = spec.outDType = DType::BF16;
  return spec;
}

static Expected<cuda::DeviceBuffer>
upload(const std::shared_ptr<const cuda::Context> &context,
       const cuda::Stream &stream, llvm::ArrayRef<uint8_t> bytes) {
  auto buffer = cuda::DeviceBuffer::allocate(context, bytes.size());
  if (!buffer)
    return buffer.takeError();
  if (Error error =
          stream.copyToDevice(buffer->address(), bytes.data(), bytes.size()))
    return std::move(error);
  return buffer;
}

Error RuntimeHost::makeInputs() {
  GenOptions options;
  options.seqLens.assign(kStepBatch, kMaxKeys);
  auto made = generateInputs(inputSpec(), options);
  if (!made)
    return made.takeError();
  tensors = std::move(*made);
  options.seqLens.assign(kStepBatch, 1);
  options.seed = 1;
  auto others = generateInputs(inputSpec(), options);
  if (!others)
    return others.takeError();
  auto stream = cuda::Stream::create(where);
  if (!stream)
    return stream.takeError();
  for (auto [buffer, bytes] : {std::pair{&queries[0], tensors.storage("q")},
                               {&queries[1], others->storage("q")},
                               {&pool, tensors.storage("k")}})
    if (Error error = upload(where, *stream, bytes).moveInto(*buffer))
      return error;
  return stream->synchronize();
}

Expected<std::unique_ptr<RuntimeHost>> RuntimeHost::open(int device) {
  auto driver = cuda::Driver::get();
  if (!driver)
    return driver.takeError();
  auto found = cuda::Device::open(*driver, device);
  if (!found)
    return found.takeError();
  auto context = cuda::Context::retain(*driver, *found);
  if (!context)
    return context.takeError();
  std::unique_ptr<RuntimeHost> host(new RuntimeHost(std::move(*context)));
  if (Error error = host->loadDelay().moveInto(host->spin))
    return std::move(error);
  if (Error error = host->makeInputs())
    return std::move(error);
  return host;
}

mla::Engine RuntimeHost::makeEngine(int memoryEntries) const {
  auto options = mla::make<mla_engine_options>();
  options.target = "cuda";
  options.device = device();
  options.memory_entries = memoryEntries;
  options.cache_dir = "";
  auto engine = mla::Engine::create(options);
  if (!engine)
    llvm::report_fatal_error(engine.status().message());
  return std::move(*engine);
}

mla_spec RuntimeHost::spec() const {
  auto spec = mla::make<mla_spec>();
  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
  spec.h_q = kStepHeads;
  spec.h_kv = 1;
  spec.d_qk = kHeadDim;
  spec.d_v = kHeadDimV;
  spec.page_size = kPageSize;
  spec.table_kind = MLA_TABLE_DENSE;
  spec.mask = MLA_MASK_CAUSAL;
  spec.max_batch = spec.max_total_q = kStepBatch;
  return spec;
}

mla_spec RuntimeHost::otherSpec(int number) const {
  mla_spec other = spec();
  other.h_q = kStepHeads + 1 + number % 48;
  other.d_qk = kHeadDim - 64 * (number / 48);
  return other;
}

float RuntimeHost::scale() const {
  return static_cast<float>(findModel("deepseek-v3")->softmaxScale());
}

Expected<std::shared_ptr<const cuda::Function>> RuntimeHost::loadDelay() const {
  auto library = cuda::Library::assemble(where, kSpinPTX);
  if (!library)
    return library.takeError();
  return cuda::Function::get(*library, "spin");
}

Error RuntimeHost::delay(const cuda::Stream &stream,
                         uint64_t nanoseconds) const {
  void *parameters[] = {&nanoseconds};
  cuda::LaunchConfig config;
  config.stream = stream.handle();
  return cuda::launch(*spin, config, parameters);
}

//===----------------------------------------------------------------------===//
// DecodeStep
//===----------------------------------------------------------------------===//

mla_tensor deviceTensor(cuda::DevicePtr address, int32_t dtype,
                        std::initializer_list<int64_t> shape) {
  mla_tensor tensor = {};
  tensor.data = DecodeStep::pointer(address);
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  int64_t stride = 1;
  for (int dim = tensor.rank; dim-- > 0; stride *= tensor.shape[dim])
    tensor.stride[dim] = stride;
  return tensor;
}

cuda::DeviceBuffer DecodeStep::allocate(size_t bytes) {
  if (!check.ok())
    return {};
  return check.get(cuda::DeviceBuffer::allocate(host.context(), bytes));
}

DecodeStep::DecodeStep(Check &check, const RuntimeHost &host,
                       mla::Engine &engine, mla::Kernel given, Options options)
    : kernel(std::move(given)), args(mla::make<mla_args>()), check(check),
      host(host), copies(options.copies) {
  auto opened = cuda::Stream::create(host.context());
  if (!opened) {
    check.require(opened.takeError());
    return;
  }
  queue.emplace(std::move(*opened));
  mla_spec spec = host.spec();
  spec.max_splits = options.splits;
  auto sizes = check.get(engine.sizes(spec), "mla_sizes_for");
  outBytes = size_t(kStepBatch) * kStepHeads * kHeadDimV * 2;
  lseBytes = size_t(kStepBatch) * kStepHeads * 4;
  int64_t columns = host.inputs().view("table").shape[1];
  outputs = allocate((outBytes + lseBytes) * copies);
  lengths = allocate(sizeof(Lengths));
  table = allocate(kStepBatch * columns * 4);
  memory = GuardedWorkspace(check, host, *queue, sizes.workspace_bytes);
  if (!check.ok())
    return;
  args.batch = args.total_q = kStepBatch;
  args.q_len = 1;
  args.q =
      deviceTensor(host.query(0), MLA_BF16, {kStepBatch, kStepHeads, kHeadDim});
  args.k =
      deviceTensor(host.keys(), MLA_BF16,
                   {host.inputs().view("k").shape[0], kPageSize, 1, kHeadDim});
  args.seq_lens = deviceTensor(lengths.address(), MLA_I32, {kStepBatch});
  args.table = deviceTensor(table.address(), MLA_I32, {kStepBatch, columns});
  args.softmax_scale = host.scale();
  args.num_splits = options.splits;
  args.workspace = pointer(memory.address());
  args.workspace_bytes = sizes.workspace_bytes;
  fillTable(static_cast<int>(columns));
  setLengths(kLongLengths);
  spoilOutputs();
}

void DecodeStep::setLengths(const Lengths &now) {
  if (check.ok())
    check.require(
        queue->copyToDevice(lengths.address(), now.data(), sizeof(Lengths)));
}

void DecodeStep::fillTable(int columns) {
  if (!check.ok())
    return;
  auto bytes = host.inputs().storage("table");
  std::vector<int32_t> ids(bytes.size() / 4);
  std::copy(bytes.begin(), bytes.end(),
            reinterpret_cast<uint8_t *>(ids.data()));
  int64_t width = args.table.stride[0];
  for (size_t i = 0; i < ids.size(); ++i)
    if (static_cast<int64_t>(i) % width >= columns)
      ids[i] = INT32_MAX;
  check.require(queue->copyToDevice(table.address(), ids.data(), bytes.size()));
}

void DecodeStep::spoilOutputs() {
  if (check.ok())
    check.require(queue->fill(outputs.address(), 0xff, outputs.size()));
}

void DecodeStep::launch(int copy) {
  if (!check.ok())
    return;
  cuda::DevicePtr out = outputs.address() + copy * (outBytes + lseBytes);
  args.out = deviceTensor(out, MLA_BF16, {kStepBatch, kStepHeads, kHeadDimV});
  args.lse = deviceTensor(out + outBytes, MLA_F32, {kStepBatch, kStepHeads});
  check.require(kernel.launch(args, queue->handle()), "mla_launch");
}

DecodeStep::Bytes DecodeStep::results(int copy) {
  Bytes bytes(outBytes + lseBytes);
  if (!check.ok())
    return bytes;
  check.require(queue->copyToHost(
      bytes.data(), outputs.address() + copy * bytes.size(), bytes.size()));
  check.require(queue->synchronize());
  return bytes;
}

DecodeStep::Bytes DecodeStep::run(const Lengths &now) {
  setLengths(now);
  spoilOutputs();
  launch();
  return results();
}

void DecodeStep::requireGuard(const Twine &when) {
  if (check.ok())
    memory.requireGuard(check, *queue, when);
}

void DecodeStep::requireResults(const Bytes &expected, const Twine &when,
                                int copy) {
  Bytes got = results(copy);
  if (got == expected)
    return;
  size_t different = 0;
  for (size_t i = 0; i < got.size(); ++i)
    different += got[i] != expected[i];
  check.require(different == 0, when + ": " + Twine(different) + " of " +
                                    Twine(got.size()) +
                                    " bytes of out and lse differ");
}

//===----------------------------------------------------------------------===//
// CapturedGraph
//===----------------------------------------------------------------------===//

CapturedGraph::CapturedGraph(Check &check, const cuda::Stream &stream,
                             cuda::CaptureMode mode,
                             llvm::function_ref<void()> work)
    : check(check), stream(stream) {
  if (!check.ok())
    return;
  const cuda::Driver &driver = stream.context().driver();
  const cuda::DriverTable &call = driver.call();
  auto scope = stream.context().enter();
  if (!scope) {
    check.require(scope.takeError());
    return;
  }
  if (!check.require(
          driver.check(call.streamBeginCapture(stream.handle(), mode),
                       "cuStreamBeginCapture")))
    return;
  work();
  cuda::GraphHandle graph = nullptr;
  // Ended whatever went wrong; that an illegal call broke it shows here.
  if (!check.require(driver.check(
          call.streamEndCapture(stream.handle(), &graph), "cuStreamEndCapture",
          "of what has to be a capture still")))
    return;
  check.require(driver.check(call.graphInstantiate(&executable, graph, 0),
                             "cuGraphInstantiate"));
  call.graphDestroy(graph);
}

CapturedGraph::~CapturedGraph() {
  if (executable)
    stream.context().driver().call().graphExecDestroy(executable);
}

void CapturedGraph::replay() {
  if (!check.ok() || !check.require(executable, "there is no graph"))
    return;
  const cuda::Driver &driver = stream.context().driver();
  auto scope = stream.context().enter();
  if (!scope) {
    check.require(scope.takeError());
    return;
  }
  check.require(driver.check(
      driver.call().graphLaunch(executable, stream.handle()), "cuGraphLaunch"));
}

} // namespace mla_jit
