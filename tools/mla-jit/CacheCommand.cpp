//===- CacheCommand.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit cache: kernels on disk and in archives, for host applications.
//
//===----------------------------------------------------------------------===//

#include "CacheFiles.h"
#include "Command.h"
#include "Files.h"
#include "Flags.h"
#include "HostLibrary.h"
#include "PublicEngine.h"

#include "cache/DiskCache.h"
#include "cache/Hash.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;

namespace mla_jit {

namespace {

enum class Action { List, Verify, Clear, Warm, Pack };

class CacheCommand : public Command {
public:
  CacheCommand()
      : Command("cache", R"(keeps the kernels that host applications load

  list    what is in the directory and in archives: digest of the key, build
          of the library, target, size, time since the last use, kernel
  verify  checks every byte of the directory's entries and of archives
  clear   removes the directory's entries: all, those that nobody used for some
          time, those of other builds
  warm    compiles a list of specs into the directory (a GPU's: where one is)
  pack    compiles a list of specs into an archive; needs no GPU, and puts
          machine code in where there is ptxas
A list of specs is a file of texts as mla_spec_to_text has them, with an empty
line between two; '#' begins a comment line.)") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit cache list --dir ~/.cache/mla\n"
           "  mla-jit cache warm --dir ~/.cache/mla specs.txt\n"
           "  mla-jit cache pack --target cuda:sm_90a --out kernels.mla "
           "specs.txt\n"
           "  mla-jit cache clear --dir ~/.cache/mla --unused-for 30d\n"
           "A list of one spec:\n"
           "  q_dtype = bf16\n"
           "  kv_dtype = bf16\n"
           "  out_dtype = bf16\n"
           "  h_q = 128\n"
           "  h_kv = 1\n"
           "  d_qk = 576\n"
           "  d_v = 512\n"
           "  page_size = 64\n"
           "  table_kind = dense\n"
           "  mask = 1\n";
  }

  Error run() override {
    auto action = parseAction();
    if (!action)
      return action.takeError();
    if (Error error = checkFlags(*action))
      return error;
    switch (*action) {
    case Action::List:
    case Action::Verify:
      return look(*action);
    case Action::Clear:
      return clear();
    case Action::Warm:
    case Action::Pack:
      return compile(*action);
    }
    llvm_unreachable("an action is one of these");
  }

private:
  Expected<Action> parseAction() const {
    int number = StringSwitch<int>(actionName)
                     .Case("list", int(Action::List))
                     .Case("verify", int(Action::Verify))
                     .Case("clear", int(Action::Clear))
                     .Case("warm", int(Action::Warm))
                     .Case("pack", int(Action::Pack))
                     .Default(-1);
    if (number < 0)
      return usageError("cache requires list, verify, clear, warm or pack, but "
                        "got '" +
                        actionName + "'");
    return Action(number);
  }

  Error checkFlags(Action action) const {
    bool makes = action == Action::Warm || action == Action::Pack;
    struct {
      const cl::Option &option;
      bool isUsed;
    } const kUses[] = {{out, action == Action::Pack},
                       {keys, action == Action::List},
                       {target, makes},
                       {timeout, makes},
                       {unusedFor, action == Action::Clear},
                       {others, action == Action::Clear},
                       {library, makes || others},
                       {files, action != Action::Clear}};
    for (const auto &[option, isUsed] : kUses)
      if (!isUsed && option.getNumOccurrences()) {
        std::string name =
            option.hasArgStr() ? ("--" + option.ArgStr).str() : "a file";
        return usageError(name + " has no meaning for '" + actionName + "'");
      }
    if (timeout < 1 || timeout > 86400)
      return usageError("--timeout requires 1 to 86400, but got " +
                        Twine(timeout));
    if (trust != "owner" && trust != "group")
      return usageError("--trust requires owner or group, but got '" + trust +
                        "'");
    if (makes && files.empty())
      return usageError("'" + actionName + "' requires a list of specs");
    if (action == Action::Pack && out.empty())
      return usageError("--out is required");
    bool needsDirectory = action == Action::Clear || action == Action::Warm ||
                          (action != Action::Pack && files.empty());
    if (needsDirectory && directory().empty())
      return usageError("--dir is required, or MLA_JIT_CACHE_DIR");
    return Error::success();
  }

  std::string directory() const {
    const char *named = std::getenv("MLA_JIT_CACHE_DIR");
    return dir.getNumOccurrences() || !named ? dir.getValue() : named;
  }

  Error look(Action action) const {
    std::unique_ptr<cache::DiskCache> opened;
    if (std::string path = directory(); !path.empty())
      if (Error error =
              openCacheDirectory(path, trust == "group", /*readOnly=*/true)
                  .moveInto(opened))
        return error;
    std::vector<std::string> archives(files.begin(), files.end());
    return action == Action::List ? listCaches(opened.get(), archives, keys)
                                  : verifyCaches(opened.get(), archives);
  }

  /// "12h" in seconds.
  Expected<int64_t> unusedSeconds() const {
    StringRef text = unusedFor;
    int64_t number, unit = 0;
    if (!text.consumeInteger(10, number))
      unit = StringSwitch<int64_t>(text)
                 .Case("s", 1)
                 .Case("m", 60)
                 .Case("h", 3600)
                 .Case("d", 86400)
                 .Default(0);
    if (!unit || number < 0 || number > INT32_MAX)
      return usageError("--unused-for requires a number and s, m, h or d, as "
                        "30d, but got '" +
                        unusedFor + "'");
    return number * unit;
  }

  Error clear() const {
    ClearOptions options;
    if (unusedFor.getNumOccurrences())
      if (Error error = unusedSeconds().moveInto(options.unusedSeconds))
        return error;
    if (others) {
      auto loaded = HostLibrary::load(library);
      if (!loaded)
        return loaded.takeError();
      options.keptBuild = loaded->buildId;
    }
    auto opened = openCacheDirectory(directory(), trust == "group",
                                     /*readOnly=*/false);
    if (!opened)
      return opened.takeError();
    clearCache(**opened, options);
    return Error::success();
  }

  Error compile(Action action) const {
    if (action == Action::Pack)
      if (Error error = checkWritable("--out", out))
        return error;
    auto loaded = HostLibrary::load(library);
    if (!loaded)
      return loaded.takeError();
    std::string path = directory();
    std::string name = target;
    if (StringRef(name).starts_with("sm_"))
      name = "cuda:" + name;
    mla_engine_options options;
    MLA_INIT(&options);
    options.target = name.c_str();
    options.cache_dir = path.c_str();
    std::string ptxas = findPtxas();
    options.ptxas = ptxas.c_str();
    options.cache_trust = trust == "group" ? MLA_TRUST_GROUP : MLA_TRUST_OWNER;
    options.compile_timeout_ms = static_cast<uint32_t>(1000 * timeout);
    options.log = printEvent;
    auto engine = HostEngine::create(*loaded, options);
    if (!engine)
      return engine.takeError();
    std::vector<mla_spec> specs;
    for (const std::string &file : files) {
      auto text = readText(file);
      if (!text)
        return text.takeError();
      auto read = engine->readSpecs(*text, file);
      if (!read)
        return read.takeError();
      specs.insert(specs.end(), read->begin(), read->end());
    }
    if (specs.empty())
      return createStringError("requires a spec, but the list is empty");
    return action == Action::Warm ? warm(*engine, specs) : pack(*engine, specs);
  }

  static void printEvent(void *, const mla_log *event) {
    errs() << formatv("{0}{1}{2}\n", StringRef(event->digest).take_front(12),
                      *event->digest ? ": " : "", event->message);
  }

  Error warm(const HostEngine &engine,
             const std::vector<mla_spec> &specs) const {
    if (Error error = engine.prepare(specs))
      return error;
    mla_counters counters = engine.counters();
    if (counters.compiles != counters.stored)
      return createStringError("requires a directory that keeps what was "
                               "compiled, but '" +
                               directory() + "' did not");
    outs() << formatv("{0} {1}: {2} compiled, {3} on disk before\n",
                      specs.size(), specs.size() == 1 ? "spec" : "specs",
                      counters.compiles, counters.disk_hits);
    return Error::success();
  }

  Error pack(const HostEngine &engine,
             const std::vector<mla_spec> &specs) const {
    if (Error error = engine.buildArchive(specs, out))
      return error;
    auto bytes = readText(out);
    if (!bytes)
      return bytes.takeError();
    outs() << formatv("{0}: {1} {2}, {3} compiled, {4}, SHA-256 {5}\n", out,
                      specs.size(), specs.size() == 1 ? "spec" : "specs",
                      engine.counters().compiles, formatBytes(bytes->size()),
                      cache::sha256(*bytes).hex());
    return Error::success();
  }

  cl::OptionCategory category{"Flags of cache"};
  cl::cat in{category};
  cl::sub ofSub{sub};
  cl::opt<std::string> actionName{cl::Positional, cl::desc("<action>"),
                                  cl::Required, ofSub};
  cl::list<std::string> files{cl::Positional,
                              cl::desc("[lists of specs, or archives]"), ofSub};
  cl::opt<std::string> dir{
      "dir", cl::desc("The cache's directory (default $MLA_JIT_CACHE_DIR)"),
      cl::value_desc("path"), in, ofSub};
  cl::opt<std::string> trust{
      "trust",
      cl::desc("Who may be able to write to it: owner, or group (its\ngroup "
               "too) (default owner)"),
      cl::value_desc("who"),
      cl::init("owner"),
      in,
      ofSub};
  cl::opt<bool> keys{
      "keys", cl::desc("list: with all that a kernel depends on"), in, ofSub};
  cl::opt<std::string> unusedFor{
      "unused-for",
      cl::desc("clear: what nobody used for so long, as 30d, 12h, 5m"),
      cl::value_desc("time"), in, ofSub};
  cl::opt<bool> others{
      "other-builds", cl::desc("clear: what is of other builds of the library"),
      in, ofSub};
  cl::opt<std::string> target{
      "target",
      cl::desc("warm, pack: host, host:<cpu>, cuda, or the chip of a GPU, as\n"
               "cuda:sm_90a (default host)"),
      cl::value_desc("name"),
      cl::init("host"),
      in,
      ofSub};
  cl::opt<std::string> out{"out", cl::desc("pack: the archive (required)"),
                           cl::value_desc("file"), in, ofSub};
  NumberFlag<int64_t> timeout{
      "timeout",
      cl::desc("warm, pack: seconds for one compilation (default 60)"),
      cl::value_desc("N"),
      cl::init(60),
      in,
      ofSub};
  cl::opt<std::string> library{
      "library",
      cl::desc("The libmla_jit.so that hosts load: its build is part of what\n"
               "a kernel is found by (default: the one beside mla-jit)"),
      cl::value_desc("file"), in, ofSub};
};

} // namespace

std::unique_ptr<Command> makeCacheCommand() {
  return std::make_unique<CacheCommand>();
}

} // namespace mla_jit
