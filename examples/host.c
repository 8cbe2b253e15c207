/*
 * A host application: one step of DeepSeek-V3's decode (a small one) on the
 * CPU. Build it with: cc host.c $(pkg-config --cflags --libs mla_jit)
 */
#include "mla_jit/mla_jit.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, HEADS = 16, D_QK = 576, D_V = 512, PAGE = 64, PAGES = 4 };

static mla_tensor tensor(void *data, int32_t dtype, int32_t rank, int64_t s0,
                         int64_t s1, int64_t s2, int64_t s3) {
  mla_tensor t = {data, dtype, rank, {s0, s1, s2, s3}, {0}};
  int64_t stride = 1;
  for (int i = rank; i-- > 0; stride *= t.shape[i])
    t.stride[i] = stride;
  return t;
}

static int check(mla_code code, const mla_status *status) {
  if (code != MLA_OK)
    fprintf(stderr, "%s: %s\n", mla_code_name(code), status->message);
  return code == MLA_OK;
}

int main(void) {
  mla_engine *engine;
  mla_kernel *kernel;
  mla_status status;
  mla_spec spec;
  mla_sizes sizes;
  mla_args args;
  MLA_INIT(&status);
  MLA_INIT(&spec);
  MLA_INIT(&sizes);
  MLA_INIT(&args);

  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_F32;
  spec.h_q = HEADS, spec.h_kv = 1, spec.d_qk = D_QK, spec.d_v = D_V;
  spec.table_kind = MLA_TABLE_DENSE, spec.page_size = PAGE;
  spec.mask = MLA_MASK_CAUSAL;
  if (!check(mla_engine_create(NULL, &engine, &status), &status) ||
      !check(mla_prepare(engine, &spec, &kernel, &status), &status) ||
      !check(mla_sizes_for(engine, &spec, BATCH, BATCH, &sizes, &status),
             &status))
    return 1;

  /* Each key's first column is its number, the query is 0: so the mean of the
     keys' numbers comes out. */
  float *q = calloc((size_t)BATCH * HEADS * D_QK, sizeof *q);
  float *k = calloc((size_t)PAGES * PAGE * D_QK, sizeof *k);
  float *out = calloc((size_t)BATCH * HEADS * D_V, sizeof *out);
  int32_t lens[BATCH] = {100, 3}, table[BATCH][2] = {{2, 0}, {1, 3}};
  for (int i = 0; i < PAGES * PAGE; ++i)
    k[(size_t)i * D_QK] = (float)i;

  args.batch = BATCH, args.total_q = BATCH, args.q_len = 1;
  args.q = tensor(q, MLA_F32, 3, BATCH, HEADS, D_QK, 0);
  args.k = tensor(k, MLA_F32, 4, PAGES, PAGE, 1, D_QK);
  args.out = tensor(out, MLA_F32, 3, BATCH, HEADS, D_V, 0);
  args.seq_lens = tensor(lens, MLA_I32, 1, BATCH, 0, 0, 0);
  args.table = tensor(table, MLA_I32, 2, BATCH, 2, 0, 0);
  args.softmax_scale = 0.1f;
  args.workspace_bytes = sizes.workspace_bytes;
  char *memory = malloc(sizes.workspace_bytes + sizes.alignment);
  args.workspace =
      memory + sizes.alignment - (uintptr_t)memory % sizes.alignment;
  if (!check(mla_launch(kernel, NULL, &args, &status), &status))
    return 1;
  printf("mean key: %.2f %.2f\n", out[0], out[(size_t)HEADS * D_V]);

  free(memory), free(q), free(k), free(out);
  mla_kernel_release(kernel);
  mla_engine_destroy(engine);
  return 0;
}
