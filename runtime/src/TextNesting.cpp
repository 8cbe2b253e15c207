//===- TextNesting.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextNesting.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using llvm::StringRef;

namespace mla_jit {

static bool isName(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '-';
}

/// Behind the string that the text begins with; one ends with its line.
static StringRef skipString(StringRef text) {
  size_t at = 1;
  while (at < text.size() && text[at] != '"' && text[at] != '\n')
    at += text[at] == '\\' ? 2 : 1;
  return text.substr(std::min(at + 1, text.size()));
}

namespace {

/// Reads a text once, from its begin to its end.
class LevelCounter {
public:
  explicit LevelCounter(StringRef text) : rest(text) {}

  int count() {
    while (!rest.empty())
      readToken();
    return most;
  }

private:
  void readToken() {
    char c = rest.front();
    if (c == '"') {
      rest = skipString(rest);
      hasValue = true;
    } else if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
    } else if (c == '#' || c == '!') {
      readAlias();
    } else if (rest.starts_with("->") || rest.starts_with(">=") ||
               rest.starts_with("<=")) {
      rest = rest.drop_front(2);
      signs = 0;
    } else {
      readCharacter(c);
      rest = rest.drop_front();
    }
  }

  void readAlias() {
    StringRef name =
        rest.take_front(1 + rest.drop_front().take_while(isName).size());
    rest = rest.drop_front(name.size());
    StringRef next = rest.ltrim();
    if (depth == 0 && next.starts_with("=") && !next.starts_with("==")) {
      defined = &levels[name];
      hasValue = false;
      rest = next.drop_front();
      return;
    }
    auto used = levels.find(name);
    reach(depth + (used == levels.end() ? 0 : used->second));
    hasValue = true;
  }

  void readCharacter(char c) {
    if (c == '\n' && depth == 0 && hasValue && !goesOn(rest.ltrim()))
      defined = nullptr;
    if (llvm::isSpace(c))
      return;
    hasValue = true;
    signs = c == '-' ? signs + 1 : 0;
    if (StringRef("([{<").contains(c))
      ++depth;
    else if (StringRef(")]}>").contains(c))
      depth = std::max(depth - 1, 0);
    reach(depth + signs);
  }

  /// Whether a definition may go on with this line.
  static bool goesOn(StringRef line) {
    return line.empty() || StringRef("([{<:-/").contains(line.front());
  }

  void reach(int level) {
    most = std::max(most, level);
    if (defined)
      *defined = std::max(*defined, level);
  }

  StringRef rest;
  int depth = 0; ///< of brackets, here
  int signs = 0; ///< right before
  int most = 0;
  llvm::StringMap<int> levels; ///< by alias
  int *defined = nullptr;      ///< of these the one that is being defined
  bool hasValue = false;       ///< it, as far as it was read
};

} // namespace

llvm::Error checkNesting(StringRef text) {
  constexpr int kMostLevels = 256;
  if (LevelCounter(text).count() <= kMostLevels)
    return llvm::Error::success();
  return llvm::createStringError("requires at most " +
                                 llvm::Twine(kMostLevels) +
                                 " levels of brackets, with those of aliases "
                                 "that are used in them, but got more");
}

} // namespace mla_jit
