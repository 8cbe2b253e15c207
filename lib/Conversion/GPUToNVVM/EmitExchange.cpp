//===- EmitExchange.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Values go from a thread to the one with its number in the other CTA of the
// cluster, through that one's shared memory. Neither CTA ends before what it
// sent has come: it waits for what the other one sends, which waits likewise.
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"

using namespace mlir;
using namespace mlir::mla_gpu;

/// Words of a matrix, or of a row's values, that a thread moves at once.
static constexpr int64_t kMatrixWords = 4, kRowWords = 2;

namespace {

/// Where a thread's words lie: runs of all threads, one behind the other.
class ExchangeWords {
public:
  ExchangeWords(NVVMEmitter &e, Value base, int64_t matrixWords,
                int64_t rowWords)
      : e(e), base(base), matrixWords(matrixWords), rowWords(rowWords) {}

  /// Calls `move` for each run: its address as a value, its bytes from there
  /// on, its first word of all, and how many there are.
  void
  forEach(llvm::function_ref<void(Value, int64_t, int64_t, int64_t)> move) {
    part(0, matrixWords, kMatrixWords, 0, move);
    part(matrixWords, rowWords, kRowWords, matrixWords * bytesOfWord(), move);
  }

private:
  /// One word of every thread.
  int64_t bytesOfWord() { return 4 * e.roleThreads(); }

  void part(int64_t first, int64_t count, int64_t width, int64_t offset,
            llvm::function_ref<void(Value, int64_t, int64_t, int64_t)> move) {
    Value mine = e.add(base, e.mul(e.thread(), e.i32(4 * width)));
    for (int64_t i = 0; i < count; i += width)
      move(mine, offset + i * bytesOfWord(), first + i, width);
  }

  NVVMEmitter &e;
  Value base;
  int64_t matrixWords, rowWords;
};

} // namespace

/// An address of this CTA in the memory of CTA `rank` of the cluster.
static Value addressAt(NVVMEmitter &e, Value address, Value rank) {
  return e
      .ptx("mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", e.b.getI32Type(),
           {address, rank}, /*pure=*/true)
      .front();
}

static void sendWords(NVVMEmitter &e, Value address, int64_t bytes,
                      ArrayRef<Value> words) {
  std::string list, constraints = "r";
  for (size_t i = 0; i < words.size(); ++i) {
    list += (i ? ", $" : "$") + std::to_string(i + 1);
    constraints += ",f";
  }
  SmallVector<Value> operands{address};
  llvm::append_range(operands, words);
  e.ptx("st.shared::cluster.v" + std::to_string(words.size()) + ".f32 [$0+" +
            std::to_string(bytes) + "], {" + list + "};",
        constraints, {}, operands);
}

/// Waits for the first phase of a barrier that another CTA arrives on.
static void waitForOther(NVVMEmitter &e, Value barrier) {
  e.ptx("{\n.reg .pred done;\nretry:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [$0], "
        "0;\n@!done bra retry;\n}",
        "r", {}, barrier);
}

LogicalResult mla_gpu::emitExchange(NVVMEmitter &e, ExchangeOp op) {
  Type i32 = e.b.getI32Type(), f32 = e.b.getF32Type();
  ArrayRef<Value> all = e.registers(op.getValue());
  ArrayRef<Value> rows = e.registers(op.getRows());
  // Columns are along M, whose tiles lie one behind the other.
  size_t half = all.size() / 2;
  Value rank = e.ptx("mov.u32 $0, %cluster_ctarank;", "=r", i32, {},
                     /*pure=*/true)
                   .front();
  Value isSecond = e.cmp(arith::CmpIPredicate::ne, rank, e.i32(0));
  SmallVector<Value> mine, sent;
  for (auto [low, high] :
       llvm::zip_equal(all.take_front(half), all.drop_front(half))) {
    mine.push_back(e.select(isSecond, high, low));
    sent.push_back(e.select(isSecond, low, high));
  }
  llvm::append_range(sent, rows);

  Value other = e.xori(rank, e.i32(1));
  const PeerBarriers &barriers = e.peerBarriers();
  // This CTA's memory is free, when all of its warps have said so.
  e.ptx("bar.warp.sync -1;\n"
        "@$1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];",
        "r,b", {},
        {addressAt(e, barriers.ready, other),
         e.cmp(arith::CmpIPredicate::eq, e.lane(), e.i32(0))});
  Value here = e.tile(op.getTile()).address;
  waitForOther(e, barriers.ready);
  ExchangeWords(e, addressAt(e, here, other), half, rows.size())
      .forEach([&](Value address, int64_t bytes, int64_t first, int64_t count) {
        sendWords(e, address, bytes, ArrayRef(sent).slice(first, count));
      });
  e.ptx("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];", "r", {},
        addressAt(e, barriers.full, other));
  waitForOther(e, barriers.full);

  SmallVector<Value> received;
  ExchangeWords(e, here, half, rows.size())
      .forEach([&](Value address, int64_t bytes, int64_t, int64_t count) {
        Value pointer = advance(e, sharedPointer(e, address), bytes);
        llvm::append_range(received, loadWords(e, pointer, f32, count));
      });
  e.map(op.getMine(), mine);
  e.map(op.getTheirs(), ArrayRef(received).take_front(half));
  e.map(op.getTheirRows(), ArrayRef(received).drop_front(half));
  int64_t columns =
      cast<RankedTensorType>(op.getMine().getType()).getDimSize(1);
  e.map(op.getColumn(), e.mul(rank, e.i32(columns)));
  return success();
}
