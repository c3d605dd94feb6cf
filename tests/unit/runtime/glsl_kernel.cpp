#include "tests/unit/runtime/glsl_kernel.h"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <stdexcept>

namespace hearth::testing {
namespace {

std::string source_of(const std::vector<std::string>& arrays, const std::string& type, const std::string& statement) {
  std::string source =
      "#version 460\n"
      "#extension GL_EXT_buffer_reference : require\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
      "#define ALIGNED(array) true\n"
      "layout(local_size_x = " +
      std::to_string(kGlslWorkgroup) +
      ") in;\n"
      "layout(buffer_reference, std430, buffer_reference_align = 4) buffer Array { " +
      type +
      " at[]; };\n"
      "layout(buffer_reference, std430, buffer_reference_align = 8) buffer Row { int64_t units; uint64_t words[]; };\n"
      "layout(push_constant) uniform Argument { Row row; };\n";
  for (std::size_t i = 0; i < arrays.size(); ++i)
    source += "#define " + arrays[i] + " Array(row.words[" + std::to_string(i) + "]).at\n";
  return source +
         "void main() {\n"
         "  if (row.units == 0) return;\n"
         "  for (uint i = gl_GlobalInvocationID[0]; i < uint(row.units); i += gl_NumWorkGroups[0] * "
         "gl_WorkGroupSize[0]) "
         "{\n" +
         statement + "\n} }\n";
}

}  // namespace

std::string compile_glsl(const std::vector<std::string>& arrays, const std::string& type,
                         const std::string& statement) {
  static const bool once = glslang::InitializeProcess();
  if (!once) throw std::runtime_error("glslang does not start");
  const std::string source = source_of(arrays, type, statement);
  const char* const text = source.c_str();
  glslang::TShader shader(EShLangCompute);
  shader.setStrings(&text, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_2);
  shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_5);
  if (!shader.parse(GetDefaultResources(), 460, false, EShMsgDefault))
    throw std::runtime_error(std::string(shader.getInfoLog()) + source);
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(EShMsgDefault)) throw std::runtime_error(program.getInfoLog());
  std::vector<unsigned> words;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words);
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]};
}

}  // namespace hearth::testing
