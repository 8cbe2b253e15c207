//===- Oracle.cpp - Attention in plain f64 loops --------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Two steps. First, on one thread, every request is reduced to what attention
// needs: its rows of q and, for each key that some query sees, the page and
// slot that hold it. Then attention is evaluated row by row from the textbook:
// all scores of a row, their maximum, the exponentials, the weighted sum. There
// is no splitting and no rescaling, so nothing is shared with what is checked
// here but the definition.
//
//===----------------------------------------------------------------------===//

#include "mla/Oracle/Oracle.h"

#include "Elements.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

using namespace mla_jit;
using namespace mla_jit::oracle;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Where a key is in k and k_rope; page < 0: no query sees it.
struct Slot {
  int64_t page = -1, slot = 0;
};

struct Request {
  int64_t firstRow = 0; ///< of the result
  int64_t numQueries = 0;
  int64_t numKeys = 0;
  std::vector<Slot> slots; ///< [numKeys]

  /// Bottom-right alignment: the last query is at the last key.
  int64_t position(int64_t query) const { return numKeys - numQueries + query; }
};

/// The unit of parallel work: some heads of one KV head for one query.
struct Item {
  int64_t request, query, firstHead, lastHead;
};

class Evaluation {
public:
  explicit Evaluation(const Problem &problem) : p(problem) {}
  Result run();

private:
  // Reading the problem. Each returns false after setting result.error.
  bool checkShapes();
  bool readRequests();
  bool locateKeys(int64_t b, Request &request);
  bool locatePage(int64_t b, int64_t page, int64_t &id);
  bool fail(std::string message) {
    result.error = std::move(message);
    return false;
  }

  bool visible(int64_t q, int64_t k) const { return !p.mask || p.mask(q, k); }
  void loadQuery(int64_t b, int64_t query, int64_t head, double *row) const;
  void loadKey(Slot slot, int64_t kvHead, double *row) const;
  void evaluate(const Item &item);

  const Problem &p;
  Result result;
  std::vector<Request> requests;
  int64_t numHeads = 0, numKVHeads = 0, headDim = 0;
  bool ragged = false, paged = false, csr = false;
};

} // namespace

static std::string str(int64_t value) { return std::to_string(value); }

static bool isFloat(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

//===----------------------------------------------------------------------===//
// Reading the problem
//===----------------------------------------------------------------------===//

bool Evaluation::checkShapes() {
  ragged = p.qOffsets.given();
  csr = p.kvIndptr.given();
  paged = csr || p.table.given();

  struct Required {
    const char *name;
    const Tensor &tensor;
    bool floats;
    int rank;
    bool optional;
  };
  const int qRank = ragged ? 3 : 4;
  for (const Required &r : {Required{"q", p.q, true, qRank, false},
                            {"q_rope", p.qRope, true, qRank, true},
                            {"k", p.k, true, 4, false},
                            {"k_rope", p.kRope, true, 4, true},
                            {"table", p.table, false, 2, true},
                            {"kv_indptr", p.kvIndptr, false, 1, true},
                            {"kv_indices", p.kvIndices, false, 1, !csr},
                            {"table_rows", p.tableRows, false, 1, true},
                            {"seq_lens", p.seqLens, false, 1, false},
                            {"q_offsets", p.qOffsets, false, 1, true}}) {
    if (!r.tensor.given() && r.optional)
      continue;
    bool rightType =
        r.floats ? isFloat(r.tensor.dtype)
                 : r.tensor.dtype == DType::I32 || r.tensor.dtype == DType::I64;
    if (!rightType || r.tensor.rank != r.rank)
      return fail("tensor '" + std::string(r.name) + "': requires " +
                  (r.floats ? "floats" : "integers") + " of rank " +
                  str(r.rank) + ", but got " + r.tensor.describe());
  }

  for (auto [rope, whole] :
       {std::pair{&p.qRope, &p.q}, std::pair{&p.kRope, &p.k}})
    for (int dim = 0; rope->given() && dim < rope->rank - 1; ++dim)
      if (rope->shape[dim] != whole->shape[dim])
        return fail("rope tensor: requires the leading shape of " +
                    whole->describe() + ", but got " + rope->describe());

  const int last = qRank - 1;
  numHeads = p.q.shape[last - 1];
  numKVHeads = p.k.shape[2];
  headDim = p.q.shape[last] + (p.qRope.given() ? p.qRope.shape[last] : 0);
  int64_t keyDim = p.k.shape[3] + (p.kRope.given() ? p.kRope.shape[3] : 0);
  if (headDim != keyDim)
    return fail("tensor 'k': requires " + str(headDim) +
                " columns, with k_rope, as q has, but got " + str(keyDim));
  if (p.headDimV < 0 || p.headDimV > headDim)
    return fail("head_dim_v: requires at most " + str(headDim) + ", but got " +
                str(p.headDimV));
  if (paged && p.k.shape[1] < 1)
    return fail("tensor 'k': requires a page size of at least 1, but got " +
                str(p.k.shape[1]));
  if (numKVHeads < 1 || numHeads % numKVHeads != 0)
    return fail("tensor 'k': requires a number of heads that divides the " +
                str(numHeads) + " of q, but got " + str(numKVHeads));
  return true;
}

bool Evaluation::readRequests() {
  const int64_t batch = p.seqLens.shape[0];
  if (!ragged && p.q.shape[0] != batch)
    return fail("tensor 'q': requires " + str(batch) +
                " requests as seq_lens has, but got " + str(p.q.shape[0]));
  if (ragged && p.qOffsets.shape[0] != batch + 1)
    return fail("tensor 'q_offsets': requires " + str(batch + 1) +
                " elements, but got " + str(p.qOffsets.shape[0]));

  result.rows = ragged ? p.q.shape[0] : batch * p.q.shape[1];
  result.heads = numHeads;
  result.headDimV = p.headDimV;
  result.written.assign(result.rows, 0);

  requests.resize(batch);
  for (int64_t b = 0; b < batch; ++b) {
    Request &request = requests[b];
    if (ragged) {
      int64_t begin = loadInt(p.qOffsets, b * p.qOffsets.stride[0]);
      int64_t end = loadInt(p.qOffsets, (b + 1) * p.qOffsets.stride[0]);
      if (begin < 0 || begin > end || end > result.rows)
        return fail("tensor 'q_offsets': requires ascending rows up to " +
                    str(result.rows) + ", but got [" + str(begin) + ", " +
                    str(end) + "] for request " + str(b));
      request.firstRow = begin;
      request.numQueries = end - begin;
    } else {
      request.firstRow = b * p.q.shape[1];
      request.numQueries = p.q.shape[1];
    }
    request.numKeys =
        std::max<int64_t>(0, loadInt(p.seqLens, b * p.seqLens.stride[0]));
    std::fill_n(result.written.begin() + request.firstRow, request.numQueries,
                1);
    if (!locateKeys(b, request))
      return false;
  }
  return true;
}

bool Evaluation::locateKeys(int64_t b, Request &request) {
  const int64_t pageSize = p.k.shape[1]; // dense: the slots of a request
  request.slots.resize(request.numKeys);
  int64_t page = -1, id = -1; // the page looked up last
  for (int64_t k = 0; k < request.numKeys; ++k) {
    bool seen = false;
    for (int64_t i = 0; i < request.numQueries && !seen; ++i)
      seen = visible(request.position(i), k);
    if (!seen)
      continue;
    if (!paged && k >= pageSize)
      return fail("tensor 'k': requires " + str(request.numKeys) +
                  " slots for request " + str(b) + ", but got " +
                  str(pageSize));
    if (!paged) {
      request.slots[k] = {b, k};
      continue;
    }
    if (k / pageSize != page) {
      page = k / pageSize;
      if (!locatePage(b, page, id))
        return false;
    }
    request.slots[k] = {id, k % pageSize};
  }
  return true;
}

/// Looks up the id of a page of request b.
bool Evaluation::locatePage(int64_t b, int64_t page, int64_t &id) {
  int64_t row = b;
  if (p.tableRows.given())
    row = loadInt(p.tableRows, b * p.tableRows.stride[0]);
  const int64_t numRows = csr ? p.kvIndptr.shape[0] - 1 : p.table.shape[0];
  if (row < 0 || row >= numRows)
    return fail("table row of request " + str(b) + ": requires one of " +
                str(numRows) + ", but got " + str(row));

  int64_t begin = 0;
  int64_t end = p.table.shape[1];
  if (csr) {
    begin = loadInt(p.kvIndptr, row * p.kvIndptr.stride[0]);
    end = loadInt(p.kvIndptr, (row + 1) * p.kvIndptr.stride[0]);
    if (begin < 0 || end > p.kvIndices.shape[0])
      return fail("tensor 'kv_indptr': requires ranges within the " +
                  str(p.kvIndices.shape[0]) + " elements of kv_indices, " +
                  "but got [" + str(begin) + ", " + str(end) +
                  "] for request " + str(b));
  }
  if (begin + page >= end)
    return fail("table row of request " + str(b) + ": requires " +
                str(page + 1) + " pages, but got " + str(end - begin));
  id = csr ? loadInt(p.kvIndices, (begin + page) * p.kvIndices.stride[0])
           : loadInt(p.table,
                     row * p.table.stride[0] + page * p.table.stride[1]);
  if (id < 0 || id >= p.k.shape[0])
    return fail("page " + str(page) + " of request " + str(b) +
                ": requires one of " + str(p.k.shape[0]) +
                " pages, but got page id " + str(id));
  return true;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

void Evaluation::loadQuery(int64_t b, int64_t query, int64_t head,
                           double *row) const {
  for (const Tensor *part : {&p.q, &p.qRope}) {
    if (!part->given())
      continue;
    const Tensor &t = *part;
    const int last = t.rank - 1;
    int64_t offset = ragged ? (requests[b].firstRow + query) * t.stride[0]
                            : b * t.stride[0] + query * t.stride[1];
    offset += head * t.stride[last - 1];
    loadFloats(t, offset, t.stride[last], t.shape[last], row);
    row += t.shape[last];
  }
}

void Evaluation::loadKey(Slot slot, int64_t kvHead, double *row) const {
  for (const Tensor *part : {&p.k, &p.kRope}) {
    if (!part->given())
      continue;
    const Tensor &t = *part;
    int64_t offset = slot.page * t.stride[0] + slot.slot * t.stride[1] +
                     kvHead * t.stride[2];
    loadFloats(t, offset, t.stride[3], t.shape[3], row);
    row += t.shape[3];
  }
}

/// Eight partial sums, so that the additions do not wait for each other.
static double dot(const double *x, const double *y, int64_t count) {
  double sums[8] = {};
  int64_t c = 0;
  for (; c + 8 <= count; c += 8)
    for (int lane = 0; lane < 8; ++lane)
      sums[lane] += x[c + lane] * y[c + lane];
  for (; c < count; ++c)
    sums[0] += x[c] * y[c];
  double sum = 0;
  for (double partial : sums)
    sum += partial;
  return sum;
}

void Evaluation::evaluate(const Item &item) {
  const Request &request = requests[item.request];
  const int64_t heads = item.lastHead - item.firstHead;
  const int64_t kvHead = item.firstHead / (numHeads / numKVHeads);
  const int64_t position = request.position(item.query);

  std::vector<int64_t> keys;
  for (int64_t k = 0; k < request.numKeys; ++k)
    if (visible(position, k))
      keys.push_back(k);
  const int64_t numKeys = keys.size();

  std::vector<double> queries(heads * headDim);
  for (int64_t h = 0; h < heads; ++h)
    loadQuery(item.request, item.query, item.firstHead + h,
              &queries[h * headDim]);

  // All scores of each row, and their maximum.
  std::vector<double> scores(heads * numKeys), maxima(heads, -kInf);
  std::vector<double> key(headDim);
  double longestKey = 0; // squared
  for (int64_t n = 0; n < numKeys; ++n) {
    loadKey(request.slots[keys[n]], kvHead, key.data());
    if (p.wantsMagnitudes)
      longestKey = std::max(longestKey, dot(key.data(), key.data(), headDim));
    for (int64_t h = 0; h < heads; ++h) {
      double score = p.scale * dot(&queries[h * headDim], key.data(), headDim);
      if (p.scoreMod)
        score = p.scoreMod(item.request, item.firstHead + h, position, keys[n],
                           score);
      scores[h * numKeys + n] = score;
      maxima[h] = std::max(maxima[h], score);
    }
  }

  // Their exponentials, and the sum of the values that these weigh.
  std::vector<double> sums(heads, 0.0), out(heads * p.headDimV, 0.0),
      magnitudes(p.wantsMagnitudes ? out.size() : 0, 0.0);
  for (int64_t n = 0; n < numKeys; ++n) {
    loadKey(request.slots[keys[n]], kvHead, key.data());
    for (int64_t h = 0; h < heads; ++h) {
      double score = scores[h * numKeys + n];
      if (score == -kInf) // hidden by the score modification
        continue;
      double weight = std::exp(score - maxima[h]);
      sums[h] += weight;
      for (int64_t c = 0; c < p.headDimV; ++c)
        out[h * p.headDimV + c] += weight * key[c];
      for (int64_t c = 0; p.wantsMagnitudes && c < p.headDimV; ++c)
        magnitudes[h * p.headDimV + c] += weight * std::fabs(key[c]);
    }
  }

  for (int64_t h = 0; h < heads; ++h) {
    int64_t row =
        (request.firstRow + item.query) * numHeads + item.firstHead + h;
    // The greatest score has weight 1, so the sum is 0 only without a key.
    result.lse[row] = sums[h] == 0 ? -kInf : maxima[h] + std::log(sums[h]);
    for (int64_t c = 0; c < p.headDimV; ++c)
      result.out[row * p.headDimV + c] =
          sums[h] == 0 ? 0.0 : out[h * p.headDimV + c] / sums[h];
    if (!p.wantsMagnitudes)
      continue;
    const double *query = &queries[h * headDim];
    result.logitMagnitude[row] =
        std::fabs(p.scale) * std::sqrt(dot(query, query, headDim) * longestKey);
    for (int64_t c = 0; c < p.headDimV; ++c)
      result.outMagnitude[row * p.headDimV + c] =
          sums[h] == 0 ? 0.0 : magnitudes[h * p.headDimV + c] / sums[h];
  }
}

Result Evaluation::run() {
  if (!checkShapes() || !readRequests()) {
    Result failed;
    failed.error = std::move(result.error);
    return failed;
  }
  result.out.assign(result.rows * numHeads * p.headDimV, kNaN);
  result.lse.assign(result.rows * numHeads, kNaN);
  if (p.wantsMagnitudes) {
    result.outMagnitude.assign(result.out.size(), 0.0);
    result.logitMagnitude.assign(result.lse.size(), 0.0);
  }

  // A key is converted once for all heads of an item: many heads save work, few
  // keep all cores busy.
  constexpr int64_t kMostHeads = 16;
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  int64_t queries = 0;
  for (const Request &request : requests)
    queries += request.numQueries;
  const int64_t headsPerItem =
      std::clamp<int64_t>(queries * numHeads / (2 * cores), 1, kMostHeads);
  const int64_t group = numHeads / numKVHeads;
  std::vector<Item> items;
  for (int64_t b = 0; b < int64_t(requests.size()); ++b)
    for (int64_t i = 0; i < requests[b].numQueries; ++i)
      for (int64_t h = 0; h < numHeads; h += group)
        for (int64_t first = h; first < h + group; first += headsPerItem)
          items.push_back(
              {b, i, first, std::min(first + headsPerItem, h + group)});

  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t item; (item = next++) < items.size();)
      evaluate(items[item]);
  };
  size_t numWorkers = std::min<size_t>(cores, items.size());
  std::vector<std::thread> workers(numWorkers > 1 ? numWorkers - 1 : 0);
  for (std::thread &worker : workers)
    worker = std::thread(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  return std::move(result);
}

Result oracle::evaluate(const Problem &problem) {
  return Evaluation(problem).run();
}
