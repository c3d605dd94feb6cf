// HEARTH_JIT_WRAPPER: a typed wrapper of a model, declared in one place, that builds and compiles once in prepare() and
// replays on every execute(). Its arguments: the wrapper's name, the model's type, the inputs in parentheses, and any
// number of variables (name, min, max), whose bounds may use `model`. What follows in braces is the build body: inputs
// are `const Tensor&`, variables `const Dim&`, and `model` is a const reference to the wrapper's own model; it returns
// a Tensor, a StatusOr<Tensor>, NamedTensors or an error, or throws.
//
//   HEARTH_JIT_WRAPPER(EncoderJit, Encoder, (mel, lengths), (b, 1, model.max_batch), (t, 1, model.max_frames)) {
//     return cast(model.forward(mel, lengths, b, t), DType::kF32);
//   }
//   absl::StatusOr<EncoderJit::Prepared> jit =
//       EncoderJit(encoder).with_b_bound(8).prepare(InputSpec::f32({8, 80, 3000}), InputSpec::i64({8}));
//   absl::Status status = jit->mel_mut()->copy_from(mel);
//   if (status.ok()) status = jit->execute_with_vars({{"b", 2}, {"t", 700}});   // then jit->output()->as<float>()
//
// The order is kept by types: only an EncoderJit has setters and prepare(), only an EncoderJit::Prepared replays. A
// wrapper is immutable (setters and prepare() leave it as it is) and may prepare more than once; a Prepared shares the
// model, so that nothing done to the caller's own copy of it changes results. Threads: a wrapper is thread-safe, a
// Prepared is used by one thread at a time, instantiate() gives another one its own. Errors: hearth/error_kind.h;
// setters throw JitError. The body's variables are fixed in the plan's shapes: a branch on a value is taken once.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "hearth/prepared_jit.h"

#pragma GCC visibility push(default)
namespace hearth::client {

template <typename Model>
class JitWrapper {
 public:
  const Model& model() const { return *model_; }

 protected:
  JitWrapper(Model model, std::string name, std::vector<std::string> inputs,
             std::vector<Variable> (*vars)(const Model&))
      : model_(std::make_shared<const Model>(std::move(model))),
        declaration_{std::move(name), std::move(inputs), vars(*model_)} {}

  std::shared_ptr<const Model> model_;
  JitDeclaration declaration_;
};

// Calls a build body, whose arguments are first the inputs and then the variables.
template <typename Model, typename... Args>
BuildResult call_build(BuildResult (*build)(const Model&, const Args&...), const Model& model,
                       std::span<const Tensor> inputs, std::span<const Dim> vars) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto argument = [&]<std::size_t At, typename Arg>() -> const Arg& {
      if constexpr (std::is_same_v<Arg, Tensor>) {
        return inputs[At];
      } else {
        return vars[At - inputs.size()];
      }
    };
    return build(model, argument.template operator()<I, Args>()...);
  }(std::index_sequence_for<Args...>());
}

}  // namespace hearth::client
#pragma GCC visibility pop

// What the macro names itself within reach of inputs' and variables' names begins with hearth_jit_: they may be called
// anything but `model`, the body's own.

// A macro over a list, as in https://www.scs.stanford.edu/~dm/blog/va-opt.html: up to 64 items.
#define HEARTH_JIT_PARENS ()
#define HEARTH_JIT_EXPAND(...) \
  HEARTH_JIT_EXPAND2(HEARTH_JIT_EXPAND2(HEARTH_JIT_EXPAND2(HEARTH_JIT_EXPAND2(__VA_ARGS__))))
#define HEARTH_JIT_EXPAND2(...) \
  HEARTH_JIT_EXPAND1(HEARTH_JIT_EXPAND1(HEARTH_JIT_EXPAND1(HEARTH_JIT_EXPAND1(__VA_ARGS__))))
#define HEARTH_JIT_EXPAND1(...) HEARTH_JIT_EXPAND0(HEARTH_JIT_EXPAND0(HEARTH_JIT_EXPAND0(__VA_ARGS__)))
#define HEARTH_JIT_EXPAND0(...) __VA_ARGS__
#define HEARTH_JIT_EACH(macro, ...) __VA_OPT__(HEARTH_JIT_EXPAND(HEARTH_JIT_STEP(macro, __VA_ARGS__)))
#define HEARTH_JIT_STEP(macro, item, ...) macro(item) __VA_OPT__(HEARTH_JIT_AGAIN HEARTH_JIT_PARENS(macro, __VA_ARGS__))
#define HEARTH_JIT_AGAIN() HEARTH_JIT_STEP

#define HEARTH_JIT_UNWRAP(...) __VA_ARGS__
// Each makes one line of an input's name.
#define HEARTH_JIT_TEXT(name) #name,
#define HEARTH_JIT_INDEX(name) kInput_##name,
#define HEARTH_JIT_SPEC(name) ::hearth::client::InputSpec name,
#define HEARTH_JIT_PASS(name) std::move(name),
#define HEARTH_JIT_TENSOR(name) , [[maybe_unused]] const ::hearth::client::Tensor& name
#define HEARTH_JIT_ACCESSOR(name) \
  absl::StatusOr<::hearth::client::MutableView> name##_mut() { return input(kInput_##name); }
// Each makes one line of a variable (name, min, max).
#define HEARTH_JIT_DIM(var) HEARTH_JIT_DIM_ var
#define HEARTH_JIT_DIM_(name, min, max) , [[maybe_unused]] const ::hearth::client::Dim& name
#define HEARTH_JIT_VAR_INDEX(var) HEARTH_JIT_VAR_INDEX_ var
#define HEARTH_JIT_VAR_INDEX_(name, min, max) kVar_##name,
#define HEARTH_JIT_BOUNDS(var) HEARTH_JIT_BOUNDS_ var
#define HEARTH_JIT_BOUNDS_(name, min, max) \
  ::hearth::client::Variable{#name, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max)},
#define HEARTH_JIT_SETTERS(var) HEARTH_JIT_SETTERS_ var
#define HEARTH_JIT_SETTERS_(name, min, max)                                                                        \
  [[nodiscard]] Self with_##name##_bound(std::int64_t largest,                                                     \
                                         ::hearth::client::Loc loc = ::hearth::client::Loc::current()) const {     \
    Self self = *this;                                                                                             \
    self.declaration_.set_max(kVar_##name, largest, loc);                                                          \
    return self;                                                                                                   \
  }                                                                                                                \
  [[nodiscard]] Self with_##name##_min_bound(std::int64_t smallest,                                                \
                                             ::hearth::client::Loc loc = ::hearth::client::Loc::current()) const { \
    Self self = *this;                                                                                             \
    self.declaration_.set_min(kVar_##name, smallest, loc);                                                         \
    return self;                                                                                                   \
  }                                                                                                                \
  [[nodiscard]] Self with_##name##_fixed(std::int64_t value,                                                       \
                                         ::hearth::client::Loc loc = ::hearth::client::Loc::current()) const {     \
    Self self = *this;                                                                                             \
    self.declaration_.fix(kVar_##name, value, loc);                                                                \
    return self;                                                                                                   \
  }                                                                                                                \
  ::hearth::client::Dim dim_##name() const { return declaration_.dim(kVar_##name); }

#define HEARTH_JIT_WRAPPER(Wrapper, ModelType, INPUTS, ...)                                                            \
  inline ::hearth::client::BuildResult Wrapper##_build([[maybe_unused]] const ModelType& model HEARTH_JIT_EACH(        \
      HEARTH_JIT_TENSOR, HEARTH_JIT_UNWRAP INPUTS) __VA_OPT__(HEARTH_JIT_EACH(HEARTH_JIT_DIM, __VA_ARGS__)));          \
  class Wrapper : public ::hearth::client::JitWrapper<ModelType> {                                                     \
    using Self = Wrapper;                                                                                              \
    enum InputIndex : std::size_t { HEARTH_JIT_EACH(HEARTH_JIT_INDEX, HEARTH_JIT_UNWRAP INPUTS) };                     \
    enum VarIndex : std::size_t { __VA_OPT__(HEARTH_JIT_EACH(HEARTH_JIT_VAR_INDEX, __VA_ARGS__)) };                    \
                                                                                                                       \
   public:                                                                                                             \
    class Prepared : public ::hearth::client::PreparedJit {                                                            \
     public:                                                                                                           \
      Prepared() = default;                                                                                            \
      HEARTH_JIT_EACH(HEARTH_JIT_ACCESSOR, HEARTH_JIT_UNWRAP INPUTS)                                                   \
      absl::StatusOr<Prepared> instantiate() const { return of(PreparedJit::instantiate()); }                          \
                                                                                                                       \
     private:                                                                                                          \
      friend class Wrapper;                                                                                            \
      explicit Prepared(::hearth::client::PreparedJit jit) : PreparedJit(std::move(jit)) {}                            \
      static absl::StatusOr<Prepared> of(absl::StatusOr<::hearth::client::PreparedJit> jit) {                          \
        if (!jit.ok()) return jit.status();                                                                            \
        return Prepared(*std::move(jit));                                                                              \
      }                                                                                                                \
    };                                                                                                                 \
    explicit Wrapper(ModelType model_value)                                                                            \
        : JitWrapper(std::move(model_value), #Wrapper, {HEARTH_JIT_EACH(HEARTH_JIT_TEXT, HEARTH_JIT_UNWRAP INPUTS)},   \
                     [](const ModelType& model) {                                                                      \
                       static_cast<void>(model);                                                                       \
                       return std::vector<::hearth::client::Variable>{                                                 \
                           __VA_OPT__(HEARTH_JIT_EACH(HEARTH_JIT_BOUNDS, __VA_ARGS__))};                               \
                     }) {}                                                                                             \
    __VA_OPT__(HEARTH_JIT_EACH(HEARTH_JIT_SETTERS, __VA_ARGS__))                                                       \
    absl::StatusOr<Prepared> prepare(HEARTH_JIT_EACH(HEARTH_JIT_SPEC,                                                  \
                                                     HEARTH_JIT_UNWRAP INPUTS)::hearth::client::Loc hearth_jit_loc =   \
                                         ::hearth::client::Loc::current()) const {                                     \
      const auto hearth_jit_config = ::hearth::client::PrepareConfig::from_env();                                      \
      if (!hearth_jit_config.ok())                                                                                     \
        return ::hearth::client::with_kind(::hearth::client::JitErrorKind::kDevice, hearth_jit_config.status());       \
      return this->prepare_with_config(HEARTH_JIT_EACH(HEARTH_JIT_PASS, HEARTH_JIT_UNWRAP INPUTS) * hearth_jit_config, \
                                       hearth_jit_loc);                                                                \
    }                                                                                                                  \
    absl::StatusOr<Prepared> prepare_with_config(                                                                      \
        HEARTH_JIT_EACH(HEARTH_JIT_SPEC, HEARTH_JIT_UNWRAP INPUTS)                                                     \
            const ::hearth::client::PrepareConfig& hearth_jit_config,                                                  \
        ::hearth::client::Loc hearth_jit_loc = ::hearth::client::Loc::current()) const {                               \
      const std::vector<::hearth::client::InputSpec> hearth_jit_specs = {                                              \
          HEARTH_JIT_EACH(HEARTH_JIT_PASS, HEARTH_JIT_UNWRAP INPUTS)};                                                 \
      const auto hearth_jit_build = [this](std::span<const ::hearth::client::Tensor> hearth_jit_inputs,                \
                                           std::span<const ::hearth::client::Dim> hearth_jit_vars) {                   \
        return ::hearth::client::call_build(&Wrapper##_build, *this->model_, hearth_jit_inputs, hearth_jit_vars);      \
      };                                                                                                               \
      return Prepared::of(::hearth::client::prepare_wrapped(this->declaration_, this->model_, hearth_jit_specs,        \
                                                            hearth_jit_config, hearth_jit_build, hearth_jit_loc));     \
    }                                                                                                                  \
  };                                                                                                                   \
  inline ::hearth::client::BuildResult Wrapper##_build([[maybe_unused]] const ModelType& model HEARTH_JIT_EACH(        \
      HEARTH_JIT_TENSOR, HEARTH_JIT_UNWRAP INPUTS) __VA_OPT__(HEARTH_JIT_EACH(HEARTH_JIT_DIM, __VA_ARGS__)))
