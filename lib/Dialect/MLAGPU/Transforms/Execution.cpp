//===- Execution.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Pipelines' counts only grow and each has one writer, so a role that can go on
// stays able to: all interleavings do the same steps and end in the same state.
// One is run. Vector clocks say what is ordered in all of them.
//
//===----------------------------------------------------------------------===//

#include "Protocol.h"

using namespace mlir;
using namespace mlir::mla_gpu;

namespace {
/// A time of each role, and of the copies of each pipeline.
using Clock = SmallVector<int64_t>;

struct Slot {
  bool committed = false;
  SmallVector<Place> written;
  Clock handedOver;
  /// By reading role.
  llvm::MapVector<StringRef, Clock> released;
};

struct Access {
  unsigned role;
  int64_t time;
  bool writes, open;
  int64_t mma;
  Place place;
  Operation *op;
};

class Execution {
public:
  Execution(ArrayRef<Trace> traces, ArrayRef<Assumption> assumptions,
            Needs &needs)
      : traces(traces), assumptions(assumptions), needs(needs),
        at(traces.size(), 0) {
    for (const Trace &trace : traces)
      for (const Step &step : trace.steps)
        if (step.pipeline)
          agents.insert(
              {step.pipeline, unsigned(traces.size() + agents.size())});
    clocks.assign(traces.size(), Clock(traces.size() + agents.size(), 0));
  }

  LogicalResult run();

private:
  unsigned indexOf(StringRef role) const {
    for (auto [i, trace] : llvm::enumerate(traces))
      if (trace.role == role)
        return i;
    return traces.size();
  }
  Slot &slot(PipelineOp pipeline, int64_t number) {
    return slots[{pipeline.getOperation(), number}];
  }
  /// The pipeline and slot that must be released before a slot can be acquired;
  /// a negative number if there is none.
  std::pair<PipelineOp, int64_t> turnBefore(PipelineOp pipeline,
                                            int64_t number);
  /// Does a step of a role, unless it has to wait.
  FailureOr<bool> advance(unsigned role);
  LogicalResult access(unsigned role, const Step &step);
  /// What a reader of a slot reads must have been written for it.
  LogicalResult checkWritten(unsigned role, const Step &step);
  LogicalResult reportDeadlock();
  LogicalResult checkRead();

  ArrayRef<Trace> traces;
  ArrayRef<Assumption> assumptions;
  Needs &needs;
  SmallVector<size_t> at;
  SmallVector<Clock> clocks;
  llvm::MapVector<Operation *, unsigned> agents;
  llvm::DenseMap<std::pair<Operation *, int64_t>, Slot> slots;
  llvm::DenseMap<std::pair<Operation *, int64_t>, SmallVector<Access>> accesses;
};
} // namespace

void mla_gpu::addNotes(InFlightDiagnostic &diag,
                       ArrayRef<Assumption> assumptions) {
  for (const Assumption &assumption : assumptions) {
    Diagnostic &note = diag.attachNote(assumption.loc);
    if (assumption.condition)
      note << "where this is " << (assumption.value ? "true" : "false");
    else
      note << "where this is " << assumption.value;
  }
}

static void join(Clock &clock, const Clock &other) {
  for (auto [mine, theirs] : llvm::zip(clock, other))
    mine = std::max(mine, theirs);
}

std::pair<PipelineOp, int64_t> Execution::turnBefore(PipelineOp pipeline,
                                                     int64_t number) {
  if (PipelineOp earlier = pipeline.getEarlier())
    return {earlier, number};
  // The last of the chain that begins here.
  PipelineOp last = pipeline;
  for (bool found = true; found;) {
    found = false;
    for (Operation *user : last.getResult().getUsers())
      if (auto later = dyn_cast<PipelineOp>(user)) {
        last = later;
        found = true;
        break;
      }
  }
  return {last, number - int64_t(pipeline.getType().getStages())};
}

/// Do some places together have all of another one's columns?
static bool covers(ArrayRef<Place> places, const Place &place) {
  int64_t upTo = place.begin;
  for (bool more = true; more && upTo < place.end;) {
    more = false;
    for (const Place &other : places)
      if (other.storage == place.storage && other.begin <= upTo &&
          other.end > upTo) {
        upTo = other.end;
        more = true;
      }
  }
  return upTo >= place.end;
}

LogicalResult Execution::checkWritten(unsigned role, const Step &step) {
  if (!step.hold || step.hold->writes != (step.kind == Step::Write))
    return success();
  PipelineOp pipeline = step.hold->pipeline;
  Slot &mine = slot(pipeline, step.hold->number);
  if (step.kind == Step::Write)
    mine.written.push_back(step.place);
  else if (!covers(mine.written, step.place)) {
    InFlightDiagnostic diag =
        step.op->emitOpError("(protocol_c5) of role '")
        << traces[role].role << "' reads columns [" << step.place.begin << ":"
        << step.place.end << "] of slot " << step.hold->number
        << ", which role '" << pipeline.getFrom() << "' has not all written";
    diag.attachNote(pipeline.getLoc()) << "of this pipeline";
    addNotes(diag, assumptions);
    return diag;
  }
  return success();
}

LogicalResult Execution::access(unsigned role, const Step &step) {
  if (failed(checkWritten(role, step)))
    return failure();
  SmallVector<Access> &list = accesses[{step.place.storage, step.place.stage}];
  bool writes = step.kind == Step::Write;
  for (const Access &other : list) {
    if (other.role == role || !(writes || other.writes) ||
        !other.place.overlaps(step.place) ||
        (!other.open && other.time <= clocks[role][other.role]))
      continue;
    InFlightDiagnostic diag = step.op->emitOpError("(protocol_c7) of role '")
                              << traces[role].role << "' "
                              << (writes ? "overwrites" : "reads")
                              << " what role '" << traces[other.role].role
                              << "' " << (other.writes ? "writes" : "reads")
                              << ", and nothing orders the two";
    diag.attachNote(other.op->getLoc()) << "the other access";
    addNotes(diag, assumptions);
    return diag;
  }
  Access mine{role,     clocks[role][role], writes, step.mma > 0,
              step.mma, step.place,         step.op};
  for (Access &other : list)
    if (other.role == role && other.op == step.op && !other.open &&
        other.place.begin == mine.place.begin &&
        other.place.end == mine.place.end) {
      other = mine;
      return success();
    }
  list.push_back(mine);
  return success();
}

FailureOr<bool> Execution::advance(unsigned role) {
  Step step = traces[role].steps[at[role]];
  Clock &clock = clocks[role];
  switch (step.kind) {
  case Step::Acquire: {
    auto [before, number] = turnBefore(step.pipeline, step.number);
    if (number < 0)
      break;
    Slot &earlier = slot(before, number);
    SmallVector<StringRef> readers =
        llvm::to_vector(before.getTo().getAsValueRange<StringAttr>());
    if (llvm::any_of(readers, [&](StringRef reader) {
          return !earlier.released.contains(reader);
        }))
      return false;
    SmallVector<StringRef> needed;
    for (StringRef reader : readers)
      if (unsigned i = indexOf(reader); earlier.released[reader][i] > clock[i])
        needed.push_back(reader);
    needs.empty[step.pipeline].insert(needed.begin(), needed.end());
    for (StringRef reader : readers)
      join(clock, earlier.released[reader]);
    break;
  }
  case Step::Commit: {
    Slot &mine = slot(step.pipeline, step.number);
    ++clock[role];
    mine.committed = true;
    mine.handedOver = clock;
    // Copies arrive by themselves, later: nobody knows without being told.
    if (step.pipeline.getWriter() != Writer::Threads)
      mine.handedOver[agents[step.pipeline]] = step.number + 1;
    break;
  }
  case Step::Wait: {
    Slot &theirs = slot(step.pipeline, step.number);
    if (!theirs.committed)
      return false;
    for (unsigned i : {indexOf(step.pipeline.getFrom()), agents[step.pipeline]})
      if (theirs.handedOver[i] > clock[i])
        needs.full[step.pipeline].insert(traces[role].role);
    join(clock, theirs.handedOver);
    break;
  }
  case Step::Release:
    ++clock[role];
    slot(step.pipeline, step.number).released[traces[role].role] = clock;
    break;
  case Step::Read:
  case Step::Write:
    ++clock[role];
    if (failed(access(role, step)))
      return failure();
    break;
  case Step::Drain:
    ++clock[role];
    for (auto &[place, list] : accesses)
      for (Access &mine : list)
        if (mine.role == role && mine.open && mine.mma <= step.mma) {
          mine.open = false;
          mine.time = clock[role];
        }
    break;
  }
  ++at[role];
  return true;
}

LogicalResult Execution::reportDeadlock() {
  std::optional<InFlightDiagnostic> diag;
  for (auto [role, trace] : llvm::enumerate(traces)) {
    if (at[role] == trace.steps.size())
      continue;
    const Step &step = trace.steps[at[role]];
    std::string text =
        "role '" + trace.role.str() + "' " +
        (step.kind == Step::Wait ? "waits" : "tries") +
        (step.kind == Step::Wait ? " for slot " : " to acquire slot ") +
        std::to_string(step.number);
    if (diag)
      diag->attachNote(step.op->getLoc()) << text;
    else
      diag.emplace(step.op->emitOpError("(protocol_c6) is never reached: "
                                        "deadlock; ")
                   << text);
    // What it did last, the latest first.
    size_t end = at[role], shown = 0;
    for (size_t i = end; i > 0 && shown < 3; --i) {
      const Step &past = trace.steps[i - 1];
      if (!past.pipeline)
        continue;
      StringRef verb = past.kind == Step::Acquire  ? "acquired"
                       : past.kind == Step::Commit ? "committed"
                       : past.kind == Step::Wait   ? "got"
                                                   : "released";
      diag->attachNote(past.op->getLoc())
          << (shown ? "before that it " : "it last ") << verb << " slot "
          << past.number;
      ++shown;
    }
  }
  addNotes(*diag, assumptions);
  return *diag;
}

LogicalResult Execution::checkRead() {
  for (const Trace &trace : traces)
    for (Step step : trace.steps) {
      if (step.kind != Step::Commit)
        continue;
      Slot &mine = slot(step.pipeline, step.number);
      for (StringRef reader :
           step.pipeline.getTo().getAsValueRange<StringAttr>())
        if (!mine.released.contains(reader)) {
          InFlightDiagnostic diag =
              step.op->emitOpError("(protocol_c5) hands over slot ")
              << step.number << ", which role '" << reader
              << "' never waits for";
          diag.attachNote(step.pipeline.getLoc()) << "of this pipeline";
          addNotes(diag, assumptions);
          return diag;
        }
    }
  return success();
}

LogicalResult Execution::run() {
  for (bool some = true; some;) {
    some = false;
    for (auto [role, trace] : llvm::enumerate(traces))
      while (at[role] < trace.steps.size()) {
        FailureOr<bool> done = advance(role);
        if (failed(done))
          return failure();
        if (!*done)
          break;
        some = true;
      }
  }
  for (auto [role, trace] : llvm::enumerate(traces))
    if (at[role] < trace.steps.size())
      return reportDeadlock();
  return checkRead();
}

LogicalResult mla_gpu::execute(ArrayRef<Trace> traces,
                               ArrayRef<Assumption> assumptions, Needs &needs) {
  return Execution(traces, assumptions, needs).run();
}
