#include "command_line/completion.h"

#include <functional>
#include <string_view>

#include "command_line/page.h"

namespace hearth::command_line {
namespace {

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void for_each_command(const CLI::App& command, const std::function<void(const CLI::App&)>& visit) {
  visit(command);
  for (const CLI::App* child : commands_of(command)) for_each_command(*child, visit);
}

std::vector<std::string> names_of_option(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// What the scripts know of a value: "file", "folder", words to choose from ("=a b"), or nothing ("any").
std::string completed_as(const CLI::Option& option) {
  const ValueKind kind = value_kind_of(option);
  if (!kind.choices.empty()) {
    std::string words = "=";
    for (const std::string& choice : kind.choices) words += (words.size() > 1 ? " " : "") + choice;
    return words;
  }
  const std::string_view name = kind.name;
  const std::string_view last = name.substr(name.rfind('=') == std::string_view::npos ? 0 : name.rfind('=') + 1);
  if (last.starts_with("FILE")) return "file";
  if (last.starts_with("FOLDER")) return "folder";
  return "any";
}

// One line for each thing that there is to know: shell functions that answer by name.
struct Tables {
  std::string commands;   // path) words
  std::string options;    // path) words
  std::string values;     // path option) kind
  std::string arguments;  // path) kind
};

using Words = std::vector<std::pair<std::string, std::string>>;  // and what they mean

std::string described(const Words& words, bool with_text) {
  std::string out;
  for (const auto& [word, text] : words) {
    std::string item = word;
    if (with_text) {
      for (std::size_t at = 0; (at = item.find(':', at)) != std::string::npos; at += 2) item.insert(at, "\\");
      item += ":" + text;
    }
    out += (out.empty() ? "" : " ") + shell_word(item);
  }
  return out;
}

Tables tables_of(const CLI::App& program, bool with_text) {
  Tables tables;
  for_each_command(program, [&](const CLI::App& command) {
    const std::string path = shell_word(full_name(command));
    Words commands, options;
    for (const CLI::App* child : commands_of(command))
      commands.emplace_back(child->get_name(), child->get_description());
    for (const CLI::Option* option : options_of(command)) {
      std::string patterns;
      for (const std::string& name : names_of_option(*option)) {
        options.emplace_back(name, option->get_description());
        patterns += (patterns.empty() ? "" : "|") + shell_word(full_name(command) + " " + name);
      }
      if (!value_kind_of(*option).name.empty()) {
        tables.values += "    " + patterns + ") REPLY=" + shell_word(completed_as(*option)) + " ;;\n";
      }
    }
    std::string kind = "any";
    for (const CLI::Option* argument : arguments_of(command)) kind = completed_as(*argument);
    const auto row = [&](const std::string& value) { return "    " + path + ") " + value + " ;;\n"; };
    if (!commands.empty()) tables.commands += row("reply=(" + described(commands, with_text) + ")");
    tables.options += row("reply=(" + described(options, with_text) + ")");
    tables.arguments += row("REPLY=" + shell_word(kind));
  });
  return tables;
}

std::string function_of(const std::string& name, const std::string& reset, const std::string& rows) {
  return name + "() {\n  " + reset + "\n  case $1 in\n" + rows + "  esac\n}\n\n";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string script(const CLI::App& program, bool with_text, const std::string& head, const std::string& body) {
  const std::string name = program.get_name();
  const Tables tables = tables_of(program, with_text);
  return replaced(head, "NAME", name) + function_of("_" + name + "_commands", "reply=()", tables.commands) +
         function_of("_" + name + "_options", "reply=()", tables.options) +
         function_of("_" + name + "_value", "REPLY=", tables.values) +
         function_of("_" + name + "_argument", "REPLY=any", tables.arguments) + replaced(body, "NAME", name);
}

// Which command the words name, and whether the last one is an option's value. NAME is the program's.
constexpr char kBashBody[] = R"sh(_NAME_matches() {  # kind, word: into COMPREPLY
  case $1 in
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    =*) mapfile -t COMPREPLY < <(compgen -W "${1#=}" -- "$2") ;;
  esac
}

_NAME() {
  local command=NAME pending= literal= word current reply REPLY i
  local -a words=()
  COMPREPLY=()
  # The shell may have split words at "=": they are put together again.
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == =* || ${words[-1]} == *= ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[-1]}
  unset 'words[-1]'
  for word in "${words[@]}"; do
    if [[ $pending ]]; then pending=; continue; fi
    if [[ $literal ]]; then continue; fi
    case $word in
      --) literal=1 ;;
      -*=*) ;;
      -*)
        _NAME_value "$command $word"
        [[ $REPLY ]] && pending=$word
        ;;
      *)
        _NAME_commands "$command"
        for i in "${reply[@]}"; do
          [[ $i == "$word" ]] && command+=" $word"
        done
        ;;
    esac
  done
  if [[ ! $pending && ! $literal && $current == --*=* ]]; then
    pending=${current%%=*}
  fi
  # What the shell replaces begins behind the last "=".
  local typed=$current
  if [[ $COMP_WORDBREAKS == *=* ]]; then typed=${current##*=}; fi
  if [[ $pending ]]; then
    _NAME_value "$command $pending"
    _NAME_matches "$REPLY" "$typed"
  elif [[ ! $literal && $current == -* ]]; then
    _NAME_options "$command"
    _NAME_matches "=${reply[*]}" "$current"
  else
    _NAME_commands "$command"
    if ((${#reply[@]})); then
      _NAME_matches "=${reply[*]}" "$current"
    else
      _NAME_argument "$command"
      _NAME_matches "$REPLY" "$typed"
    fi
  fi
}

complete -F _NAME NAME
)sh";

constexpr char kZshBody[] = R"sh(_NAME_matches() {  # kind
  case $1 in
    file) _files ;;
    folder) _files -/ ;;
    '='*) compadd -- ${(s: :)${1#?}} ;;
  esac
}

_NAME() {
  local command=NAME pending= literal= word REPLY
  local -a reply
  for word in "${(@)words[2,CURRENT-1]}"; do
    if [[ -n $pending ]]; then pending=; continue; fi
    if [[ -n $literal ]]; then continue; fi
    case $word in
      --) literal=1 ;;
      -*=*) ;;
      -*)
        _NAME_value "$command $word"
        [[ -n $REPLY ]] && pending=$word
        ;;
      *)
        _NAME_commands "$command"
        [[ -n ${(M)reply:#${(b)word}:*} ]] && command+=" $word"
        ;;
    esac
  done
  word=${words[CURRENT]}
  if [[ -z $pending && -z $literal && $word == --*=* ]]; then
    pending=${word%%=*}
  fi
  if [[ -n $pending ]]; then
    _NAME_value "$command $pending"
    if [[ $word == *=* ]]; then compset -P '*='; fi
    _NAME_matches "$REPLY"
  elif [[ -z $literal && $word == -* ]]; then
    _NAME_options "$command"
    _describe option reply
  else
    _NAME_commands "$command"
    if (( $#reply )); then
      _describe command reply
    else
      _NAME_argument "$command"
      _NAME_matches "$REPLY"
    fi
  fi
}

if [[ $funcstack[1] == _NAME ]]; then
  _NAME "$@"
else
  compdef _NAME NAME
fi
)sh";

}  // namespace

std::string bash_completion(const CLI::App& program) {
  return script(program, /*with_text=*/false, "# Completion of NAME for bash, made by: NAME completion bash\n\n",
                kBashBody);
}

std::string zsh_completion(const CLI::App& program) {
  return script(program, /*with_text=*/true,
                "#compdef NAME\n# Completion of NAME for zsh, made by: NAME completion zsh\n\n", kZshBody);
}

}  // namespace hearth::command_line
