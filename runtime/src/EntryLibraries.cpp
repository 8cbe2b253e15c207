//===- EntryLibraries.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryLibraries.h"
#include "CudaParameters.h"
#include "SideBySide.h"
#include "cuda/Error.h"

namespace mla_jit {

llvm::SmallVector<llvm::StringRef> splitPTX(llvm::StringRef text) {
  // The directive that each module begins with, but for comments.
  constexpr llvm::StringLiteral kBegin = "\n.version ";
  llvm::SmallVector<llvm::StringRef> modules;
  size_t begin = 0;
  for (size_t at = text.find(kBegin); at != llvm::StringRef::npos;) {
    size_t next = text.find(kBegin, at + 1);
    modules.push_back(text.slice(begin, next));
    begin = at = next;
  }
  if (modules.empty())
    modules.push_back(text);
  return modules;
}

/// The module that defines the entry; the first one if none does, whose library
/// will say so.
static size_t moduleOf(llvm::ArrayRef<llvm::StringRef> modules,
                       const std::string &symbol) {
  for (auto [index, module] : llvm::enumerate(modules))
    if (module.contains(".entry " + symbol + "("))
      return index;
  return 0;
}

namespace {

/// One module on its way onto the device.
/// A module, PTX or assembled, and the entries that are in it.
class EntryLibrary {
public:
  EntryLibrary(const KernelInfo &info, std::string code, bool isPTX)
      : info(info), code(std::move(code)), isPTX(isPTX) {}

  void add(size_t entry) { entries.push_back(entry); }

  /// Loads the module, and its entries to their places in `functions`.
  llvm::Error
  load(const std::shared_ptr<const cuda::Context> &context,
       llvm::MutableArrayRef<std::shared_ptr<const cuda::Function>> functions) {
    auto loaded = isPTX ? cuda::Library::assemble(context, code)
                        : cuda::Library::load(context, code);
    if (!loaded)
      return cuda::inStage(stage(), loaded.takeError());
    library = std::move(*loaded);
    for (size_t entry : entries)
      if (llvm::Error error =
              get(info.entries[entry]).moveInto(functions[entry]))
        return error;
    return llvm::Error::success();
  }

  std::string log() const { return library ? library->assemblerLog() : ""; }

private:
  const char *stage() const { return isPTX ? "assemble" : "load"; }

  llvm::Expected<std::shared_ptr<const cuda::Function>>
  get(const KernelInfo::Entry &entry) {
    llvm::SmallVector<size_t> bytes;
    for (const KernelInfo::Param &param : entry.params)
      bytes.push_back(parameterBytes(info, param));
    auto function = cuda::Function::get(library, entry.symbol,
                                        llvm::ArrayRef<size_t>(bytes));
    if (!function)
      return notAssembled(function.takeError());
    if (llvm::Error error =
            (*function)->allowDynamicShared(entry.launch.sharedBytes))
      return cuda::inStage("load", std::move(error));
    return function;
  }

  /// The driver may assemble as late as when a function is asked for.
  llvm::Error notAssembled(llvm::Error error) const {
    auto withLog = [&](const cuda::DriverError &e) -> llvm::Error {
      return llvm::make_error<cuda::DriverError>(e.kind(), e.result(),
                                                 e.message() + "\n" + log());
    };
    return cuda::inStage(stage(),
                         llvm::handleErrors(std::move(error), withLog));
  }

  const KernelInfo &info;
  std::string code;
  bool isPTX;
  llvm::SmallVector<size_t> entries;
  std::shared_ptr<const cuda::Library> library;
};

} // namespace

llvm::Expected<LoadedEntries>
loadEntries(const std::shared_ptr<const cuda::Context> &context,
            llvm::StringRef ptx, const KernelInfo &info, unsigned threads) {
  llvm::SmallVector<llvm::StringRef> modules = splitPTX(ptx);
  std::vector<EntryLibrary> libraries;
  for (llvm::StringRef module : modules)
    libraries.emplace_back(info, module.str(), /*isPTX=*/true);
  for (auto [index, entry] : llvm::enumerate(info.entries))
    libraries[moduleOf(modules, entry.symbol)].add(index);

  LoadedEntries loaded;
  loaded.functions.resize(info.entries.size());
  std::vector<std::optional<llvm::Error>> errors(libraries.size());
  runSideBySide(libraries.size(), threads, [&](size_t index) {
    errors[index].emplace(libraries[index].load(context, loaded.functions));
  });
  llvm::Error failure = llvm::Error::success();
  for (std::optional<llvm::Error> &error : errors) {
    if (failure)
      llvm::consumeError(std::move(*error)); // the first one tells enough
    else
      failure = std::move(*error);
  }
  if (failure)
    return std::move(failure);
  for (const EntryLibrary &library : libraries)
    loaded.assemblerLog += library.log() + "\n";
  return loaded;
}

llvm::Expected<LoadedEntries>
loadCubin(const std::shared_ptr<const cuda::Context> &context,
          const std::string &cubin, const KernelInfo &info) {
  EntryLibrary library(info, cubin, /*isPTX=*/false);
  for (size_t entry = 0; entry < info.entries.size(); ++entry)
    library.add(entry);
  LoadedEntries loaded;
  loaded.functions.resize(info.entries.size());
  if (llvm::Error error = library.load(context, loaded.functions))
    return std::move(error);
  return loaded;
}

} // namespace mla_jit
