//===- SafetensorsReader.cpp - Reading of tensor files --------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The file comes from elsewhere, so nothing in it is believed: the length of
// the header is compared with the file's before it is used, nesting and
// duplicate keys are looked for in the text (the JSON parser recurses without
// a limit and drops duplicates), and offsets are checked before data is copied.
//
//===----------------------------------------------------------------------===//

#include "mla/Inputs/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <optional>

using namespace mla_jit;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
struct FileTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end; ///< in bytes of the data section
};
} // namespace

template <typename... Values>
static Error fail(const char *format, Values &&...values) {
  return llvm::createStringError(
      formatv(format, std::forward<Values>(values)...).str());
}

/// A JSON value as an error message shows it.
static std::string show(const json::Value *value) {
  if (!value)
    return "nothing";
  std::string text = formatv("{0}", *value).str();
  if (text.size() > 80)
    text = text.substr(0, 77) + "...";
  return text;
}

//===----------------------------------------------------------------------===//
// Header text
//===----------------------------------------------------------------------===//

/// The end of the string literal that begins at text[begin] == '"'.
static size_t skipString(StringRef text, size_t begin) {
  size_t at = begin + 1;
  while (at < text.size() && text[at] != '"')
    at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

/// Finds what the parser would not complain about: duplicate keys and nesting
/// deep enough to exhaust the stack. The text may be no JSON at all; then the
/// parser says so later.
static Error scanHeader(StringRef text) {
  constexpr size_t kMaxDepth = 3;      // header, tensor, shape
  std::vector<llvm::StringSet<>> keys; // of each open bracket
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    if (c == '{' || c == '[') {
      if (keys.size() == kMaxDepth)
        return fail("header: requires at most {0} levels of nesting",
                    kMaxDepth);
      keys.emplace_back();
    } else if ((c == '}' || c == ']') && !keys.empty()) {
      keys.pop_back();
    }
    if (c != '"') {
      ++at;
      continue;
    }
    size_t end = skipString(text, at);
    bool isKey = text.substr(end).ltrim(" \t\r\n").starts_with(":");
    if (isKey && !keys.empty()) {
      // Keys may be spelled with escapes.
      Expected<json::Value> key = json::parse(text.slice(at, end));
      if (!key)
        return fail("header: {0}", llvm::toString(key.takeError()));
      StringRef name = key->getAsString().value_or("");
      if (!keys.back().insert(name).second)
        return fail("header: requires unique names, but got '{0}' twice", name);
    }
    at = end;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors of the header
//===----------------------------------------------------------------------===//

static std::optional<DType> parseFileDType(StringRef text) {
  for (DType dtype :
       {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64})
    if (text.equals_insensitive(toString(dtype)) && text == text.upper())
      return dtype;
  return std::nullopt;
}

/// Integers >= 0, or nothing if any element is something else.
static std::optional<std::vector<int64_t>>
parseSizes(const json::Value *value) {
  const json::Array *array = value ? value->getAsArray() : nullptr;
  if (!array)
    return std::nullopt;
  std::vector<int64_t> sizes;
  for (const json::Value &element : *array) {
    std::optional<int64_t> size = element.getAsInteger();
    if (!size || *size < 0)
      return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

static Expected<FileTensor>
parseTensor(StringRef name, const json::Value &value, uint64_t dataBytes) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail("tensor '{0}': requires an object, but got {1}", name,
                show(&value));

  const json::Value *dtypeValue = object->get("dtype");
  StringRef dtypeText =
      dtypeValue ? dtypeValue->getAsString().value_or("") : "";
  std::optional<DType> dtype = parseFileDType(dtypeText);
  if (!dtype)
    return fail("tensor '{0}': dtype requires one of F32, F16, BF16, I32, I64, "
                "but got {1}",
                name, show(dtypeValue));

  const json::Value *shapeValue = object->get("shape");
  std::optional<std::vector<int64_t>> shape = parseSizes(shapeValue);
  if (!shape)
    return fail("tensor '{0}': shape requires integers >= 0, but got {1}", name,
                show(shapeValue));
  if (shape->size() > Tensor::kMaxRank)
    return fail("tensor '{0}': shape requires rank <= {1}, but got {2}", name,
                Tensor::kMaxRank, show(shapeValue));
  int64_t bytes = byteSize(*dtype);
  bool overflow = false;
  for (int64_t extent : *shape)
    overflow |= llvm::MulOverflow(bytes, extent, bytes);
  // A product that is 0 in the end is small only if no part of it overflowed.
  if (overflow)
    return fail("tensor '{0}': shape requires a size within 63 bits, but got "
                "{1}",
                name, show(shapeValue));

  const json::Value *offsetsValue = object->get("data_offsets");
  std::optional<std::vector<int64_t>> offsets = parseSizes(offsetsValue);
  if (!offsets || offsets->size() != 2)
    return fail("tensor '{0}': data_offsets requires [begin, end], but got {1}",
                name, show(offsetsValue));
  uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end)
    return fail("tensor '{0}': data_offsets requires begin <= end, but got "
                "[{1}, {2}]",
                name, begin, end);
  if (end > dataBytes)
    return fail("tensor '{0}': data_offsets [{1}, {2}] reach past the end of "
                "the file (data section has {3} bytes)",
                name, begin, end, dataBytes);
  if (end - begin != uint64_t(bytes))
    return fail("tensor '{0}': data_offsets requires {1} bytes for {2} {3}, "
                "but got {4} ([{5}, {6}])",
                name, bytes, dtypeText, show(shapeValue), end - begin, begin,
                end);
  return FileTensor{name.str(), *dtype, std::move(*shape), begin, end};
}

static Error parseMetadata(const json::Value &value,
                           std::map<std::string, std::string> &metadata) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail("__metadata__: requires an object, but got {0}", show(&value));
  for (const auto &[key, text] : *object) {
    std::optional<StringRef> string = text.getAsString();
    if (!string)
      return fail("__metadata__: requires text for '{0}', but got {1}",
                  StringRef(key), show(&text));
    metadata[StringRef(key).str()] = string->str();
  }
  return Error::success();
}

/// Every byte of the data section belongs to exactly one tensor.
static Error checkCoverage(std::vector<FileTensor> &tensors,
                           uint64_t dataBytes) {
  llvm::sort(tensors, [](const FileTensor &a, const FileTensor &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t covered = 0;
  StringRef previous;
  for (const FileTensor &tensor : tensors) {
    if (tensor.begin < covered)
      return fail("tensor '{0}': data_offsets [{1}, {2}] overlap those of "
                  "'{3}', which end at {4}",
                  tensor.name, tensor.begin, tensor.end, previous, covered);
    if (tensor.begin > covered)
      return fail("tensor '{0}': data_offsets [{1}, {2}] leave a gap after {3}",
                  tensor.name, tensor.begin, tensor.end, covered);
    covered = tensor.end;
    previous = tensor.name;
  }
  if (covered != dataBytes)
    return fail("data section: requires {0} bytes for all tensors, but got {1}",
                covered, dataBytes);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static Expected<TensorSet> parseFile(StringRef file) {
  constexpr size_t kLengthBytes = 8;
  if (file.size() < kLengthBytes)
    return fail("requires {0} bytes of header length, but got a file of {1} "
                "bytes",
                kLengthBytes, file.size());
  uint64_t headerBytes = llvm::support::endian::read64le(file.data());
  file = file.drop_front(kLengthBytes);
  if (headerBytes > file.size())
    return fail("header length {0} reaches past the end of the file ({1} bytes "
                "follow it)",
                headerBytes, file.size());
  StringRef header = file.take_front(headerBytes);
  StringRef data = file.drop_front(headerBytes);

  if (Error error = scanHeader(header))
    return error;
  Expected<json::Value> root = json::parse(header);
  if (!root)
    return fail("header: requires valid JSON, but got {0}",
                llvm::toString(root.takeError()));
  const json::Object *object = root->getAsObject();
  if (!object)
    return fail("header: requires an object, but got {0}", show(&*root));

  TensorSet set;
  std::vector<FileTensor> tensors;
  for (const auto &[key, value] : *object) {
    if (StringRef(key) == "__metadata__") {
      if (Error error = parseMetadata(value, set.metadata))
        return error;
      continue;
    }
    Expected<FileTensor> tensor = parseTensor(key, value, data.size());
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  if (Error error = checkCoverage(tensors, data.size()))
    return error;

  for (const FileTensor &tensor : tensors) {
    Expected<Tensor> added = set.add(tensor.name, tensor.dtype, tensor.shape);
    if (!added)
      return added.takeError();
    if (tensor.end > tensor.begin)
      std::memcpy(added->data, data.data() + tensor.begin,
                  tensor.end - tensor.begin);
  }
  return set;
}

Expected<TensorSet> mla_jit::readSafetensors(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot read '{0}': {1}", path, buffer.getError().message());
  Expected<TensorSet> set = parseFile((*buffer)->getBuffer());
  if (!set)
    return fail("'{0}' is not a valid .safetensors file: {1}", path,
                llvm::toString(set.takeError()));
  return set;
}
