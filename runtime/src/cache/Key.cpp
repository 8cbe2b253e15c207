//===- Key.cpp - What names a cached kernel -------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Key.h"
#include "Format.h"

#include <charconv>

using namespace mla_jit::cache;

KeyBuilder &KeyBuilder::add(std::string_view name, std::string_view value) {
  if (!wrong.empty())
    return *this;
  std::string shown(name);
  if (!isPlainName(name))
    wrong = "a key field requires a name of letters, digits, '-', '_' and '.', "
            "but got '" +
            shown + "'";
  else if (value.empty())
    wrong = "the key field '" + shown + "' requires a value, but got none";
  else if (!fields.emplace(name, value).second)
    wrong = "the key field '" + shown + "' was given twice";
  return *this;
}

Result<CacheKey> KeyBuilder::build() const {
  if (!wrong.empty())
    return Error{ErrorKind::Invalid, wrong};
  if (fields.empty())
    return Error{ErrorKind::Invalid, "a key requires a field, but got none"};
  std::string text;
  for (const auto &[name, value] : fields)
    text.append(name)
        .append(" ")
        .append(std::to_string(value.size()))
        .append(":")
        .append(value)
        .append("\n");
  return CacheKey(std::move(text));
}

std::map<std::string, std::string, std::less<>>
mla_jit::cache::fieldsOfKey(std::string_view text) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!text.empty()) {
    size_t space = text.find(' '), colon = text.find(':');
    size_t size = 0;
    if (space > colon || colon == std::string_view::npos ||
        std::from_chars(text.data() + space + 1, text.data() + colon, size)
                .ptr != text.data() + colon)
      return {};
    std::string_view value = text.substr(colon + 1);
    if (size >= value.size() || value[size] != '\n')
      return {};
    fields.emplace(text.substr(0, space), value.substr(0, size));
    text = value.substr(size + 1);
  }
  return fields;
}
