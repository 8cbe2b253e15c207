//===- SpecFields.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecFields.h"

namespace mla_jit {

namespace {

struct TextOfFields {
  std::string &text;

  void line(std::string_view name, std::string_view value) {
    text.append(name).append(" = ").append(value) += '\n';
  }
  void operator()(std::string_view name, DType value) {
    line(name, toString(value));
  }
  void operator()(std::string_view name, KVLayout value) {
    line(name, toString(value));
  }
  void operator()(std::string_view name, Operation value) {
    line(name, toString(value));
  }
  void operator()(std::string_view name, bool value) {
    line(name, value ? "true" : "false");
  }
  void operator()(std::string_view name, int64_t value) {
    line(name, std::to_string(value));
  }
  void operator()(std::string_view name, const std::string &value) {
    line(name, std::to_string(value.size()) + " \"" + value + "\"");
  }
};

struct BytesOfFields {
  std::string &bytes;

  void operator()(std::string_view, DType value) {
    bytes += static_cast<char>(value);
  }
  void operator()(std::string_view, KVLayout value) {
    bytes += static_cast<char>(value);
  }
  void operator()(std::string_view, Operation value) {
    bytes += static_cast<char>(value);
  }
  void operator()(std::string_view, bool value) {
    bytes += static_cast<char>(value);
  }
  void operator()(std::string_view, int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void operator()(std::string_view name, const std::string &value) {
    (*this)(name, static_cast<int64_t>(value.size()));
    bytes += value;
  }
};

} // namespace

std::string specText(const Spec &spec) {
  std::string text;
  visitFields(spec, TextOfFields{text});
  return text;
}

std::string specFingerprint(const Spec &spec) {
  std::string bytes;
  bytes.reserve(192);
  bytes += static_cast<char>(spec.scoreArguments.size());
  visitFields(spec, BytesOfFields{bytes});
  return bytes;
}

std::string kernelSymbol(const Spec &spec, std::string_view target,
                         std::string_view digest) {
  bool isMerge = spec.operation == Operation::Merge;
  std::string name = !spec.symbol.empty() ? spec.symbol
                     : isMerge            ? "mla_merge"
                                          : "mla_decode";
  auto add = [&](std::string_view part) { name.append("_").append(part); };
  std::string chip(target);
  std::erase(chip, '_'); // sm90a
  add(chip);
  add(toString(isMerge ? spec.outDType : spec.qDType));
  add("h" + std::to_string(spec.numHeads));
  if (spec.numKVHeads != 1 && !isMerge)
    add(std::to_string(spec.numKVHeads));
  add("d" + std::to_string(isMerge ? spec.headDimV : spec.headDim));
  if (!isMerge)
    add(std::to_string(spec.headDimV));
  add(digest.substr(0, 8));
  return name;
}

} // namespace mla_jit
