//===- SpecText.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecText.h"
#include "llvm/ADT/StringExtras.h"

#include <cstddef>

namespace mla_jit::capi {

namespace {

/// Names for the values of a field, from 0 on; none: a number.
using Names = llvm::ArrayRef<const char *>;

struct Field {
  const char *name;
  enum Kind { Int32, Int64, Text } kind;
  size_t offset;
  Names names = {};
};

} // namespace

static constexpr const char *kDTypes[] = {"none", "f32", "f16", "bf16",
                                          "e4m3", "u8",  "i32", "i64"};
static constexpr const char *kFormats[] = {"plain", "row_640", "row_656",
                                           "planar_584", "planar_528"};
static constexpr const char *kOperations[] = {"decode", "merge"};
static constexpr const char *kTables[] = {"none", "dense", "csr", "tokens"};

#define MLA_FIELD(name, kind, ...)                                             \
  Field { #name, Field::kind, offsetof(mla_spec, name), __VA_ARGS__ }
static const Field kFields[] = {
    MLA_FIELD(q_dtype, Int32, kDTypes),
    MLA_FIELD(kv_dtype, Int32, kDTypes),
    MLA_FIELD(out_dtype, Int32, kDTypes),
    MLA_FIELD(target, Text, {}),
    MLA_FIELD(kv_format, Int32, kFormats),
    MLA_FIELD(h_q, Int32, {}),
    MLA_FIELD(h_kv, Int32, {}),
    MLA_FIELD(d_qk, Int32, {}),
    MLA_FIELD(d_v, Int32, {}),
    MLA_FIELD(d_rope, Int32, {}),
    MLA_FIELD(separate_v, Int32, {}),
    MLA_FIELD(page_size, Int32, {}),
    MLA_FIELD(extra_page_size, Int32, {}),
    MLA_FIELD(table_kind, Int32, kTables),
    MLA_FIELD(table_dtype, Int32, kDTypes),
    MLA_FIELD(length_dtype, Int32, kDTypes),
    MLA_FIELD(mask, Int32, {}),
    MLA_FIELD(features, Int32, {}),
    MLA_FIELD(queries, Int32, {}),
    MLA_FIELD(operation, Int32, kOperations),
    MLA_FIELD(score_mod, Text, {}),
    MLA_FIELD(mask_mod, Text, {}),
    MLA_FIELD(schedule, Text, {}),
    MLA_FIELD(symbol, Text, {}),
    MLA_FIELD(max_batch, Int32, {}),
    MLA_FIELD(max_total_q, Int32, {}),
    MLA_FIELD(max_q_len, Int32, {}),
    MLA_FIELD(max_splits, Int32, {}),
    MLA_FIELD(max_kv_len, Int64, {}),
};
#undef MLA_FIELD

/// The field's place in a spec.
template <typename T, typename S> static auto &at(S &spec, const Field &field) {
  using Byte = std::conditional_t<std::is_const_v<S>, const char, char>;
  using Value = std::conditional_t<std::is_const_v<S>, const T, T>;
  return *reinterpret_cast<Value *>(reinterpret_cast<Byte *>(&spec) +
                                    field.offset);
}

/// In quotes, one line.
static std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + '"';
}

static llvm::Expected<std::string> unquote(llvm::StringRef quoted,
                                           llvm::StringRef name) {
  std::string text;
  if (!quoted.consume_front("\"") || !quoted.consume_back("\""))
    return invalid(ofSpec(name), "requires text in quotes, but got {0}",
                   quoted);
  for (size_t i = 0; i < quoted.size(); ++i) {
    bool isEscaped = quoted[i] == '\\';
    if (isEscaped && ++i == quoted.size())
      return invalid(ofSpec(name),
                     "requires a character behind \\, but the text ends");
    text += isEscaped && quoted[i] == 'n' ? '\n' : quoted[i];
  }
  return text;
}

static std::string valueText(const mla_spec &spec, const Field &field) {
  if (field.kind == Field::Text) {
    const char *text = at<const char *>(spec, field);
    return text ? quote(text) : "";
  }
  int64_t value = field.kind == Field::Int64
                      ? at<int64_t>(spec, field)
                      : int64_t(at<int32_t>(spec, field));
  if (value >= 0 && static_cast<size_t>(value) < field.names.size())
    return field.names[value];
  return value ? std::to_string(value) : "";
}

std::string writeSpecText(const mla_spec &spec) {
  std::string text;
  for (const Field &field : kFields)
    if (std::string value = valueText(spec, field); !value.empty())
      text += std::string(field.name) + " = " + value + "\n";
  return text;
}

static llvm::Error
readValue(mla_spec &spec, const Field &field, llvm::StringRef value,
          llvm::function_ref<const char *(std::string)> keep) {
  if (field.kind == Field::Text) {
    auto text = unquote(value, field.name);
    if (!text)
      return text.takeError();
    at<const char *>(spec, field) = keep(std::move(*text));
    return llvm::Error::success();
  }
  int64_t number = 0;
  auto named = llvm::find(field.names, value);
  if (named != field.names.end())
    number = named - field.names.begin();
  else if (value.getAsInteger(10, number) ||
           (field.kind == Field::Int32 &&
            number != static_cast<int32_t>(number)))
    return invalid(ofSpec(field.name), "requires {0}, but got '{1}'",
                   field.names.empty() ? "a number"
                                       : llvm::join(field.names, ", "),
                   value);
  if (field.kind == Field::Int64)
    at<int64_t>(spec, field) = number;
  else
    at<int32_t>(spec, field) = static_cast<int32_t>(number);
  return llvm::Error::success();
}

llvm::Expected<mla_spec>
readSpecText(std::string_view text,
             llvm::function_ref<const char *(std::string)> keep) {
  mla_spec spec;
  MLA_INIT(&spec);
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    auto [line, below] = rest.split('\n');
    rest = below;
    line = line.trim();
    if (line.empty())
      continue;
    auto [name, value] = line.split('=');
    name = name.trim();
    const Field *field = llvm::find_if(
        kFields, [&](const Field &known) { return name == known.name; });
    if (field == std::end(kFields))
      return invalid(
          ofArgument("text"),
          "requires lines of a field, '=' and a value, but got '{0}'", line);
    if (llvm::Error error = readValue(spec, *field, value.trim(), keep))
      return std::move(error);
  }
  return spec;
}

} // namespace mla_jit::capi
