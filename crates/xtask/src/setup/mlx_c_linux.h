/* Included before every mlx-c file on Linux. On Apple systems the compiler brings the two 16-bit float types, and the
 * standard library has <format>; here MLX's own types and the {fmt} library take their place. */
#pragma once

#define HAS_FLOAT16
#define HAS_BFLOAT16

#ifdef __cplusplus

#include <mlx/types/half_types.h>
using mlx::core::bfloat16_t;
using mlx::core::float16_t;

/* GCC 12 knows C++20 but ships no <format>. */
#define FMT_HEADER_ONLY
#include <fmt/format.h>
namespace std {
using fmt::format;
}

#else /* C: what bindgen reads. Pointers to these are all that crosses the border. */

#include <stdint.h>
typedef __fp16 float16_t;
typedef uint16_t bfloat16_t;

#endif
