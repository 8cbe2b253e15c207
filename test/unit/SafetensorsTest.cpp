//===- SafetensorsTest.cpp - Tests of tensor sets and tensor files --------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Inputs/Safetensors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace mla_jit;
using llvm::cantFail;
using llvm::StringRef;

namespace {
/// Each test has a directory of its own.
class SafetensorsTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(
        llvm::sys::fs::createUniqueDirectory("safetensors", directory));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  std::string path(StringRef name) {
    llvm::SmallString<128> full = directory;
    llvm::sys::path::append(full, name);
    return full.str().str();
  }

  std::string writeBytes(StringRef bytes) {
    std::string file = path("bytes.safetensors");
    std::error_code code;
    llvm::raw_fd_ostream(file, code) << bytes;
    EXPECT_FALSE(code);
    return file;
  }

  /// A file with this header, its length in front and zeros as data.
  std::string writeFile(StringRef header, size_t dataBytes) {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i)
      bytes[i] = char(uint64_t(header.size()) >> (8 * i));
    return writeBytes(bytes + header.str() + std::string(dataBytes, '\0'));
  }

  /// Expects that reading fails with a message that ends in `message`.
  void expectError(const std::string &file, StringRef message) {
    llvm::Expected<TensorSet> set = readSafetensors(file);
    ASSERT_FALSE(bool(set)) << "no error, where expected: " << message.str();
    std::string text = llvm::toString(set.takeError());
    EXPECT_TRUE(StringRef(text).ends_with(message))
        << "got:      " << text << "\nexpected: " << message.str();
    EXPECT_TRUE(StringRef(text).contains(file)) << text;
  }

  size_t numFiles() {
    std::error_code code;
    size_t count = 0;
    for (llvm::sys::fs::directory_iterator it(directory, code), end;
         it != end && !code; it.increment(code))
      ++count;
    return count;
  }

  llvm::SmallString<128> directory;
};
} // namespace

//===----------------------------------------------------------------------===//
// TensorSet
//===----------------------------------------------------------------------===//

static std::string addError(TensorSet &set, StringRef name, DType dtype,
                            llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<int64_t> strides = {}) {
  llvm::Expected<Tensor> tensor = set.add(name, dtype, shape, strides);
  return tensor ? "" : llvm::toString(tensor.takeError());
}

TEST(TensorSetTest, OwnsAlignedZeros) {
  TensorSet set;
  Tensor q = cantFail(set.add("q", DType::BF16, {3, 5}));
  Tensor empty = cantFail(set.add("empty", DType::F32, {0, 7}));
  EXPECT_EQ(uintptr_t(q.data) % TensorSet::kAlignment, 0u);
  EXPECT_EQ(set.storage("q").size(), 30u);
  EXPECT_EQ(readElement(q.data, q.dtype, 14), 0);
  EXPECT_EQ(empty.data, nullptr);
  EXPECT_TRUE(set.view("empty").given());
  EXPECT_FALSE(set.view("k").given());
  TensorSet moved = std::move(set);
  EXPECT_EQ(moved.view("q").data, q.data);
  EXPECT_EQ(moved.entries()[1].name, "empty");
}

TEST(TensorSetTest, StorageOfAStridedTensorEndsWithItsLastElement) {
  TensorSet set;
  Tensor k = cantFail(set.add("k", DType::F32, {2, 3}, {10, 2}));
  EXPECT_EQ(k.stride[0], 10);
  EXPECT_EQ(set.storage("k").size(), (10 + 2 * 2 + 1) * 4u);
}

TEST(TensorSetTest, RefusesBadTensors) {
  TensorSet set;
  cantFail(set.add("q", DType::F32, {1}));
  EXPECT_EQ(addError(set, "q", DType::F32, {1}),
            "tensor 'q': requires a name that is not taken");
  EXPECT_EQ(addError(set, "a", DType::None, {1}),
            "tensor 'a': requires a dtype, but got none");
  EXPECT_EQ(addError(set, "a", DType::F32, {1, 1, 1, 1, 1}),
            "tensor 'a': requires rank <= 4, but got 5");
  EXPECT_EQ(addError(set, "a", DType::F32, {2, 2}, {1}),
            "tensor 'a': requires 2 strides, but got 1");
  EXPECT_EQ(addError(set, "a", DType::F32, {2, -2}),
            "tensor 'a': requires shape and strides >= 0, but got -2 (stride "
            "1) in dimension 1");
  EXPECT_EQ(addError(set, "a", DType::F32, {1ll << 40, 1ll << 40}),
            "tensor 'a': requires sizes within 63 bits, but got "
            "f32[1099511627776, 1099511627776]");
  EXPECT_TRUE(
      StringRef(addError(set, "a", DType::I64, {1ll << 58}))
          .starts_with("tensor 'a': requires 2305843009213693952 bytes of "
                       "memory, but got a machine of "));
  EXPECT_EQ(set.size(), 1u);
}

TEST(TensorSetTest, ElementsRoundToNearestEven) {
  struct {
    DType dtype;
    double value, stored;
  } cases[] = {
      {DType::BF16, 1 + 0x1p-8, 1},            // a tie, to even
      {DType::BF16, 1 + 0x1.8p-7, 1 + 0x1p-6}, // a tie, to even
      {DType::BF16, -0x1.FFp0, -2},            // carries into the exponent
      {DType::BF16, 0x1p-134, 0},              // half the smallest subnormal
      {DType::BF16, 0x1.8p-134, 0x1p-133},
      {DType::BF16, 3.4e38, INFINITY}, // rounds up to infinity
      {DType::BF16, 1e300, INFINITY},
      {DType::BF16, -INFINITY, -INFINITY},
      {DType::F16, 65504, 65504},
      {DType::F16, 65519, 65504},
      {DType::F16, 65520, INFINITY},
      {DType::F16, 0x1.FF8p-15, 0x1.FF8p-15}, // subnormal
      {DType::F16, 0x1.FFCp-15, 0x1p-14},     // rounds up to a normal
      {DType::F16, 1.0 / 3, 0x1.554p-2},
      {DType::F32, 1.0 / 3, 1.0f / 3},
      {DType::I32, -7, -7},
      {DType::I64, 1e15, 1e15},
  };
  for (auto c : cases) {
    uint64_t memory = 0;
    writeElement(&memory, c.dtype, 0, c.value);
    EXPECT_EQ(readElement(&memory, c.dtype, 0), c.stored) << c.value;
  }
  for (DType dtype : {DType::BF16, DType::F16, DType::F32}) {
    uint64_t memory = 0;
    writeElement(&memory, dtype, 0, NAN);
    EXPECT_TRUE(std::isnan(readElement(&memory, dtype, 0)));
    writeElement(&memory, dtype, 0, -0.0);
    EXPECT_TRUE(std::signbit(readElement(&memory, dtype, 0)));
  }
}

//===----------------------------------------------------------------------===//
// Round trip
//===----------------------------------------------------------------------===//

TEST_F(SafetensorsTest, RoundTrip) {
  TensorSet set;
  for (DType dtype :
       {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64}) {
    Tensor t = cantFail(set.add(toString(dtype), dtype, {2, 3, 5}));
    for (int i = 0; i < 30; ++i)
      writeElement(t.data, dtype, i, i - 15);
  }
  cantFail(set.add("empty", DType::F32, {4, 0}));
  cantFail(set.add("scalar", DType::I64, {}));
  cantFail(set.add("odd \"name\"\n", DType::I32, {1}));
  set.metadata["softmax_scale"] = "0.135";
  std::string file = path("set.safetensors");
  cantFail(writeSafetensors(file, set));
  EXPECT_EQ(numFiles(), 1u);

  TensorSet read = cantFail(readSafetensors(file));
  EXPECT_EQ(read.size(), set.size());
  EXPECT_EQ(read.metadata, set.metadata);
  for (const auto &[name, tensor] : set.entries()) {
    Tensor copy = read.view(name);
    EXPECT_EQ(copy.describe(), tensor.describe());
    EXPECT_EQ(read.storage(name), set.storage(name)) << name;
  }
  EXPECT_EQ(read.entries()[2].name, "bf16");

  // Data begins 8-byte aligned, and equal sets make equal files.
  auto bytesOf = [&](StringRef name) {
    return cantFail(
        llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path(name))));
  };
  cantFail(writeSafetensors(path("again.safetensors"), read));
  EXPECT_EQ(bytesOf("set.safetensors")->getBuffer()[0] % 8, 0);
  EXPECT_EQ(bytesOf("set.safetensors")->getBuffer(),
            bytesOf("again.safetensors")->getBuffer());
}

TEST_F(SafetensorsTest, StridedTensorsAreWrittenContiguous) {
  TensorSet set;
  // The last two dimensions are swapped in memory, and rows have gaps.
  Tensor t = cantFail(set.add("t", DType::I32, {2, 3, 4}, {100, 1, 5}));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        writeElement(t.data, t.dtype, i * 100 + j + k * 5, i * 12 + j * 4 + k);
  cantFail(writeSafetensors(path("t.safetensors"), set));
  TensorSet read = cantFail(readSafetensors(path("t.safetensors")));
  Tensor copy = read.view("t");
  EXPECT_EQ(copy.stride[1], 4);
  for (int n = 0; n < 24; ++n)
    EXPECT_EQ(readElement(copy.data, copy.dtype, n), n);
}

TEST_F(SafetensorsTest, FailedWritesLeaveNothing) {
  TensorSet set;
  cantFail(set.add("t", DType::I32, {2}));
  std::string missing = path("no/such/directory.safetensors");
  EXPECT_TRUE(StringRef(llvm::toString(writeSafetensors(missing, set)))
                  .starts_with("cannot write '" + missing + "': "));
  ASSERT_FALSE(llvm::sys::fs::create_directory(path("taken")));
  EXPECT_TRUE(StringRef(llvm::toString(writeSafetensors(path("taken"), set)))
                  .starts_with("cannot write '" + path("taken") + "': "));
  set.metadata["key"] = "\xFF";
  EXPECT_TRUE(StringRef(llvm::toString(writeSafetensors(path("x"), set)))
                  .starts_with("metadata: requires UTF-8"));
  EXPECT_EQ(numFiles(), 1u); // the directory
}

TEST_F(SafetensorsTest, EmptySet) {
  cantFail(writeSafetensors(path("e"), TensorSet()));
  EXPECT_EQ(cantFail(readSafetensors(path("e"))).size(), 0u);
}

//===----------------------------------------------------------------------===//
// Malformed files
//===----------------------------------------------------------------------===//

TEST_F(SafetensorsTest, MissingAndEmptyFiles) {
  expectError(path("none.safetensors"), "No such file or directory");
  expectError(directory.str().str(), "Is a directory");
  expectError(writeBytes(""),
              "requires 8 bytes of header length, but got a file of 0 bytes");
  expectError(writeBytes("1234567"),
              "requires 8 bytes of header length, but got a file of 7 bytes");
}

TEST_F(SafetensorsTest, HeaderLength) {
  using namespace std::string_literals;
  expectError(writeBytes("\0\0\0\0\1\0\0\0{}"s),
              "header length 4294967296 reaches past the end of the file (2 "
              "bytes follow it)");
  expectError(writeBytes("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"s),
              "header length 18446744073709551615 reaches past the end of the "
              "file (2 bytes follow it)");
  expectError(writeBytes("\x20\0\0\0\0\0\0\0{\"q\": {\"dtype\":"s),
              "header length 32 reaches past the end of the file (15 bytes "
              "follow it)");
}

TEST_F(SafetensorsTest, HeaderText) {
  auto expectInvalid = [&](StringRef header) {
    llvm::Expected<TensorSet> set = readSafetensors(writeFile(header, 0));
    ASSERT_FALSE(bool(set)) << header.str();
    EXPECT_TRUE(StringRef(llvm::toString(set.takeError()))
                    .contains("header: requires valid JSON, but got ["))
        << header.str();
  };
  expectInvalid("");
  expectInvalid("{\"q\": ");
  expectInvalid("{\"q\": \"unterminated");
  expectInvalid("{\"q\": \"\\");
  expectInvalid("]]]]");
  expectInvalid("\xFF\xFE{}");
  expectError(writeFile("[]", 0), "header: requires an object, but got []");
  expectError(writeFile(std::string(1000000, '['), 0),
              "header: requires at most 3 levels of nesting");
  expectError(writeFile("{\"q\": 3}", 0),
              "tensor 'q': requires an object, but got 3");
  expectError(writeFile("{\"__metadata__\": []}", 0),
              "__metadata__: requires an object, but got []");
  expectError(writeFile("{\"__metadata__\": {\"a\": 1}}", 0),
              "__metadata__: requires text for 'a', but got 1");
}

TEST_F(SafetensorsTest, DuplicateNames) {
  std::string tensor =
      R"({"dtype": "I32", "shape": [0], "data_offsets": [0, 0]})";
  expectError(writeFile("{\"q\": " + tensor + ", \"q\": " + tensor + "}", 0),
              "header: requires unique names, but got 'q' twice");
  expectError(
      writeFile("{\"q\": " + tensor + ", \"\\u0071\" : " + tensor + "}", 0),
      "header: requires unique names, but got 'q' twice");
  expectError(
      writeFile(R"({"q": {"dtype": "I32", "shape": [], "shape": []}})", 0),
      "header: requires unique names, but got 'shape' twice");
  // The same key in two tensors, and a value that looks like a key, are fine.
  cantFail(readSafetensors(
      writeFile("{\"q\": " + tensor + ", \"k\": " + tensor +
                    R"(, "__metadata__": {"a": "q", "b": "\"q\": "}})",
                0)));
}

TEST_F(SafetensorsTest, TensorEntries) {
  auto expectRefused = [&](StringRef entry, size_t dataBytes,
                           StringRef message) {
    expectError(writeFile(("{\"q\": {" + entry + "}}").str(), dataBytes),
                ("tensor 'q': " + message).str());
  };
  expectRefused(R"("shape": [1], "data_offsets": [0, 4])", 4,
                "dtype requires one of F32, F16, BF16, I32, I64, but got "
                "nothing");
  for (StringRef dtype : {"F64", "f32", "", "None"})
    expectRefused(
        ("\"dtype\": \"" + dtype + R"(", "shape": [1], "data_offsets": [0, 4])")
            .str(),
        4,
        ("dtype requires one of F32, F16, BF16, I32, I64, but got \"" + dtype +
         "\"")
            .str());
  for (StringRef shape :
       {"[-1]", "[1.5]", "[18446744073709551615]", "[\"1\"]", "4", "[1e30]"})
    expectRefused(("\"dtype\": \"F32\", \"shape\": " + shape +
                   ", \"data_offsets\": [0, 4]")
                      .str(),
                  4,
                  "shape requires integers >= 0, but got " +
                      (shape == "[1e30]" ? StringRef("[1e+30]") : shape).str());
  expectRefused(R"("dtype": "F32", "shape": [1, 1, 1, 1, 1],
                   "data_offsets": [0, 4])",
                4, "shape requires rank <= 4, but got [1,1,1,1,1]");
  for (StringRef shape :
       {"[4611686018427387904,4]", "[4294967296,4294967296,4294967296,0]"})
    expectRefused(
        ("\"dtype\": \"F32\", \"shape\": " + shape +
         ", \"data_offsets\": [0, 0]")
            .str(),
        0, ("shape requires a size within 63 bits, but got " + shape).str());
  for (StringRef offsets : {"[0]", "[0,4,4]", "[-4,0]", "\"0\""})
    expectRefused(
        ("\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": " + offsets)
            .str(),
        4, ("data_offsets requires [begin, end], but got " + offsets).str());
  expectRefused(R"("dtype": "F32", "shape": [1], "data_offsets": [4, 0])", 4,
                "data_offsets requires begin <= end, but got [4, 0]");
  expectRefused(R"("dtype": "BF16", "shape": [999], "data_offsets": [0, 1998])",
                512,
                "data_offsets [0, 1998] reach past the end of the file (data "
                "section has 512 bytes)");
  expectRefused(R"("dtype": "BF16", "shape": [3, 2], "data_offsets": [0, 8])",
                8,
                "data_offsets requires 12 bytes for BF16 [3,2], but got 8 "
                "([0, 8])");
}

TEST_F(SafetensorsTest, Coverage) {
  auto twoTensors = [&](StringRef a, StringRef b, size_t dataBytes) {
    return writeFile(("{\"a\": {\"dtype\": \"I32\", \"shape\": [2], "
                      "\"data_offsets\": " +
                      a +
                      "}, \"b\": {\"dtype\": \"I32\", \"shape\": [2], "
                      "\"data_offsets\": " +
                      b + "}}")
                         .str(),
                     dataBytes);
  };
  cantFail(readSafetensors(twoTensors("[8, 16]", "[0, 8]", 16)));
  expectError(twoTensors("[0, 8]", "[4, 12]", 12),
              "tensor 'b': data_offsets [4, 12] overlap those of 'a', which "
              "end at 8");
  expectError(twoTensors("[0, 8]", "[0, 8]", 8),
              "tensor 'b': data_offsets [0, 8] overlap those of 'a', which end "
              "at 8");
  expectError(twoTensors("[0, 8]", "[12, 20]", 20),
              "tensor 'b': data_offsets [12, 20] leave a gap after 8");
  expectError(twoTensors("[0, 8]", "[8, 16]", 17),
              "data section: requires 16 bytes for all tensors, but got 17");
}
