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

} // namespace mla_jit
