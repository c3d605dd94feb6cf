/* Codes, errors and elements of Hearth's C ABI, which hearth/hearth.h includes and explains. */
#ifndef HEARTH_C_TYPES_H_
#define HEARTH_C_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#define HEARTH_ABI_VERSION 0

#define HEARTH_API __attribute__((visibility("default")))

/* Of enums, which hold any int: a newer library has codes that an older program does not know. */
#ifdef __cplusplus
#define HEARTH_OF_INT : int
extern "C" {
#else
#define HEARTH_OF_INT
#endif

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* gRPC's codes, as docs/errors.md explains them. */
typedef enum hearth_code HEARTH_OF_INT {
  HEARTH_OK = 0,
  HEARTH_CANCELLED = 1,
  HEARTH_UNKNOWN = 2,
  HEARTH_INVALID_ARGUMENT = 3,
  HEARTH_DEADLINE_EXCEEDED = 4,
  HEARTH_NOT_FOUND = 5,
  HEARTH_ALREADY_EXISTS = 6,
  HEARTH_PERMISSION_DENIED = 7,
  HEARTH_RESOURCE_EXHAUSTED = 8,
  HEARTH_FAILED_PRECONDITION = 9,
  HEARTH_ABORTED = 10,
  HEARTH_OUT_OF_RANGE = 11,
  HEARTH_UNIMPLEMENTED = 12,
  HEARTH_INTERNAL = 13,
  HEARTH_UNAVAILABLE = 14,
  HEARTH_DATA_LOSS = 15,
  HEARTH_UNAUTHENTICATED = 16
} hearth_code;

typedef struct hearth_error hearth_error;
/* Of NULL: HEARTH_OK and "". */
HEARTH_API hearth_code hearth_error_code(const hearth_error* error);
HEARTH_API const char* hearth_error_message(const hearth_error* error);
HEARTH_API void hearth_error_free(hearth_error* error);
/* "INVALID_ARGUMENT"; never NULL. */
HEARTH_API const char* hearth_code_name(hearth_code code);

/* ---- Elements ---------------------------------------------------------------------------------------------------- */

typedef enum hearth_dtype HEARTH_OF_INT {
  HEARTH_BOOL = 1,
  HEARTH_I8 = 2,
  HEARTH_I16 = 3,
  HEARTH_I32 = 4,
  HEARTH_I64 = 5,
  HEARTH_U8 = 6,
  HEARTH_U16 = 7,
  HEARTH_U32 = 8,
  HEARTH_U64 = 9,
  HEARTH_F16 = 10,
  HEARTH_BF16 = 11,
  HEARTH_F32 = 12,
  HEARTH_F64 = 13,
  HEARTH_F8E4M3 = 14,
  HEARTH_F8E5M2 = 15
} hearth_dtype;
/* Of one element; 0 for a number that is no dtype. */
HEARTH_API size_t hearth_dtype_bytes(hearth_dtype dtype);
/* "f32"; NULL for a number that is no dtype. */
HEARTH_API const char* hearth_dtype_name(hearth_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
