// Data types of the fused-attention library, and the masks that its traits name.
#pragma once
#include "ck_tile/core.hpp"
#include "ck_tile/ops/fmha.hpp"

struct FmhaFwdFp16 {};
struct FmhaFwdBf16 {};
struct FmhaBwdFp16 {};
struct FmhaBwdBf16 {};

// Everything is of one 16-bit type, sums are float.
template <typename T>
struct FmhaTypesOf {
  using QDataType = T;
  using KDataType = T;
  using VDataType = T;
  using BiasDataType = T;
  using ODataType = T;
  using OGradDataType = T;
  using QGradDataType = T;
  using KGradDataType = T;
  using VGradDataType = T;
  using LSEDataType = float;
  using OaccDataType = float;
  using AccDataType = float;
  using DDataType = float;
};

// 2024 names a type by its numbers, 2026 by a tag of its own.
template <typename DataType>
struct FmhaFwdTypeConfig;
template <>
struct FmhaFwdTypeConfig<ck_tile::fp16_t> : FmhaTypesOf<ck_tile::fp16_t> {};
template <>
struct FmhaFwdTypeConfig<ck_tile::bf16_t> : FmhaTypesOf<ck_tile::bf16_t> {};
template <>
struct FmhaFwdTypeConfig<FmhaFwdFp16> : FmhaTypesOf<ck_tile::fp16_t> {};
template <>
struct FmhaFwdTypeConfig<FmhaFwdBf16> : FmhaTypesOf<ck_tile::bf16_t> {};

template <typename DataType>
struct FmhaBwdTypeConfig;
template <>
struct FmhaBwdTypeConfig<ck_tile::fp16_t> : FmhaTypesOf<ck_tile::fp16_t> {};
template <>
struct FmhaBwdTypeConfig<ck_tile::bf16_t> : FmhaTypesOf<ck_tile::bf16_t> {};
template <>
struct FmhaBwdTypeConfig<FmhaBwdFp16> : FmhaTypesOf<ck_tile::fp16_t> {};
template <>
struct FmhaBwdTypeConfig<FmhaBwdBf16> : FmhaTypesOf<ck_tile::bf16_t> {};

struct FmhaMasks {
  using NoMask = ck_tile::GenericAttentionMask<false>;
  using GenericMask = ck_tile::GenericAttentionMask<true, true>;
  using CausalMask = ck_tile::GenericAttentionMask<true, false>;
};
