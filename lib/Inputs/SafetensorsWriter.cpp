//===- SafetensorsWriter.cpp - Writing of tensor files --------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Inputs/Safetensors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mla_jit;
using llvm::Error;
using llvm::StringRef;
namespace json = llvm::json;

static Error fail(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

static Error checkText(const TensorSet &tensors) {
  for (const TensorSet::Entry &entry : tensors.entries())
    if (!json::isUTF8(entry.name) || entry.name == "__metadata__")
      return fail("tensor name: requires UTF-8 other than '__metadata__', but "
                  "got '" +
                  json::fixUTF8(entry.name) + "'");
  for (const auto &[key, value] : tensors.metadata)
    if (!json::isUTF8(key) || !json::isUTF8(value))
      return fail("metadata: requires UTF-8, but got '" + json::fixUTF8(key) +
                  "': '" + json::fixUTF8(value) + "'");
  return Error::success();
}

/// The JSON header, padded with spaces so that data begins 8-byte aligned.
static std::string makeHeader(const TensorSet &tensors) {
  std::string header;
  llvm::raw_string_ostream text(header);
  json::OStream out(text);
  out.object([&] {
    if (!tensors.metadata.empty())
      out.attributeObject("__metadata__", [&] {
        for (const auto &[key, value] : tensors.metadata)
          out.attribute(key, value);
      });
    int64_t offset = 0;
    for (const auto &[name, tensor] : tensors.entries()) {
      StringRef dtype = toString(tensor.dtype);
      int64_t end = offset + tensor.numElements() * byteSize(tensor.dtype);
      out.attributeObject(name, [&] {
        out.attribute("dtype", dtype.upper());
        out.attributeArray("shape", [&] {
          for (int dim = 0; dim < tensor.rank; ++dim)
            out.value(tensor.shape[dim]);
        });
        out.attribute("data_offsets", json::Array{offset, end});
      });
      offset = end;
    }
  });
  header.resize(llvm::alignTo(header.size(), 8), ' ');
  return header;
}

/// Writes the elements below `data` from dimension `dim` on in row-major order.
static void writeElements(llvm::raw_ostream &out, const Tensor &tensor,
                          const char *data, int dim) {
  // Trailing dimensions that are contiguous go out in one piece.
  const size_t elementSize = byteSize(tensor.dtype);
  int64_t run = 1;
  bool contiguous = true;
  for (int inner = tensor.rank - 1; inner >= dim; --inner) {
    contiguous &= tensor.stride[inner] == run || tensor.shape[inner] == 1;
    run *= tensor.shape[inner];
  }
  if (contiguous) {
    out.write(data, run * elementSize);
    return;
  }
  for (int64_t i = 0; i < tensor.shape[dim]; ++i)
    writeElements(out, tensor, data + i * tensor.stride[dim] * elementSize,
                  dim + 1);
}

static void writeFile(llvm::raw_ostream &out, const TensorSet &tensors) {
  std::string header = makeHeader(tensors);
  char length[8];
  llvm::support::endian::write64le(length, header.size());
  out.write(length, sizeof length);
  out << header;
  for (const auto &[name, tensor] : tensors.entries())
    if (tensor.numElements() > 0)
      writeElements(out, tensor, static_cast<const char *>(tensor.data), 0);
}

Error mla_jit::writeSafetensors(StringRef path, const TensorSet &tensors) {
  if (Error error = checkText(tensors))
    return error;
  auto cannot = [&](const std::string &reason) {
    return fail("cannot write '" + path + "': " + reason);
  };
  // Renaming within a directory is atomic, so the temporary is created there.
  auto temporary = llvm::sys::fs::TempFile::create(path + ".tmp-%%%%%%");
  if (!temporary)
    return cannot(llvm::toString(temporary.takeError()));

  llvm::raw_fd_ostream out(temporary->FD, /*shouldClose=*/false);
  writeFile(out, tensors);
  out.flush();
  if (std::error_code code = out.error()) {
    out.clear_error(); // reported here; the destructor would abort
    llvm::consumeError(temporary->discard());
    return cannot(code.message());
  }
  if (Error error = temporary->keep(path))
    return cannot(llvm::toString(std::move(error)));
  return Error::success();
}
