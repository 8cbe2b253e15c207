//===- PtxReport.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Target/PtxReport.h"
#include "mla/Target/Contained.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace mlir::mla;
using llvm::createStringError;

/// Shared memory that a block of sm_90 can have.
static constexpr unsigned kMaxSharedBytes = 232448;
/// setmaxnreg ignored (C7504, C7508), wgmma serialised or waited for (the
/// others). C7519, an injected warpgroup.arrive, costs nothing.
static constexpr llvm::StringLiteral kLossCodes[] = {
    "C7504", "C7508", "C7510", "C7511", "C7512", "C7513",
    "C7514", "C7515", "C7516", "C7517", "C7520"};
static constexpr std::chrono::seconds kDisassemblyLimit(60);

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

namespace {
/// A directory that goes with all that is in it. Not LLVM's, which asks the
/// environment where.
class TemporaryDirectory {
public:
  static llvm::Expected<TemporaryDirectory>
  create(const std::vector<std::string> &places) {
    TemporaryDirectory directory;
    std::error_code error;
    for (const std::string &place : places) {
      directory.path = place;
      llvm::sys::path::append(directory.path, "mla-ptx-XXXXXX");
      if (::mkdtemp(const_cast<char *>(directory.path.c_str())))
        return directory;
      error = {errno, std::generic_category()};
      directory.path.clear();
    }
    return createStringError(error,
                             "requires a directory for temporary files, but " +
                                 llvm::join(places, " and ") +
                                 " cannot be written: " + error.message());
  }
  TemporaryDirectory(TemporaryDirectory &&other)
      : path(std::exchange(other.path, {})) {}
  ~TemporaryDirectory() {
    if (!path.empty())
      (void)llvm::sys::fs::remove_directories(path);
  }

  std::string file(llvm::StringRef name) const {
    SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

private:
  TemporaryDirectory() = default;
  SmallString<128> path;
};
} // namespace

static llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << content;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return createStringError(error, "cannot write " + path);
  return llvm::Error::success();
}

/// `.version 8.0` as 80; 0 if there is none.
static unsigned versionOfPTX(llvm::StringRef ptx) {
  llvm::StringRef text = ptx.split(".version").second.ltrim();
  unsigned major, minor;
  if (text.consumeInteger(10, major) || !text.consume_front(".") ||
      text.consumeInteger(10, minor))
    return 0;
  return major * 10 + minor;
}

/// Whether the tables of an ELF file, which are at its end, are there.
static bool isWhole(llvm::StringRef image) {
  llvm::ELF::Elf64_Ehdr header;
  if (image.size() < sizeof(header))
    return false;
  std::memcpy(&header, image.data(), sizeof(header));
  return image.starts_with(llvm::ELF::ElfMagic) &&
         header.e_shoff + header.e_shnum * header.e_shentsize <= image.size() &&
         header.e_phoff + header.e_phnum * header.e_phentsize <= image.size();
}

static llvm::Expected<PtxReport> runAssembler(llvm::StringRef ptx,
                                              const GPUChip &chip,
                                              const Assembler &assembler,
                                              const AssembleOptions &options) {
  for (const AssemblerDefect &defect :
       findDefects(assembler.version, options.defects))
    if (defect.denied)
      return createStringError(assembler.path + " of release " +
                               assembler.release +
                               " is not to be used: " + defect.text);
  unsigned version = versionOfPTX(ptx);
  if (version > assembler.ptxVersion)
    return createStringError("the module is PTX " + formatPTXVersion(version) +
                             ", but " + assembler.path + " of release " +
                             assembler.release + " supports up to PTX " +
                             formatPTXVersion(assembler.ptxVersion));
  auto directory = TemporaryDirectory::create(options.scratch);
  if (!directory)
    return directory.takeError();
  std::string input = directory->file("module.ptx");
  std::string output = directory->file("module.cubin");
  if (llvm::Error error = writeFile(input, ptx))
    return std::move(error);
  auto result = runTool(assembler.path,
                        {"-v", "-arch=" + chip.name.str(), input, "-o", output},
                        options.timeLimit);
  if (!result)
    return result.takeError();
  if (result->status.value_or(0) != 0)
    return createStringError("ptxas refused the module:\n" + result->output);
  auto cubin = llvm::MemoryBuffer::getFile(output);
  if (!cubin)
    return createStringError(cubin.getError(),
                             "ptxas left no cubin\n" + result->output);
  // Without a status the cubin itself has to say that it is right.
  if (!result->status && !isWhole((*cubin)->getBuffer()))
    return createStringError("ptxas left a part of a cubin\n" + result->output);

  PtxReport report;
  report.cubin = (*cubin)->getBuffer().str();
  report.release = assembler.release;
  report.assembler = assembler.path;
  report.log = result->output;
  parseAssemblerLog(report.log, report);
  return report;
}

llvm::Expected<PtxReport> mla::assemble(llvm::StringRef ptx,
                                        const GPUChip &chip,
                                        const Assembler &assembler,
                                        const AssembleOptions &options) {
  auto report = runAssembler(ptx, chip, assembler, options);
  if (report)
    return report;
  return inStage("assemble", report.takeError());
}

/// The N of "N bytes spill stores", given "bytes spill stores".
static void readCount(llvm::StringRef line, llvm::StringRef unit,
                      unsigned &count) {
  for (llvm::StringRef part : llvm::split(line, ',')) {
    part = part.trim();
    part.consume_front("Used ");
    part.consume_front("used ");
    unsigned value;
    if (!part.consumeInteger(10, value) && part.trim() == unit)
      count = value;
  }
}

void mla::parseAssemblerLog(llvm::StringRef log, PtxReport &report) {
  auto kernel = [&](llvm::StringRef name) -> KernelReport & {
    for (KernelReport &known : report.kernels)
      if (known.name == name)
        return known;
    KernelReport &added = report.kernels.emplace_back();
    added.name = name.str();
    return added;
  };
  std::string entry, function;
  for (llvm::StringRef line : llvm::split(log, '\n')) {
    bool warning = line.contains("warning");
    // "ptxas info    : text", or a continuation: indented, or from a driver
    // "ptxas         .   text".
    llvm::StringRef text = line;
    if (text.consume_front("ptxas")) {
      text = text.ltrim();
      if (!text.consume_front("."))
        text = text.split(':').second;
    }
    text = text.trim();
    if (text.consume_front("(C") && text.contains(')')) {
      auto [code, rest] = text.split(')');
      report.notices.push_back({"C" + code.str(), rest.trim().str()});
    } else if (warning) {
      report.notices.push_back({"", text.str()});
    } else if (text.consume_front("Compiling entry function '")) {
      entry = function = text.split('\'').first.str();
      kernel(entry).entry = true;
    } else if (text.consume_front("Function properties for ")) {
      function = text.str();
      kernel(function);
    } else if (text.contains("bytes stack frame")) {
      KernelReport &properties = kernel(function);
      readCount(text, "bytes stack frame", properties.stackBytes);
      readCount(text, "bytes spill stores", properties.spillStoreBytes);
      readCount(text, "bytes spill loads", properties.spillLoadBytes);
    } else if (text.starts_with("Used ")) {
      KernelReport &properties = kernel(entry);
      readCount(text, "registers", properties.registers);
      readCount(text, "barriers", properties.barriers);
      readCount(text, "bytes smem", properties.staticSharedBytes);
    }
  }
}

std::vector<std::string> mla::findPerformanceLosses(const PtxReport &report,
                                                    unsigned localBytes) {
  std::vector<std::string> losses;
  for (const KernelReport &kernel : report.kernels) {
    auto add = [&](unsigned bytes, unsigned limit, const char *what) {
      if (bytes > limit)
        losses.push_back(kernel.name + ": " + std::to_string(bytes) +
                         " bytes of " + what + ", over the limit of " +
                         std::to_string(limit));
    };
    add(kernel.spillStoreBytes, localBytes, "spill stores");
    add(kernel.spillLoadBytes, localBytes, "spill loads");
    add(kernel.stackBytes, localBytes, "local memory");
    add(kernel.staticSharedBytes, kMaxSharedBytes, "static shared memory");
  }
  for (const PtxNotice &notice : report.notices)
    if (llvm::is_contained(kLossCodes, notice.code))
      losses.push_back(notice.code + ": " + notice.text);
  return losses;
}

//===----------------------------------------------------------------------===//
// Disassembly
//===----------------------------------------------------------------------===//

SassCounts mla::parseSass(llvm::StringRef text) {
  SassCounts counts;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    // "/*0040*/  @!P0 LDG.E R2, desc[UR4][R2.64] ;"; lines without an address
    // or an opcode behind it are not instructions.
    line = line.trim();
    if (!line.consume_front("/*"))
      continue;
    auto [address, code] = line.split("*/");
    if (address.size() != 4 && address.size() != 5)
      continue;
    code = code.ltrim();
    if (code.starts_with("@"))
      code = code.split(' ').second.ltrim();
    llvm::StringRef opcode = code.take_while([](char c) {
      return llvm::isUpper(c) || llvm::isDigit(c) || c == '_';
    });
    if (!opcode.empty())
      ++counts[opcode.str()];
  }
  return counts;
}

llvm::Expected<SassCounts> mla::countSass(const PtxReport &report) {
  if (report.cubin.empty() || report.assembler.empty())
    return llvm::make_error<ToolNotFound>("no cubin of ptxas");
  llvm::StringRef programs = llvm::sys::path::parent_path(report.assembler);
  auto nvdisasm = llvm::sys::findProgramByName("nvdisasm", {programs});
  auto tool = nvdisasm ? nvdisasm
                       : llvm::sys::findProgramByName("cuobjdump", {programs});
  if (!tool)
    return llvm::make_error<ToolNotFound>(
        "nvdisasm or cuobjdump not found in " + programs.str());
  auto directory = TemporaryDirectory::create(AssembleOptions().scratch);
  if (!directory)
    return directory.takeError();
  std::string input = directory->file("module.cubin");
  if (llvm::Error error = writeFile(input, report.cubin))
    return std::move(error);
  auto result =
      runTool(*tool, {nvdisasm ? "-c" : "-sass", input}, kDisassemblyLimit);
  if (!result)
    return result.takeError();
  if (result->status.value_or(0) != 0)
    return createStringError("stage 'disassemble': " + *tool + " failed:\n" +
                             result->output);
  return parseSass(result->output);
}

void mla::printReport(llvm::raw_ostream &stream, const PtxReport &report,
                      const SassCounts *sass) {
  stream << "assembler: ptxas " << report.release << "\n"
         << "cubin: ";
  if (report.cubin.empty())
    stream << "not available (the driver keeps what it loads)\n";
  else
    stream << report.cubin.size() << " bytes\n";
  for (const KernelReport &kernel : report.kernels) {
    stream << (kernel.entry ? "kernel " : "function ") << kernel.name << ":\n";
    if (kernel.entry)
      stream << "  registers: " << kernel.registers << "\n"
             << "  barriers: " << kernel.barriers << "\n"
             << "  static shared memory: " << kernel.staticSharedBytes
             << " bytes\n";
    stream << "  spill stores: " << kernel.spillStoreBytes << " bytes\n"
           << "  spill loads: " << kernel.spillLoadBytes << " bytes\n"
           << "  local memory: " << kernel.stackBytes << " bytes\n";
  }
  for (const PtxNotice &notice : report.notices)
    stream << "notice: " << (notice.code.empty() ? "" : notice.code + ": ")
           << notice.text << "\n";
  if (!sass) {
    stream << "sass: not available ("
           << (report.cubin.empty() ? "no cubin"
                                    : "nvdisasm or cuobjdump not found")
           << ")\n";
    return;
  }
  for (llvm::StringRef opcode : {"HGMMA", "UTMALDG", "UTMASTG", "USETMAXREG",
                                 "SYNCS", "BAR", "LDGSTS", "LDL", "STL"}) {
    auto found = sass->find(opcode);
    stream << "sass " << opcode << ": "
           << (found == sass->end() ? 0 : found->second) << "\n";
  }
}
