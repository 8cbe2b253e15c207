//===- CInterfaceDeviceTest.cpp -------------------------------------------===//
// CInterfaceDeviceTest.cpp------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the C interface says of lse and of merges, on a GPU; skipped where there
// is none.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/cuda/Tools.h"
#include "MergeParts.h"

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
  constexpr int64_t kPages = 64, kColumns = 48;
  const std::vector<int32_t> lengths = {20, 0, 3000};
  std::vector<int32_t> table(lengths.size() * kColumns);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<int32_t>(i % kPages);
  auto batch = static_cast<int32_t>(lengths.size());
  for (int32_t heads : {16, 128}) { // both dataflows
    auto spec = mla::make<mla_spec>();
    spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
    spec.h_q = heads;
    spec.h_kv = 1;
    spec.d_qk = 576;
    spec.d_v = 512;
    spec.page_size = 64;
    spec.table_kind = MLA_TABLE_DENSE;
    spec.mask = MLA_MASK_CAUSAL;
    spec.max_splits = 4;
    auto kernel = engine.prepare(spec);
    ASSERT_TRUE(kernel) << kernel.status().message();
    auto sizes = engine.sizes(spec, batch, batch);
    ASSERT_TRUE(sizes) << sizes.status().message();
    std::vector<char> workspace(sizes->workspace_bytes, char(0x7f));
    std::vector<uint16_t> q(size_t(batch) * heads * 576),
        k(size_t(kPages) * 64 * 576), out(size_t(batch) * heads * 512);
    std::vector<float> lse(size_t(batch) * heads);
    auto args = mla::make<mla_args>();
    args.batch = args.total_q = batch;
    args.q_len = 1;
    args.q = tensor(upload(q), MLA_BF16, {batch, 1, heads, 576});
    args.k = tensor(upload(k), MLA_BF16, {kPages, 64, 1, 576});
    args.out = tensor(upload(out), MLA_BF16, {batch, 1, heads, 512});
    args.lse = tensor(upload(lse), MLA_F32, {batch, 1, heads});
    args.seq_lens = tensor(upload(lengths), MLA_I32, {batch});
    args.table = tensor(upload(table), MLA_I32, {batch, kColumns});
    args.softmax_scale = 0.1f;
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
