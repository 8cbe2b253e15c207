//===- KernelEntry.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEntry.h"
#include "KernelInfoFormat.h"
#include "cache/Format.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"

#include <bit>
#include <list>

using llvm::createStringError;

namespace mla_jit {

static constexpr std::string_view kInfoSection = "info";
static constexpr std::string_view kCompilationSection = "compilation";

/// What is known of the compilation apart from KernelInfo.
static std::string writeCompilation(const CompileResult &compiled) {
  cache::FormatWriter writer;
  writer.text(compiled.cpu);
  writer.text(compiled.missingFeature);
  writer.text(compiled.assembler);
  writer.u32(static_cast<uint32_t>(compiled.times.size()));
  for (const StageTime &time : compiled.times) {
    writer.text(time.stage);
    writer.u64(std::bit_cast<uint64_t>(time.seconds));
  }
  return std::move(writer.out);
}

static bool readCompilation(std::string_view bytes, CompileResult &compiled) {
  cache::FormatReader reader(bytes);
  compiled.cpu = reader.text();
  compiled.missingFeature = reader.text();
  compiled.assembler = reader.text();
  for (uint32_t left = reader.u32(); left && reader.ok(); --left) {
    std::string stage(reader.text());
    compiled.times.push_back(
        {std::move(stage), std::bit_cast<double>(reader.u64())});
  }
  return reader.atEnd();
}

static llvm::Error ofNoKernel() {
  return createStringError("the entry of the cache is of no kernel");
}

namespace zstd = llvm::compression::zstd;

/// Of the text of a stage a seventh is left, on disk and in memory, and loading
/// a kernel reads none. Code is stored as it is: what a load does with it is
/// quicker than to decompress it.
static std::string compress(llvm::StringRef content) {
  llvm::SmallVector<uint8_t, 0> packed;
  zstd::compress(llvm::arrayRefFromStringRef(content), packed,
                 zstd::BestSpeedCompression);
  cache::FormatWriter writer;
  writer.u64(content.size());
  writer.raw(llvm::toStringRef(packed));
  return std::move(writer.out);
}

static llvm::Expected<std::string> decompress(std::string_view stored) {
  uint64_t size = cache::FormatReader(stored).u64();
  if (stored.size() < sizeof(size) || size > cache::Entry::kMaxBytes)
    return ofNoKernel();
  stored.remove_prefix(sizeof(size));
  std::string content(size, '\0');
  size_t found = size;
  llvm::Error error =
      zstd::decompress(llvm::arrayRefFromStringRef(stored),
                       reinterpret_cast<uint8_t *>(content.data()), found);
  if (!error && found == size)
    return content;
  llvm::consumeError(std::move(error));
  return ofNoKernel();
}

/// The section of `CompileResult::text`.
static std::string_view codeSection(const KernelInfo &info) {
  return toString(info.chip.empty() ? Stage::Object : Stage::PTX);
}

cache::Result<cache::Entry> makeEntry(const CompileResult &compiled,
                                      const cache::CacheKey &key,
                                      std::string_view buildId) {
  std::string info = writeKernelInfo(*compiled.info);
  std::string compilation = writeCompilation(compiled);
  std::vector<cache::Section> sections;
  std::list<std::string> texts;
  for (const auto &[stage, text] : compiled.stages)
    sections.push_back({stage, texts.emplace_back(compress(text))});
  sections.push_back({codeSection(*compiled.info), compiled.text});
  if (!compiled.cubin.empty())
    sections.push_back({toString(Stage::Cubin), compiled.cubin});
  sections.push_back({kInfoSection, info});
  sections.push_back({kCompilationSection, compilation});
  return cache::Entry::make(key, buildId, sections);
}

llvm::Expected<CompileResult> readEntry(const cache::Entry &entry) {
  auto described = entry.section(kInfoSection);
  auto compilation = entry.section(kCompilationSection);
  if (!described || !compilation)
    return ofNoKernel();
  CompileResult compiled;
  auto info = readKernelInfo(*described);
  if (!info)
    return info.takeError();
  compiled.info = std::move(*info);
  auto code = entry.section(codeSection(*compiled.info));
  if (!code || !readCompilation(*compilation, compiled))
    return ofNoKernel();
  compiled.text = std::string(*code);
  if (auto cubin = entry.section(toString(Stage::Cubin)))
    compiled.cubin = std::string(*cubin);
  return compiled;
}

static bool isCode(std::string_view section) {
  for (Stage code : {Stage::Object, Stage::PTX, Stage::Cubin})
    if (section == toString(code))
      return true;
  return false;
}

std::vector<std::string_view> stagesOf(const cache::Entry &entry) {
  std::vector<std::string_view> stages;
  for (const cache::Section &section : entry.sections())
    if (section.name != kInfoSection && section.name != kCompilationSection)
      stages.push_back(section.name);
  return stages;
}

llvm::Expected<std::string> readStage(const cache::Entry &entry,
                                      std::string_view stage) {
  auto stored = entry.section(stage);
  if (!stored)
    return ofNoKernel();
  return isCode(stage) ? std::string(*stored) : decompress(*stored);
}

} // namespace mla_jit
