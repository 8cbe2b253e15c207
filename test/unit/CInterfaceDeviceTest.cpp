//===- CInterfaceDeviceTest.cpp -------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the C interface says of lse, of merges and of schedules, on a GPU;
// skipped where there is none.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/cuda/Tools.h"
#include "MergeParts.h"

#include <bit>

using namespace mla_test;
namespace cuda = mla_jit::cuda;

namespace {

class CInterfaceDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    auto driver = cuda::Driver::get();
    if (!driver) {
      llvm::consumeError(driver.takeError());
      GTEST_SKIP() << "there is no driver";
    }
    auto device = cuda::Device::open(*driver);
    if (!device) {
      llvm::consumeError(device.takeError());
      GTEST_SKIP() << "there is no device";
    }
    context = llvm::cantFail(cuda::Context::retain(*driver, *device));
    stream.emplace(llvm::cantFail(cuda::Stream::create(context)));
  }

  /// Memory of the device with that content.
  template <typename T> void *upload(const std::vector<T> &content) {
    size_t bytes = content.size() * sizeof(T);
    buffers.push_back(
        llvm::cantFail(cuda::DeviceBuffer::allocate(context, bytes)));
    cuda::DevicePtr address = buffers.back().address();
    llvm::cantFail(stream->copyToDevice(address, content.data(), bytes));
    return reinterpret_cast<void *>(address);
  }
  template <typename T> void download(std::vector<T> &to, const void *from) {
    llvm::cantFail(stream->copyToHost(to.data(),
                                      reinterpret_cast<cuda::DevicePtr>(from),
                                      to.size() * sizeof(T)));
    llvm::cantFail(stream->synchronize());
  }
  static mla::Engine cudaEngine() {
    return makeEngine([](mla_engine_options &options) {
      options.target = "cuda";
      options.num_sms = 0;
    });
  }

  std::shared_ptr<const cuda::Context> context;
  std::optional<cuda::Stream> stream;
  std::vector<cuda::DeviceBuffer> buffers;
};

constexpr int64_t kPages = 64, kTableColumns = 48;

/// Decodes of DeepSeek-V3's shape with one query a request, causal; q and k
/// hold zeros.
struct Decode {
  Decode(int32_t heads, uint32_t features, int64_t batch)
      : spec(mla::make<mla_spec>()), args(mla::make<mla_args>()),
        q(batch * heads * 576), k(kPages * 64 * 576), out(batch * heads * 512),
        lse(batch * heads), table(batch * kTableColumns) {
    spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
    spec.h_q = heads;
    spec.h_kv = 1;
    spec.d_qk = 576;
    spec.d_v = 512;
    spec.page_size = 64;
    spec.table_kind = MLA_TABLE_DENSE;
    spec.mask = MLA_MASK_CAUSAL;
    spec.features = features;
    spec.max_splits = 4;
    args.batch = args.total_q = static_cast<int32_t>(batch);
    args.q_len = 1;
    args.softmax_scale = 0.1f;
    args.q = tensor(nullptr, MLA_BF16, {batch, 1, heads, 576});
    args.k = tensor(nullptr, MLA_BF16, {kPages, 64, 1, 576});
    args.out = tensor(nullptr, MLA_BF16, {batch, 1, heads, 512});
    args.lse = tensor(nullptr, MLA_F32, {batch, 1, heads});
    args.seq_lens = tensor(nullptr, MLA_I32, {batch});
    args.table = tensor(nullptr, MLA_I32, {batch, kTableColumns});
    for (size_t i = 0; i < table.size(); ++i)
      table[i] = static_cast<int32_t>(i * 29 % kPages);
  }

  mla_spec spec;
  mla_args args;
  std::vector<uint16_t> q, k, out;
  std::vector<float> lse;
  std::vector<int32_t> table;
};

/// Bits of bf16 numbers in about [-2, 2].
void fillRandom(std::vector<uint16_t> &bits, unsigned seed) {
  std::minstd_rand next(seed);
  for (uint16_t &one : bits) {
    float value = static_cast<float>(next() % 4096) / 1024 - 2;
    one = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  }
}

} // namespace

TEST_F(CInterfaceDeviceTest, MergesAsTheHostDoes) {
  mla::Engine engine = cudaEngine();
  for (int32_t dtype : {MLA_F32, MLA_BF16, MLA_F16}) {
    auto kernel = engine.prepare(mergeSpec(dtype));
    ASSERT_TRUE(kernel) << kernel.status().message();
    for (int64_t n : {1, 2, 5, 40})
      for (int32_t base : {0, 2}) {
        Parts parts(dtype, n, 700, n);
        // A part that is left out, and a row without any.
        parts.lse[1] = -kInf;
        parts.values.set(1, 3, kNaN);
        for (int64_t part = 0; part < n; ++part)
          parts.lse[part * parts.rows * kHeads + 2] = -kInf;
        mla_merge_args args = parts.args();
        args.lse_base = base;
        args.flags = MLA_LAUNCH_PDL_WAIT;
        args.parts.data = upload(parts.values.memory);
        args.lse_parts.data = upload(parts.lse);
        args.out.data = upload(parts.out.memory);
        args.lse.data = upload(parts.lseOut);
        mla::Status status = kernel->merge(args, stream->handle());
        ASSERT_TRUE(status) << status.message();
        download(parts.out.memory, args.out.data);
        download(parts.lseOut, args.lse.data);
        expectMerged(parts, parts.out, parts.lseOut, base ? 2 : std::exp(1.0),
                     -kInf);
      }
  }
}

TEST_F(CInterfaceDeviceTest, ResultsMayTakeThePlaceOfAPart) {
  mla::Engine engine = cudaEngine();
  auto kernel = engine.prepare(mergeSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  Parts parts(MLA_F32, 7, 500);
  const Parts before = parts;
  mla_merge_args args = parts.args();
  args.parts.data = upload(parts.values.memory);
  args.lse_parts.data = upload(parts.lse);
  args.out = args.parts;
  args.out.rank = 3;
  for (int dim = 0; dim < 3; ++dim) {
    args.out.shape[dim] = args.parts.shape[dim + 1];
    args.out.stride[dim] = args.parts.stride[dim + 1];
  }
  args.lse.data = args.lse_parts.data;
  mla::Status status = kernel->merge(args, stream->handle());
  ASSERT_TRUE(status) << status.message();
  download(parts.values.memory, args.parts.data);
  download(parts.lse, args.lse_parts.data);
  parts.lse.resize(parts.rows * kHeads); // part 0
  expectMerged(before, parts.values, parts.lse, std::exp(1.0), -kInf);
}

/// Queries are 0, so the lse of a request is the logarithm of its length.
TEST_F(CInterfaceDeviceTest, LSEOfEitherBaseWithEitherEmptyValue) {
  mla::Engine engine = cudaEngine();
  const std::vector<int32_t> lengths = {20, 0, 3000};
  auto batch = static_cast<int32_t>(lengths.size());
  for (int32_t heads : {16, 128}) { // both dataflows
    Decode decode(heads, /*features=*/0, batch);
    mla_args &args = decode.args;
    auto kernel = engine.prepare(decode.spec);
    ASSERT_TRUE(kernel) << kernel.status().message();
    auto sizes = engine.sizes(decode.spec, batch, batch);
    ASSERT_TRUE(sizes) << sizes.status().message();
    std::vector<char> workspace(sizes->workspace_bytes, char(0x7f));
    args.q.data = upload(decode.q);
    args.k.data = upload(decode.k);
    args.out.data = upload(decode.out);
    args.lse.data = upload(decode.lse);
    args.seq_lens.data = upload(lengths);
    args.table.data = upload(decode.table);
    args.workspace = upload(workspace);
    args.workspace_bytes = sizes->workspace_bytes;
    for (int32_t splits : {0, 1, 4})
      for (int32_t base : {0, 2})
        for (int32_t posinf : {0, 1})
          for (uint32_t flags :
               {0u, MLA_LAUNCH_PDL_WAIT | MLA_LAUNCH_PDL_TRIGGER}) {
            args.num_splits = splits;
            args.lse_base = base;
            args.lse_empty_posinf = posinf;
            args.flags = flags;
            mla::Status status = kernel->launch(args, stream->handle());
            ASSERT_TRUE(status) << status.message();
            std::vector<float> &lse = decode.lse;
            download(lse, args.lse.data);
            for (int32_t head : {0, heads - 1}) {
              for (int32_t request : {0, 2}) {
                double length = lengths[request];
                EXPECT_NEAR(lse[request * heads + head],
                            base ? std::log2(length) : std::log(length), 1e-4)
                    << heads << " heads, " << splits << " splits";
              }
              EXPECT_EQ(lse[heads + head], posinf ? kInf : -kInf);
            }
          }
  }
}

/// Layers of a step: a schedule and three launches that name it, captured and
/// replayed with other lengths. Each gives the bits of a launch that plans
/// itself.
TEST_F(CInterfaceDeviceTest, LayersOfAScheduleGiveTheBitsOfLaunchesAlone) {
  constexpr int kLayers = 3;
  mla::Engine engine = cudaEngine();
  const std::vector<std::vector<int32_t>> steps = {
      {1, 1, 1, 1, 1}, {20, 0, 3000, 129, 2777}, {3072, 3, 3, 3, 0}};
  auto batch = static_cast<int32_t>(steps.front().size());
  for (int32_t heads : {16, 128}) { // both dataflows
    Decode decode(heads, MLA_FEATURE_SHARED_SCHEDULE, batch);
    mla_args args = decode.args;
    auto kernel = engine.prepare(decode.spec);
    ASSERT_TRUE(kernel) << kernel.status().message();
    auto sizes = engine.sizes(decode.spec, batch, batch);
    ASSERT_TRUE(sizes) << sizes.status().message();
    std::vector<char> workspace(sizes->workspace_bytes, char(0x7f)),
        schedule(sizes -> schedule_bytes, char(0x7f));
    fillRandom(decode.q, 1);
    fillRandom(decode.k, 2);
    args.q.data = upload(decode.q);
    args.k.data = upload(decode.k);
    args.seq_lens.data = upload(steps.front());
    args.table.data = upload(decode.table);
    args.workspace = upload(workspace);
    args.workspace_bytes = sizes->workspace_bytes;
    void *shared = upload(schedule);
    struct Results {
      void *out, *lse;
    };
    std::vector<Results> layers;
    for (int layer = 0; layer < kLayers; ++layer)
      layers.push_back({upload(decode.out), upload(decode.lse)});
    args.out.data = layers[0].out;
    args.lse.data = layers[0].lse;
    auto launch = [&](int layer, const void *named) {
      args.out.data = layers[layer].out;
      args.lse.data = layers[layer].lse;
      args.schedule = named;
      args.schedule_bytes = named ? schedule.size() : 0;
      return kernel->launch(args, stream->handle());
    };
    for (int32_t splits : {0, 3}) {
      args.num_splits = splits;
      args.schedule = nullptr;
      args.schedule_bytes = 0;
      auto graph = cuda::Graph::capture(context, *stream, [&]() -> llvm::Error {
        mla::Status status =
            kernel->schedule(args, shared, schedule.size(), stream->handle());
        for (int layer = 0; layer < kLayers && status; ++layer)
          status = launch(layer, shared);
        return status ? llvm::Error::success()
                      : llvm::createStringError(status.message());
      });
      ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
      for (const std::vector<int32_t> &lengths : steps) {
        auto address = reinterpret_cast<cuda::DevicePtr>(args.seq_lens.data);
        llvm::cantFail(
            stream->copyToDevice(address, lengths.data(), lengths.size() * 4));
        mla::Status status = launch(0, nullptr);
        ASSERT_TRUE(status) << status.message();
        std::vector<uint16_t> alone(decode.out.size()), out(alone.size());
        std::vector<float> aloneLse(decode.lse.size()), lse(aloneLse.size());
        download(alone, layers[0].out);
        download(aloneLse, layers[0].lse);
        for (const Results &layer : layers) {
          llvm::cantFail(
              stream->fill(reinterpret_cast<cuda::DevicePtr>(layer.out), 0xff,
                           out.size() * 2));
          llvm::cantFail(
              stream->fill(reinterpret_cast<cuda::DevicePtr>(layer.lse), 0xff,
                           lse.size() * 4));
        }
        llvm::cantFail(graph->launch(*stream));
        for (const Results &layer : layers) {
          download(out, layer.out);
          download(lse, layer.lse);
          EXPECT_TRUE(out == alone && lse == aloneLse)
              << heads << " heads, " << splits << " splits, lengths from "
              << lengths.front();
        }
      }
    }
  }
}

/// The check reads what the work ahead in the stream has written.
TEST_F(CInterfaceDeviceTest, LaunchesMayCheckTheirContents) {
  mla::Engine engine = cudaEngine();
  Decode decode(16, /*features=*/0, /*batch=*/3);
  auto kernel = engine.prepare(decode.spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  auto sizes = engine.sizes(decode.spec, 3, 3);
  ASSERT_TRUE(sizes) << sizes.status().message();
  mla_args args = decode.args;
  args.flags = MLA_LAUNCH_CHECK;
  args.q.data = upload(decode.q);
  args.k.data = upload(decode.k);
  args.out.data = upload(decode.out);
  args.lse.data = upload(decode.lse);
  args.seq_lens.data = upload(std::vector<int32_t>(3));
  args.table.data = upload(decode.table);
  args.workspace = upload(std::vector<char>(sizes->workspace_bytes));
  args.workspace_bytes = sizes->workspace_bytes;
  auto launch = [&](std::vector<int32_t> lengths) {
    llvm::cantFail(stream->copyToDevice(
        reinterpret_cast<cuda::DevicePtr>(args.seq_lens.data), lengths.data(),
        lengths.size() * sizeof(int32_t)));
    return kernel->launch(args, stream->handle());
  };
  for (int i = 0; i < 3; ++i) {
    mla::Status status = launch({64 * kTableColumns, 0, 1});
    EXPECT_TRUE(status) << status.message();
  }
  mla::Status status = launch({1, 64 * kTableColumns + 1, 1});
  EXPECT_EQ(status.code(), MLA_E_INVALID);
  EXPECT_STREQ(status->argument, "seq_lens") << status.message();
  llvm::cantFail(stream->synchronize());
}
