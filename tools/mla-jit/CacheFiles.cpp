//===- CacheFiles.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFiles.h"
#include "Files.h"

#include "cache/Archive.h"
#include "cache/DiskCache.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace llvm;

namespace mla_jit {

Expected<std::unique_ptr<cache::DiskCache>>
openCacheDirectory(const std::string &path, bool trustGroup, bool readOnly) {
  cache::DiskOptions options;
  options.buildId = "none"; // nothing is looked up
  options.readOnly = true;  // does not make a directory
  options.trust = trustGroup ? cache::Trust::Group : cache::Trust::Owner;
  auto opened = cache::DiskCache::open(path, options);
  if (opened && !readOnly) {
    options.readOnly = false;
    opened = cache::DiskCache::open(path, options);
  }
  if (!opened)
    return createStringError(opened.error().message);
  return std::move(*opened);
}

/// "3 min" of a time in nanoseconds since 1970.
static std::string ageOf(int64_t time) {
  int64_t seconds = std::max<int64_t>(
      static_cast<int64_t>(std::time(nullptr)) - time / 1000000000, 0);
  for (auto [unit, length] :
       {std::pair{" d", 86400}, {" h", 3600}, {" min", 60}})
    if (seconds >= length)
      return std::to_string(seconds / length) + unit;
  return std::to_string(seconds) + " s";
}

/// What a kernel computes, in a line: the fields that differ most.
static std::string describeSpec(StringRef text) {
  StringMap<std::string> fields;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    auto [name, value] = line.split(" = ");
    if (value.contains('"')) // 11 "#mla.causal"
      value = value.split('"').second.split('"').first;
    fields[name] = value.str();
  }
  std::string types = fields["q_dtype"];
  if (fields["kv_dtype"] != types || fields["out_dtype"] != types)
    types += "/" + fields["kv_dtype"] + "/" + fields["out_dtype"];
  std::string what =
      formatv("{0}, {1}/{2} heads of {3}/{4}", types, fields["h_q"],
              fields["h_kv"], fields["d_qk"], fields["d_v"])
          .str();
  if (fields["d_rope"] != "0")
    what += ", rope " + fields["d_rope"];
  what += ", " + fields["layout"];
  if (fields["layout"] != "dense")
    what += " " + fields["page_size"];
  what += ", " + fields["mask"];
  if (fields["queries"] != "1")
    what += ", " + fields["queries"] + " queries";
  if (fields["ragged_q"] == "true")
    what += ", ragged";
  if (!fields["score"].empty())
    what += ", score code";
  return what;
}

static std::string
fieldOf(const std::map<std::string, std::string, std::less<>> &fields,
        std::string_view name) {
  auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

static void printLine(StringRef digest, StringRef build, StringRef target,
                      StringRef size, StringRef used, StringRef what) {
  outs() << formatv("{0,-13} {1,-9} {2,-20} {3,10} {4,8}  {5}\n", digest, build,
                    target, size, used, what);
}

static void printEntry(const cache::Result<cache::Entry> &entry, StringRef name,
                       uint64_t bytes, StringRef used, bool keys) {
  if (!entry) {
    printLine(name.take_front(12), "", "damaged", formatBytes(bytes), used,
              entry.error().message);
    return;
  }
  auto fields = cache::fieldsOfKey(entry->keyText());
  std::string target = fieldOf(fields, "target");
  std::string chip = fieldOf(fields, target == "host" ? "cpu" : "chip");
  printLine(cache::sha256(entry->keyText()).hex().substr(0, 12),
            StringRef(entry->buildId()).take_front(8), target + ":" + chip,
            formatBytes(entry->bytes().size()), used,
            fields.count("spec")
                ? describeSpec(fieldOf(fields, "spec"))
                : "self-check of " + fieldOf(fields, "assembler"));
  if (!keys)
    return;
  for (const auto &[field, value] : fields) {
    SmallVector<StringRef> lines;
    StringRef(value).trim().split(lines, '\n');
    if (lines.size() == 1) {
      outs() << "  " << field << ": " << lines[0] << "\n";
      continue;
    }
    outs() << "  " << field << ":\n";
    for (StringRef line : lines)
      outs() << "    " << line << "\n";
  }
}

static Expected<std::unique_ptr<cache::Archive>>
openArchive(const std::string &path) {
  auto archive = cache::Archive::open(path);
  if (!archive)
    return createStringError(archive.error().message);
  return std::move(*archive);
}

Error listCaches(const cache::DiskCache *directory,
                 const std::vector<std::string> &archives, bool keys) {
  printLine("DIGEST", "BUILD", "TARGET", "SIZE", "LAST USE", "KERNEL");
  size_t numEntries = 0;
  uint64_t bytes = 0;
  if (directory)
    for (const cache::StoredEntry &stored : directory->list()) {
      auto entry = directory->read(stored);
      if (!entry && entry.error().kind == cache::ErrorKind::Absent)
        continue; // removed by another process since
      printEntry(entry, StringRef(stored.path).split('/').second, stored.bytes,
                 ageOf(stored.lastUse), keys);
      ++numEntries;
      bytes += stored.bytes;
    }
  for (const std::string &path : archives) {
    auto archive = openArchive(path);
    if (!archive)
      return archive.takeError();
    for (size_t i = 0; i < (*archive)->size(); ++i) {
      auto entry = (*archive)->read(i);
      printEntry(entry, path, 0, "archive", keys);
      ++numEntries;
      bytes += entry ? entry->bytes().size() : 0;
    }
  }
  outs() << formatv("{0} {1}, {2}\n", numEntries,
                    numEntries == 1 ? "entry" : "entries", formatBytes(bytes));
  return Error::success();
}

Error verifyCaches(const cache::DiskCache *directory,
                   const std::vector<std::string> &archives) {
  size_t checked = 0, wrong = 0;
  auto complain = [&](const std::string &where, const std::string &what) {
    outs() << where << ": " << what << "\n";
    ++wrong;
  };
  if (directory) {
    checked += directory->list().size();
    for (const auto &[stored, error] : directory->verify())
      complain(stored.path, error.message);
  }
  for (const std::string &path : archives) {
    auto archive = openArchive(path);
    if (!archive) {
      complain(path, toString(archive.takeError()));
      continue;
    }
    checked += (*archive)->size();
    for (size_t i = 0; i < (*archive)->size(); ++i)
      if (auto entry = (*archive)->read(i); !entry)
        complain(path + ", entry " + std::to_string(i), entry.error().message);
  }
  if (wrong)
    return createStringError("requires whole entries and archives, but " +
                             Twine(wrong) + " are not");
  outs() << formatv("{0} {1}: all whole\n", checked,
                    checked == 1 ? "entry" : "entries");
  return Error::success();
}

void clearCache(cache::DiskCache &directory, const ClearOptions &options) {
  int64_t now = std::time(nullptr);
  uint64_t bytes = 0;
  uint64_t removed = directory.removeIf([&](const cache::StoredEntry &stored) {
    bool isKept = now - stored.lastUse / 1000000000 < options.unusedSeconds ||
                  (!options.keptBuild.empty() &&
                   StringRef(stored.path).starts_with(options.keptBuild + "/"));
    bytes += isKept ? 0 : stored.bytes;
    return !isKept;
  });
  outs() << formatv("removed {0} {1}, {2}\n", removed,
                    removed == 1 ? "entry" : "entries", formatBytes(bytes));
}

} // namespace mla_jit
