/*===- mla_jit.h - The C interface of mla-jit ---------------------*- C -*-===*\
|*                                                                            *|
|* Part of the mla-jit project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

/*
 * C99 and C++. An engine compiles attention decode kernels for one target, a
 * spec says what is compiled in, a kernel is launched with arguments.
 *
 * Rules of all functions:
 * - A result is an mla_code; `status` (may be null) says more. Nothing is
 *   thrown or printed, and no wrong or null argument ends the process.
 * - Structs begin with `size`, which the caller sets (MLA_INIT). Fields are
 *   only ever added at the end; a field that the library does not know has to
 *   be 0 (else MLA_E_VERSION).
 * - Fields of what no kernel can do yet are refused with a reason
 *   (MLA_E_UNSUPPORTED), never ignored.
 * - Any thread may call with any handle. Destroy and release end a handle.
 * - One environment variable is read: MLA_JIT_CACHE_DIR, where
 *   mla_engine_options.cache_dir is null.
 */

#ifndef MLA_JIT_MLA_JIT_H
#define MLA_JIT_MLA_JIT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(MLA_JIT_BUILDING)
#define MLA_API __attribute__((visibility("default")))
#else
#define MLA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroes a struct and sets its size: MLA_INIT(&spec). */
#define MLA_INIT(pointer)                                                      \
  (memset((pointer), 0, sizeof *(pointer)),                                    \
   (void)((pointer)->size = (uint32_t)sizeof *(pointer)))

/* Major << 16 | minor << 8 | patch: of the header, and of the library. */
#define MLA_VERSION 0x000100u
MLA_API uint32_t mla_version(void);

typedef struct mla_engine mla_engine;
typedef struct mla_kernel mla_kernel;
typedef struct mla_archive mla_archive;

/*===----------------------------------------------------------------------===*\
|* Status
\*===----------------------------------------------------------------------===*/

typedef enum {
  MLA_OK,
  MLA_E_INVALID,     /* an argument or field; `argument` names it */
  MLA_E_UNSUPPORTED, /* can be said, but there is no kernel for it: why */
  MLA_E_FORBIDDEN,   /* the policy forbids to compile */
  MLA_E_CAPTURING,   /* illegal while the stream is being captured */
  MLA_E_COMPILE,     /* `stage` of the compiler, with its diagnostics */
  MLA_E_TIMEOUT,
  MLA_E_WORKSPACE,   /* workspace or sync: too small, null, badly aligned */
  MLA_E_VERSION,     /* a struct of an older or newer header */
  MLA_E_NO_DRIVER,   /* no CUDA driver, or no such device */
  MLA_E_DEVICE,      /* the driver refused: `driver_code` */
  MLA_E_DEVICE_LOST, /* a sticky error, perhaps of another kernel */
  MLA_E_OOM,
  MLA_E_FORKED, /* a handle with device state of the parent process */
  MLA_E_ARCHIVE,
  MLA_E_NOT_FOUND /* mla_lookup: would have to be compiled */
} mla_code;

typedef struct mla_status {
  uint32_t size;
  int32_t code;        /* mla_code */
  int32_t driver_code; /* CUresult; 0: the driver was not the reason */
  char stage[16];      /* of a compilation, or "" */
  char argument[32];   /* parameter or field that is wrong, or "" */
  char message[512];   /* what was required and what was given; as much as fits
                          (of compilations mla_log.message is whole) */
  char dump_path[256]; /* file with the IR or PTX that the stage of a kernel's
                          compilation failed on, where there is a cache_dir,
                          or "". The last 16 are kept */
} mla_status;

/* "MLA_E_INVALID". */
MLA_API const char *mla_code_name(int32_t code);

/*===----------------------------------------------------------------------===*\
|* Engine
\*===----------------------------------------------------------------------===*/

typedef enum {
  MLA_POLICY_ALLOW,
  MLA_POLICY_WARN,
  MLA_POLICY_FORBID
} mla_policy;
typedef enum { MLA_CACHE_RW, MLA_CACHE_RO, MLA_CACHE_OFF } mla_cache_mode;
/* Who else may be able to write to the directory: nobody, or its group. */
typedef enum { MLA_TRUST_OWNER, MLA_TRUST_GROUP } mla_cache_trust;

/* Which assemblers of GPU kernels have to make right code of two small decodes,
   on the device, before their code is used: about a second, and what passed is
   remembered in cache_dir. One that fails: MLA_E_DEVICE. */
typedef enum {
  MLA_SELF_CHECK_UNVERIFIED, /* those the library was not verified with */
  MLA_SELF_CHECK_NEVER,
  MLA_SELF_CHECK_ALWAYS
} mla_self_check;

typedef enum {
  MLA_EVENT_COMPILED,
  MLA_EVENT_COMPILED_LATE, /* under MLA_POLICY_WARN */
  MLA_EVENT_COMPILE_FAILED,
  MLA_EVENT_FORBIDDEN,
  MLA_EVENT_CACHE_WARNING,
  MLA_EVENT_SELF_CHECK /* of an assembler: done, or why not */
} mla_event;

/* Valid during the call. */
typedef struct mla_log {
  uint32_t size;
  int32_t event;       /* mla_event */
  double seconds;      /* that a compilation took */
  const char *message; /* whole, however long. Of MLA_EVENT_FORBIDDEN it ends in
                          the text of the spec, see mla_spec_to_text: what the
                          list for mla_archive_build lacks */
  const char *digest;  /* of the kernel's key, or "" */
  const char *key;     /* all that the kernel depends on, or "" */
} mla_log;

/* 0 or null is the default of each field. */
typedef struct mla_engine_options {
  uint32_t size;
  int32_t device;     /* the driver's number of the GPU */
  const char *target; /* "host" (default), "host:<cpu of LLVM>", "cuda" (the
                         device's chip), "cuda:sm_90a" */
  int32_t num_sms;    /* SMs (host: threads) to use; 0: all (host: by affinity
                         and quota). A kernel of a GPU that does row blocks side
                         by side takes as many at least: see
                         mla_kernel_info.num_workers. With a chip and this, sizes
                         need no driver */
  int32_t memory_entries;  /* kernels kept that nobody holds; 0: 64 */
  const char *cache_dir;   /* null: $MLA_JIT_CACHE_DIR, else none; "": none */
  uint64_t cache_bytes;    /* 0: 2 GiB */
  int32_t cache_mode;      /* mla_cache_mode */
  int32_t cache_trust;     /* mla_cache_trust */
  int32_t compile_threads; /* for many specs; 0: by affinity and quota */
  int32_t jit_policy;      /* mla_policy, until mla_engine_set_policy */
  uint32_t compile_timeout_ms; /* of one, and of ptxas; 0: 60 s */
  uint32_t
      peer_wait_ms; /* for another process that compiles the same; 0: 60 s */
  /* On the thread of the call that it is of, at its end: nobody waits for it,
     and it may call the engine. */
  void (*log)(void *user, const mla_log *event);
  void *log_user;
  int32_t self_check; /* mla_self_check */
  /* CUDA: launches that kernels keep, by stream and arguments, as graphs that
     are made when they are loaded. One that comes again, as those of a model's
     layers do at each step, needs no checks, and the driver is told nothing.
     Each takes 96 KiB of the device's memory; a kernel has up to 128, and as
     many for pairs of CTAs and for a shared schedule, but of each kind no more
     than fit into an eighth of what is free. 0: 512; -1: none */
  int32_t launch_graphs;
  /* CUDA: absolute path of the assembler that makes machine code where there is
     no device, in mla_archive_build and mla_compile. Null:
     /usr/local/cuda/bin/ptxas, if that is there; "": none. PATH is not looked
     at. Its files are in /tmp, or else in cache_dir */
  const char *ptxas;
} mla_engine_options;

/* Asks no driver. `options` null: all defaults. */
MLA_API mla_code mla_engine_create(const mla_engine_options *options,
                                   mla_engine **engine, mla_status *status);
/* Null is legal. Its kernels may outlive it; its archives must not. */
MLA_API void mla_engine_destroy(mla_engine *engine);
MLA_API mla_code mla_engine_set_policy(mla_engine *engine, int32_t policy,
                                       mla_status *status);

typedef struct mla_counters {
  uint32_t size, reserved;
  uint64_t memory_hits, memory_misses, evictions;
  uint64_t archive_hits, disk_hits;
  uint64_t compiles, compile_failures, compile_ns; /* an event for each */
  uint64_t forbidden;
  uint64_t stored, store_failures, damaged; /* on disk */
  uint64_t peer_waits, peer_timeouts;
  uint64_t kernels_in_memory;
  uint64_t launches, launch_failures;
} mla_counters;
MLA_API mla_code mla_engine_counters(mla_engine *engine, mla_counters *counters,
                                     mla_status *status);
/* Unloads the kernels that nobody holds; *unloaded (may be null): how many. */
MLA_API mla_code mla_engine_trim(mla_engine *engine, uint64_t *unloaded,
                                 mla_status *status);

/* What an engine compiles for. Asks the driver only where the target has no
   chip. MLA_E_INVALID: a CPU or chip that does not exist. */
typedef struct mla_target_info {
  uint32_t size;
  int32_t num_workers; /* threads, or SMs that are used. Target with a chip:
                          mla_engine_options.num_sms (0: all of a device);
                          "cuda": 0 if there is no device */
  char name[64];       /* LLVM's name of the CPU, or the chip of the GPU */
  /* Of a CPU; of a GPU 0. */
  int32_t vector_bits, vector_registers;
  int64_t l1_bytes, l2_bytes;
} mla_target_info;
MLA_API mla_code mla_engine_get_target(mla_engine *engine,
                                       mla_target_info *info,
                                       mla_status *status);

/* The GPU of mla_engine_options.device, or why there is none. */
typedef struct mla_device_info {
  uint32_t size;
  int32_t num_sms;
  char name[128];       /* "NVIDIA H200" */
  char chip[16];        /* "sm_90a" */
  char driver[32];      /* "CUDA 13.0", whose assembler makes machine code */
  int64_t shared_bytes; /* that a CTA may have */
  int64_t l2_bytes, memory_bytes;
  int32_t is_verified; /* this release was verified with the assembler */
  int32_t reserved;
} mla_device_info;
MLA_API mla_code mla_engine_get_device(mla_engine *engine,
                                       mla_device_info *info,
                                       mla_status *status);

/*===----------------------------------------------------------------------===*\
|* Spec: what is compiled in
\*===----------------------------------------------------------------------===*/

typedef enum {
  MLA_NONE,
  MLA_F32,
  MLA_F16,
  MLA_BF16,
  MLA_E4M3,
  MLA_U8,
  MLA_I32,
  MLA_I64
} mla_dtype;

/* Rows of the KV cache; named, never guessed from strides. */
typedef enum {
  MLA_KV_PLAIN,
  MLA_KV_ROW_640,    /* 512 e4m3 + 64 bf16 */
  MLA_KV_ROW_656,    /* 512 e4m3 + 4 f32 + 64 bf16 */
  MLA_KV_PLANAR_584, /* by page: 448 e4m3 + 64 bf16, then 8 bytes of scales */
  MLA_KV_PLANAR_528  /* by page: 512 e4m3, then 16 ue8m0 */
} mla_kv_format;

typedef enum {
  MLA_TABLE_NONE,  /* dense: k is [batch, keys, h_kv, d] */
  MLA_TABLE_DENSE, /* k is [pages, page_size, h_kv, d]; table [batch, columns]
                    */
  MLA_TABLE_CSR,   /* the same; kv_indptr [batch + 1] into kv_indices */
  MLA_TABLE_TOKENS /* sparse: indices of keys for each query */
} mla_table_kind;

typedef enum {
  MLA_DECODE, /* mla_launch */
  MLA_MERGE   /* mla_merge */
} mla_operation;

/* Bits of mla_spec.mask. */
#define MLA_MASK_CAUSAL 1u /* query i of n sees keys up to kv_len - n + i */
#define MLA_MASK_WINDOW 2u /* with CAUSAL: of these the last `window` */
#define MLA_MASK_CHUNK 4u  /* only keys of the query's chunk */
#define MLA_MASK_TREE 8u   /* mask bits for each pair of new tokens */
#define MLA_MASK_ADDITIVE 16u

/* Bits of mla_spec.features. */
#define MLA_FEATURE_RAGGED_Q 1u   /* q is [total_q, h_q, d], by q_offsets */
#define MLA_FEATURE_TABLE_ROWS 2u /* request -> row through table_rows */
/* A row's bits depend on neither batch nor SMs. */
#define MLA_FEATURE_BATCH_INVARIANT 4u
/* q, k, v and out may begin, and have strides, off multiples of 16 bytes:
   slower. A launch of a kernel without it refuses those on CUDA, and a spec
   with it a schedule that needs alignment. */
#define MLA_FEATURE_UNALIGNED 8u
#define MLA_FEATURE_SOFTCAP 16u
#define MLA_FEATURE_ALIBI 32u
#define MLA_FEATURE_SINK 64u
#define MLA_FEATURE_SCALE_DEVICE 128u /* scale_dev */
#define MLA_FEATURE_KV_SCALES 256u    /* q_scale, k_scale, ... */
#define MLA_FEATURE_KV_START 512u
#define MLA_FEATURE_EXTRA_KV 1024u
#define MLA_FEATURE_CONTEXT_PARALLEL 2048u
/* CUDA: layers of a step may share what mla_schedule makes. Launches without
   that have one kernel more, and no MLA_LAUNCH_PDL_WAIT. */
#define MLA_FEATURE_SHARED_SCHEDULE 4096u

/*
 * A value: two specs of equal fields are the same kernel, and so are two whose
 * code would be: of other maxima, say. The maxima at the end size buffers, and
 * max_q_len stands in for `queries`. Strings are read during the call.
 */
typedef struct mla_spec {
  uint32_t size;
  int32_t q_dtype, kv_dtype, out_dtype; /* mla_dtype: F32, F16, BF16 */
  const char *target;                   /* null, or the engine's */
  int32_t kv_format;                    /* mla_kv_format */
  int32_t h_q, h_kv;
  int32_t d_qk, d_v; /* multiples of 8; V is the first d_v columns of K */
  int32_t d_rope;    /* 0, or the last columns of q and k, that may be tensors
                        of their own (q_rope, k_rope) */
  int32_t separate_v;
  int32_t page_size, extra_page_size;
  int32_t table_kind;                /* mla_table_kind */
  int32_t table_dtype, length_dtype; /* I32 (also for MLA_NONE) or I64 */
  uint32_t mask, features;
  int32_t queries;   /* a request is expected to have; any number is right. 0:
                        max_q_len, at most 16 (1 if that is 0). On CUDA the
                        schedule is chosen for it: numbers that lead to the same
                        one are one kernel. Else it is not compiled in */
  int32_t operation; /* mla_operation. MLA_MERGE takes out_dtype, h_q, d_v and
                        symbol; other fields are 0 (target, maxima: any) */
  /* MLIR over %b, %h, %qpos, %kpos (i32) and %score (f32, scaled), ending in
     mla.yield; "(%a: f32, %t: memref<?xf32>) ..." has launch arguments of
     these names (none of a field of mla_args; at most 15), see mla_args.named.
   */
  const char *score_mod;
  const char *mask_mod;
  const char *schedule; /* "#mla.schedule<...>", or null: chosen */
  const char *symbol;   /* what the names of kernels begin with; null:
                           "mla_decode", as in
                           mla_decode_sm90a_bf16_h16_d576_512_1f3a5b7c */
  /* Maxima. */
  int32_t max_batch, max_total_q, max_q_len, max_splits;
  int64_t max_kv_len;
} mla_spec;

/* The canonical text, one "field = value" a line. *bytes: in, what `text` has
   room for; out, what it takes with its 0. Null text asks for that alone. */
MLA_API mla_code mla_spec_to_text(const mla_spec *spec, char *text,
                                  size_t *bytes, mla_status *status);
/* The inverse; fields that are not named are 0. Strings live with the engine.
 */
MLA_API mla_code mla_spec_from_text(mla_engine *engine, const char *text,
                                    mla_spec *spec, mla_status *status);

/* MLA_OK, or the reason why not: MLA_E_UNSUPPORTED also of a GPU or CPU without
   kernels, MLA_E_INVALID of one that does not exist. Needs no driver where the
   target has a chip; generates no code. */
MLA_API mla_code mla_is_supported(mla_engine *engine, const mla_spec *spec,
                                  mla_status *status);

typedef struct mla_sizes {
  uint32_t size;
  uint32_t alignment;       /* of workspace and sync, in bytes */
  uint64_t workspace_bytes; /* of any contents, for each launch under way */
  uint64_t sync_bytes;      /* zero before the first launch of a stream */
  uint64_t schedule_bytes;  /* of any contents; 0: there is none */
} mla_sizes;
/* For launches of at most so many requests and query rows (0: the spec's
   maxima), and splits up to max_splits. Grow with each, for the same `queries`.
   UINT64_MAX bytes: more than any memory has; such a launch is refused. */
MLA_API mla_code mla_sizes_for(mla_engine *engine, const mla_spec *spec,
                               int32_t batch, int32_t total_q, mla_sizes *sizes,
                               mla_status *status);

/*===----------------------------------------------------------------------===*\
|* Kernels
\*===----------------------------------------------------------------------===*/

/* From memory, an archive or the disk, or compiled if the policy lets it, and
   loaded. *kernel is the caller's to release, once neither launches nor graphs
   that captured one need it; null on failure. Leaves captures valid. */
MLA_API mla_code mla_prepare(mla_engine *engine, const mla_spec *spec,
                             mla_kernel **kernel, mla_status *status);
/* All of `specs` (structs of specs[0].size each), on several threads. `status`
   is of the first that failed; its kernel is null, others are not. `progress`
   (may be null) is called by this thread; other than 0 ends the work. */
MLA_API mla_code mla_prepare_many(mla_engine *engine, const mla_spec *specs,
                                  int32_t count, mla_kernel **kernels,
                                  int (*progress)(void *user, int32_t done,
                                                  int32_t count),
                                  void *user, mla_status *status);
/* The kernel of an MLIR module at the problem, tile, host, gpu or nvvm level;
   `name` stands in diagnostics for its file. It is compiled each time, and not
   kept: a compilation for policy, counters and events as any other. What a
   module of the last three levels says of itself is trusted. */
MLA_API mla_code mla_prepare_mlir(mla_engine *engine, const char *mlir,
                                  const char *name, mla_kernel **kernel,
                                  mla_status *status);
/* mla_prepare without the compiler: MLA_E_NOT_FOUND, at once also while another
   thread compiles the kernel, or waits for a process that does. It waits for a
   thread that loads it, and loading includes a self-check (mla_self_check). */
MLA_API mla_code mla_lookup(mla_engine *engine, const mla_spec *spec,
                            mla_kernel **kernel, mla_status *status);
MLA_API void mla_kernel_retain(mla_kernel *kernel);
MLA_API void mla_kernel_release(mla_kernel *kernel); /* null is legal */

typedef enum {
  MLA_ORIGIN_COMPILED,
  MLA_ORIGIN_DISK,
  MLA_ORIGIN_ARCHIVE
} mla_origin;

typedef struct mla_kernel_info {
  uint32_t size;
  int32_t origin;      /* mla_origin */
  char target[64];     /* "host:znver4", "cuda:sm_90a" */
  char digest[72];     /* of the key */
  char variant[32];    /* that such a launch takes (with num_splits and
                          max_ctas 0): "only", or where one of two entries is
                          started, "single" or "paired" (clusters of 2 CTAs) */
  char schedule[1024]; /* #mla.schedule */
  char schedule_reason[256];
  char symbol[128];    /* of the first entry */
  int32_t num_entries; /* kernels that a launch starts */
  int32_t num_workers; /* SMs, or threads, that launches use; of a GPU, at least
                          the row_blocks of its schedule */
  int32_t threads, ctas_per_sm; /* GPU, of the first entry */
  int64_t shared_bytes;         /* GPU, dynamic, of the first entry */
  uint64_t code_bytes;          /* object code, cubin, or PTX */
  /* GPU: of the device's memory, the cubin and what launch graphs take. Not
     counted, as the driver does not say: code that it assembles from PTX, and
     what it keeps for itself. */
  uint64_t device_bytes;
  double compile_seconds, load_seconds;
  int32_t num_warnings; /* what makes the code slower than it was meant */
  int32_t num_args;     /* of mla_kernel_get_arg */
  int32_t num_times;    /* of mla_kernel_get_time */
  int32_t is_gpu;       /* takes a stream, and memory of the device */
  char mask[64];        /* "#mla.causal"; "": not known */
} mla_kernel_info;
MLA_API mla_code mla_kernel_get_info(mla_kernel *kernel, int32_t batch,
                                     int32_t total_q, mla_kernel_info *info,
                                     mla_status *status);
/* As mla_sizes_for, for launches of a kernel; all three are at most that many
   (max_splits 0: only automatic ones). */
MLA_API mla_code mla_kernel_get_sizes(mla_kernel *kernel, int32_t batch,
                                      int32_t total_q, int32_t max_splits,
                                      mla_sizes *sizes, mla_status *status);

/* An argument of a kernel, as it is compiled in. */
typedef struct mla_arg_info {
  uint32_t size;
  int32_t is_named;  /* given by mla_args.named; else by other fields */
  int32_t is_tensor; /* else a scalar */
  int32_t dtype;     /* mla_dtype */
  int32_t rank, reserved;
  int64_t shape[4], stride[4]; /* -1: any; strides in elements */
  char name[64];
} mla_arg_info;
/* `index` from 0 to mla_kernel_info.num_args - 1. */
MLA_API mla_code mla_kernel_get_arg(mla_kernel *kernel, int32_t index,
                                    mla_arg_info *info, mla_status *status);

/* What a stage of the compilation took (of a kernel that was compiled by this
   engine), or of the loading ("assemble" of PTX by the driver or "load", and
   "graphs", see mla_engine_options.launch_graphs); of entries side by side, the
   slowest. */
typedef struct mla_stage_time {
  uint32_t size;
  int32_t is_loading; /* done for each engine, wherever the code came from */
  char stage[16];
  double seconds;
} mla_stage_time;
MLA_API mla_code mla_kernel_get_time(mla_kernel *kernel, int32_t index,
                                     mla_stage_time *time, mla_status *status);
/* The text of a warning (spills, an assembler's notice), see
   mla_spec_to_text. */
MLA_API mla_code mla_kernel_get_warning(mla_kernel *kernel, int32_t index,
                                        char *text, size_t *bytes,
                                        mla_status *status);
/* The text or bytes of a stage of the compilation, with a 0 behind them, which
   *bytes counts (see mla_spec_to_text). Host: problem, tile, host, llvm, obj.
   CUDA: problem, tile, gpu, nvvm, llvm, ptx, report (registers, spills), and
   cubin, if the kernel was assembled ahead of time (mla_archive_build). */
MLA_API mla_code mla_kernel_get_stage(mla_kernel *kernel, const char *stage,
                                      char *content, size_t *bytes,
                                      mla_status *status);

/* The text or bytes of a stage, handed to `write` in one call: compiled for
   this alone, neither kept nor loaded, so it needs no device where the target
   has a chip. Stages as of mla_kernel_get_stage, and asm (host), cubin and
   report (by ptxas, else by the device's driver).
   obj, cubin and report take machine code: that is a compilation for policy,
   counters and events. Text is not, whatever the policy: there is an event only
   if it fails, in which the message is whole. */
typedef void (*mla_write)(void *user, const char *content, size_t bytes);
MLA_API mla_code mla_compile(mla_engine *engine, const mla_spec *spec,
                             const char *stage, mla_write write, void *user,
                             mla_status *status);
/* The same of an MLIR module at any level of the compiler; `name` stands in
   diagnostics for its file. */
MLA_API mla_code mla_compile_mlir(mla_engine *engine, const char *mlir,
                                  const char *name, const char *stage,
                                  mla_write write, void *user,
                                  mla_status *status);

/*===----------------------------------------------------------------------===*\
|* Launches
\*===----------------------------------------------------------------------===*/

/* Memory of the caller; strides in elements. dtype MLA_NONE: not given. Data
   may be null where a dimension is 0. */
typedef struct mla_tensor {
  void *data;
  int32_t dtype, rank;
  int64_t shape[4], stride[4];
} mla_tensor;

/* A launch argument of score_mod: a tensor, or (dtype MLA_NONE) a scalar. */
typedef struct mla_named_arg {
  const char *name;
  mla_tensor tensor;
  double scalar;
} mla_named_arg;

/*
 * Bits of mla_args.flags.
 * PDL_WAIT: the launch may begin before the kernel ahead of it in the stream
 * has ended (programmatic stream serialization); every CTA waits for that one
 * before it reads anything, lengths included.
 * PDL_TRIGGER: kernels behind that are launched so may begin before this launch
 * has ended, where that pays. What they read of it, or overwrite, has to come
 * after their own wait (griddepcontrol.wait), as with any such kernel. Without
 * it, or in a kernel of one entry, they begin as it ends.
 * CHECK: for debugging. What kernels trust is read before the launch: lengths,
 * offsets, and the table as far as the kernel would read it. The first value
 * that is out of bounds is an error (MLA_E_INVALID, with argument, request and
 * bounds) and nothing is launched. On a GPU these tensors are copied to the
 * host behind what is in the stream, and the call waits for that: not in a
 * stream that is being captured (MLA_E_UNSUPPORTED).
 */
#define MLA_LAUNCH_PDL_WAIT 1u
#define MLA_LAUNCH_PDL_TRIGGER 2u
#define MLA_LAUNCH_CHECK 4u

/*
 * h is h_q; b, s, t are batch, q_len, total_q.
 * Without RAGGED_Q q, q_rope and out are [b, s, h, d] or [t, h, d], lse is
 * [b, s, h] or [t, h], with t = b * s. With it they are [t, h, d] and [t, h].
 */
typedef struct mla_args {
  uint32_t size, flags;
  int32_t batch, total_q, q_len; /* q_len: 0 where RAGGED_Q */
  int32_t num_named;
  int64_t kv_len;       /* a hint, or 0 */
  mla_tensor q, q_rope; /* without q_rope, q has all d_qk columns */
  mla_tensor k, k_rope; /* likewise */
  mla_tensor v, out;
  mla_tensor lse; /* f32; not given or null: not written */
  float softmax_scale;
  const float *scale_dev;
  int32_t lse_base;         /* 0: e; 2 */
  int32_t lse_empty_posinf; /* lse of rows without keys: 0: -inf; 1: +inf */
  mla_tensor q_offsets;     /* [b + 1] */
  mla_tensor seq_lens;      /* [b] */
  mla_tensor kv_start;
  mla_tensor table; /* [b, columns] */
  mla_tensor v_table, table_rows, kv_indptr, kv_indices;
  mla_tensor indices, topk_lens, extra_k, extra_indices, extra_topk_lens;
  const float *q_scale, *k_scale, *k_rope_scale, *v_scale, *out_scale;
  mla_tensor q_scales, k_scales, sink, mask, mask_indptr, alibi;
  int32_t window; /* of MLA_MASK_WINDOW: keys that a query sees; of 0 keys all
                     results are 0, and lse is that of an empty row */
  int32_t chunk;
  float softcap;
  int32_t cp_world, cp_rank, cp_interleave;
  mla_tensor cp_global_lens;
  int32_t num_splits; /* 0: automatic */
  int32_t max_ctas;   /* SMs (host: threads) to use; 0: all. On a GPU at least
                         the row_blocks of the kernel's schedule, at most
                         mla_kernel_info.num_workers */
  const mla_named_arg *named;
  const void *schedule; /* of mla_schedule, or null */
  void *workspace, *sync;
  uint64_t schedule_bytes, workspace_bytes, sync_bytes;
} mla_args;

/* Host: returns when done, `stream` is null. CUDA: everything lies in memory of
   the device, `stream` is a CUstream of its primary context; waits for nothing
   and may be captured. */
MLA_API mla_code mla_launch(mla_kernel *kernel, void *stream,
                            const mla_args *args, mla_status *status);

/* Whether a launch with these arguments would be right: types, shapes, and what
   MLA_LAUNCH_CHECK reads. All of the tensors are in memory of the host here,
   also for a kernel of a GPU. Launches nothing; a workspace is not needed. */
MLA_API mla_code mla_check(mla_kernel *kernel, const mla_args *args,
                           mla_status *status);

/* Who does what in a launch, written into `schedule`, on the device and aligned
   as a workspace, for any launches behind on the stream that name it in
   mla_args. One kernel; may be captured.
   `args` are those of such a launch; of its tensors only seq_lens and q_offsets
   are read, and workspace and schedule are ignored. Launches agree in batch,
   total_q, q_len, num_splits, max_ctas and window, else they are refused
   (MLA_E_INVALID), and in the contents of these tensors, which nobody checks.
   MLA_E_UNSUPPORTED for kernels without MLA_FEATURE_SHARED_SCHEDULE. */
MLA_API mla_code mla_schedule(mla_kernel *kernel, void *stream,
                              const mla_args *args, void *schedule,
                              size_t schedule_bytes, mla_status *status);

/*
 * out = sum_i w_i parts[i], w_i = exp(lse_parts[i] - lse), for each of t rows
 * and h heads: results for disjoint sets of keys become that for all. A part
 * whose lse is -inf, or that of a row without keys (lse_empty_posinf), is left
 * out, whatever its values are; where all are, the row is 0 and its lse that.
 * Any strides, but columns are contiguous. n is no part of the key. Tensors of
 * different origin are parts too: stride[0] may be any distance between two.
 */
typedef struct mla_merge_args {
  uint32_t size, flags; /* MLA_LAUNCH_PDL_WAIT */
  mla_tensor parts;     /* [n, t, h, d_v] of out_dtype */
  mla_tensor lse_parts; /* [n, t, h] f32 */
  mla_tensor out;       /* [t, h, d_v]; may be one of the parts */
  mla_tensor lse;   /* [t, h] f32; not given or null: not written; may be one
                       of lse_parts */
  int32_t lse_base; /* of all lse; 0: e; 2 */
  int32_t lse_empty_posinf;
  int32_t max_ctas, reserved;
} mla_merge_args;

/* A kernel of MLA_MERGE; else as mla_launch. Needs no workspace. */
MLA_API mla_code mla_merge(mla_kernel *kernel, void *stream,
                           const mla_merge_args *args, mla_status *status);

/*===----------------------------------------------------------------------===*\
|* Archives: kernels made ahead of time
\*===----------------------------------------------------------------------===*/

/* Needs no device, and asks no driver where the target has a chip. With machine
   code where there is a ptxas, see mla_engine_options; one that is there and
   fails is an error. The file appears whole, or not at all. */
MLA_API mla_code mla_archive_build(mla_engine *engine, const mla_spec *specs,
                                   int32_t count, const char *path,
                                   mla_status *status);
/* The engine looks there too, until it is closed. `sha256`: of the whole file,
   or null. Requires an archive of this build of the library. */
MLA_API mla_code mla_archive_open(mla_engine *engine, const char *path,
                                  const uint8_t sha256[32],
                                  mla_archive **archive, mla_status *status);
MLA_API void mla_archive_close(mla_archive *archive); /* null is legal */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MLA_JIT_MLA_JIT_H */
