//===- TextNesting.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextNesting.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using llvm::StringRef;

namespace mla_jit {

static StringRef skipLine(StringRef text) {
  return text.drop_until([](char c) { return c == '\n'; });
}

/// What comes next that is neither space nor comment.
static StringRef nextToken(StringRef text) {
  text = text.ltrim();
  while (text.starts_with("//"))
    text = skipLine(text).ltrim();
  return text;
}

/// Behind the string that the text begins with; one ends with its line.
static StringRef skipString(StringRef text) {
  size_t at = 1;
  while (at < text.size() && text[at] != '"' && text[at] != '\n')
    at += text[at] == '\\' ? 2 : 1;
  return text.substr(std::min(at + 1, text.size()));
}

/// The sign that the text begins with and the name behind it, which ends where
/// MLIR's lexer ends it: "#0at" is #0, and a word.
static StringRef signedName(StringRef text) {
  StringRef name = text.drop_front();
  bool isNumber = !name.empty() && llvm::isDigit(name.front());
  name = name.take_while([&](char c) {
    return isNumber ? llvm::isDigit(c)
                    : llvm::isAlnum(c) || StringRef("_.$-").contains(c);
  });
  return text.take_front(1 + name.size());
}

namespace {

/// Reads a text once, from its begin to its end, or to where it is refused.
/// Where it cannot know what MLIR makes of it, it counts more.
class LevelCounter {
public:
  explicit LevelCounter(StringRef text) : rest(text) {}

  static constexpr int kMostLevels = 256, kMostTokens = 1 << 24;

  llvm::Error run() {
    for (skipSpace(); !rest.empty(); skipSpace()) {
      countTokens(1);
      readToken();
      if (isAmbiguous)
        return llvm::createStringError(
            "requires no brackets in comments, and no '->' behind a name, "
            "within '<' and '>' of a dialect, but got some");
      if (most > kMostLevels)
        return llvm::createStringError(
            "requires at most " + llvm::Twine(kMostLevels) +
            " levels of brackets, with those of aliases that are used in "
            "them, but got more");
      if (tokens > kMostTokens)
        return llvm::createStringError(
            "requires at most " + llvm::Twine(kMostTokens) +
            " tokens, with those of aliases that are used, but got more");
    }
    return llvm::Error::success();
  }

private:
  /// What one stands for.
  struct Alias {
    int levels = 0, tokens = 0;
  };
  struct Bracket {
    char open;
    int level; ///< before it
    /// In "#dialect.attribute<", of which MLIR finds the end by brackets alone,
    /// also of comments, where the dialect reads tokens.
    bool isBody;
  };

  void skipSpace() {
    StringRef next = nextToken(rest);
    if (!brackets.empty() && brackets.back().isBody)
      isAmbiguous |= rest.drop_back(next.size()).find_first_of("()[]{}<>\"") !=
                     StringRef::npos;
    rest = next;
  }

  StringRef readName() {
    StringRef name = signedName(rest);
    rest = rest.drop_front(name.size());
    isAmbiguous |= name.ends_with("-") && rest.starts_with(">"); // "->"
    return name;
  }

  void readToken() {
    char c = rest.front();
    if (c == '#' || c == '!') {
      readAlias();
    } else if (c == '"') {
      rest = skipString(rest);
      countValue();
    } else if (c == '%' || c == '^') {
      readName();
      countValue();
    } else if (llvm::isAlnum(c) || c == '_' || c == '@') {
      readWord();
    } else if (rest.consume_front("->")) {
      separate();
      reach(++level); // of the type of a result
    } else {
      rest = rest.drop_front();
      readSign(c);
    }
  }

  void readAlias() {
    StringRef name = readName();
    Alias &alias = aliases[name];
    reach(level + alias.levels);
    countTokens(alias.tokens);
    StringRef next = nextToken(rest);
    if (next.starts_with("=") && !next.starts_with("==")) {
      separate();
      defined = &alias;
      definedAt = {brackets.size(), level, tokens, false};
      return;
    }
    countValue();
    if (rest.consume_front("<"))
      open('<', /*isBody=*/true);
  }

  void readWord() {
    StringRef word = rest.take_front(
        1 + rest.drop_front()
                .take_while([](char c) {
                  return llvm::isAlnum(c) || StringRef("_.$").contains(c);
                })
                .size());
    rest = rest.drop_front(word.size());
    if (word == "loc" && tokens == definedAt.tokens + 2) // behind "="
      definedAt.isLocation = true;
    if (word == "mod" || word == "floordiv" || word == "ceildiv")
      reach(++level);
    countValue();
  }

  void readSign(char c) {
    if (StringRef("([{<").contains(c)) {
      open(c, !brackets.empty() && brackets.back().isBody);
    } else if (c == '>') {
      // Else it compares.
      if (!brackets.empty() && brackets.back().open == '<')
        close('<');
    } else if (c == ')') {
      close('(');
    } else if (c == ']') {
      close('[');
    } else if (c == '}') {
      close('{');
      separate();
    } else if (StringRef("+-*").contains(c)) {
      reach(++level); // of sums too: what is left of it is below it
      isWhole = false;
    } else {
      separate();
    }
  }

  void open(char c, bool isBody) {
    brackets.push_back({c, level, isBody});
    reach(++level);
  }

  /// With what was open in it: "<" that compare.
  void close(char open) {
    size_t at = brackets.size();
    while (at && brackets[at - 1].open != open)
      --at;
    if (!at)
      return;
    level = brackets[at - 1].level;
    brackets.truncate(at - 1);
    if (defined && brackets.size() < definedAt.brackets)
      defined = nullptr;
    isWhole = true;
  }

  void separate() {
    level = brackets.empty() ? 0 : brackets.back().level + 1;
    isWhole = false;
  }

  /// Behind a value, the next one is no part of a definition.
  void countValue() {
    if (isWhole && brackets.size() == definedAt.brackets)
      defined = nullptr;
    isWhole = true;
  }

  void reach(int reached) {
    most = std::max(most, reached);
    if (defined)
      defined->levels = std::max(defined->levels, reached - definedAt.level);
  }

  /// MLIR prints aliases as what they stand for, also of each other, but those
  /// of locations: a few lines may be more than there is memory for.
  void countTokens(int count) {
    tokens += count;
    if (defined && !definedAt.isLocation)
      defined->tokens = std::max(defined->tokens, tokens - definedAt.tokens);
  }

  StringRef rest;
  llvm::SmallVector<Bracket> brackets; ///< that are open
  int level = 0; ///< of these, and of operators since the last separator
  int most = 0;
  int tokens = 0;
  llvm::StringMap<Alias> aliases;
  Alias *defined = nullptr; ///< of these the one that is being defined
  struct {
    size_t brackets;
    int level, tokens;
    bool isLocation;
  } definedAt = {};
  bool isWhole = false; ///< a value ends here
  bool isAmbiguous = false;
};

} // namespace

llvm::Error checkNesting(StringRef text) { return LevelCounter(text).run(); }

} // namespace mla_jit
