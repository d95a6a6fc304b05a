"""Completions for bash, zsh and fish: the program's commands and options as a table in the syntax of the shell.

A value is completed with words, with files, with both, or with nothing."""

import shlex

FOR_THE_PROGRAM = ["--help", "--version"]
# The kind of bundled names that an option takes. A workload or a cluster may also be a file.
NAMES_OF_OPTIONS = {
    "--model": "models",
    "--gpu": "gpus",
    "--torch": "torch",
    "--cluster": "clusters",
    "--workload": "workloads",
}
NAMES_OF_ARGUMENTS = {"WORKLOAD": "workloads", "INPUT": "workloads", "CLUSTER": "clusters"}
MAY_BE_FILES = {"workloads", "clusters"}
# Values that only begin with the name of a file: LOG@1x8, steps.csv:seconds.
BEGIN_WITH_A_FILE = {"--measured", "--measured-step"}


def option_values(option, bundled):
    """The words for the value of an option, and whether files are offered as well."""
    kind = NAMES_OF_OPTIONS.get(option["name"])
    words = option["choices"] or (bundled[kind] if kind else [])
    return words, option["value"] == "FILE" or option["name"] in BEGIN_WITH_A_FILE or kind in MAY_BE_FILES


def argument_values(positional, bundled):
    return bundled.get(NAMES_OF_ARGUMENTS.get(positional["name"]), []), True


def spellings(option):
    return [name for name in (option["short"], option["name"]) if name]


BASH = r"""# bash completion of ddpsim; made by scripts/command_pages.py

_ddpsim_reply() {  # _ddpsim_reply CURRENT FILES WORDS
  mapfile -t COMPREPLY < <(compgen -W "$3" -- "$1")
  if [[ $2 == files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$1")
  fi
}

_ddpsim() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  # bash takes --option=value for three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  local command=${COMP_WORDS[1]}
  if [[ $COMP_CWORD == 1 ]]; then
    _ddpsim_reply "$current" words "@COMMANDS@"
    return
  fi
  case "$command $before" in
@VALUES@
  esac
  if [[ $current == -* ]]; then
    case $command in
@OPTIONS@
    esac
    return
  fi
  # Which of the command's arguments this is: one that no option takes.
  local index place=0 previous=
  for ((index = 2; index < COMP_CWORD; index++)); do
    if [[ ${COMP_WORDS[index]} != -* && ${COMP_WORDS[index]} != = ]]; then
      case "$command $previous" in
@TAKING@) ;;
        *) place=$((place + 1)) ;;
      esac
    fi
    [[ ${COMP_WORDS[index]} == = ]] || previous=${COMP_WORDS[index]}
  done
  case "$command $place" in
@ARGUMENTS@
  esac
}

complete -F _ddpsim ddpsim
"""


def bash_completion(commands, bundled):
    values, taking = {}, []
    for command in commands:
        for option in command["options"]:
            if option["value"]:
                patterns = [f'"{command["name"]} {name}"' for name in spellings(option)]
                taking += patterns
                values.setdefault(bash_reply(*option_values(option, bundled)), []).extend(patterns)
    options = [
        f'{command["name"]}) _ddpsim_reply "$current" words '
        f'"{" ".join(name for option in command["options"] for name in spellings(option))}" ;;'
        for command in commands
    ]
    arguments = []
    for command in commands:
        for place, positional in enumerate(command["positionals"]):
            pattern = f'"{command["name"]} "*' if positional["repeated"] else f'"{command["name"]} {place}"'
            arguments.append(f"{pattern}) {bash_reply(*argument_values(positional, bundled))} ;;")
    filled = {
        "COMMANDS": " ".join([command["name"] for command in commands] + FOR_THE_PROGRAM),
        "VALUES": "\n".join(
            f"    {'|'.join(patterns)})\n      {reply}; return ;;" for reply, patterns in values.items()
        ),
        "OPTIONS": "\n".join(f"      {line}" for line in options),
        "TAKING": "        " + "|".join(taking),
        "ARGUMENTS": "\n".join(f"    {line}" for line in arguments),
    }
    return fill(BASH, filled)


def bash_reply(words, files):
    return f'_ddpsim_reply "$current" {"files" if files else "words"} "{" ".join(words)}"'


ZSH = r"""#compdef ddpsim
# zsh completion of ddpsim; made by scripts/command_pages.py

_ddpsim_words_or_files() {
  local -a words=("$@")
  _alternative 'names:bundled:compadd -a words' 'files:file:_files'
}

_ddpsim() {
  local curcontext=$curcontext state line
  local -a commands=(
@COMMANDS@
  )
  _arguments -C '(- *)'{-h,--help}'[print help and exit]' '(- *)--version[print the version and exit]' \
    '1:command:->command' '*::argument:->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      curcontext=${curcontext%:*}-$words[1]:
      case $words[1] in
@ARGUMENTS@
      esac ;;
  esac
}

_ddpsim "$@"
"""


def zsh_completion(commands, bundled):
    cases = []
    for command in commands:
        specifications = []
        for option in command["options"]:
            value = (
                f":{zsh_quoted(option['value'])}:{zsh_action(*option_values(option, bundled))}"
                if option["value"]
                else ""
            )
            explained = f"[{zsh_quoted(option['summary'])}]{value}"
            names = spellings(option)
            if option["repeated"]:
                specifications += [shlex.quote(f"*{name}{explained}") for name in names]
            else:
                # An option with two spellings is offered only once.
                excluded = f"({' '.join(names)})" if len(names) > 1 else ""
                specifications += [shlex.quote(f"{excluded}{name}{explained}") for name in names]
        for place, positional in enumerate(command["positionals"], 1):
            action = zsh_action(*argument_values(positional, bundled))
            where = "*" if positional["repeated"] else f"{place}"
            optional = "" if positional["repeated"] or positional["required"] else ":"
            specifications.append(shlex.quote(f"{where}:{optional}{positional['name']}:{action}"))
        lines = " \\\n            ".join(specifications)
        cases.append(f"        {command['name']})\n          _arguments \\\n            {lines} ;;")
    described = "\n".join(f"    {shlex.quote(command['name'] + ':' + command['summary'])}" for command in commands)
    return fill(ZSH, {"COMMANDS": described, "ARGUMENTS": "\n".join(cases)})


def zsh_quoted(words):
    for special in "\\[]:":
        words = words.replace(special, "\\" + special)
    return words


def zsh_action(words, files):
    if words and files:
        return f"_ddpsim_words_or_files {' '.join(words)}"
    return f"({' '.join(words)})" if words else "_files" if files else " "


FISH = """# fish completion of ddpsim; made by scripts/command_pages.py
complete -c ddpsim -f
complete -c ddpsim -n __fish_use_subcommand -s h -l help -d 'print help and exit'
complete -c ddpsim -n __fish_use_subcommand -l version -d 'print the version and exit'
"""


def fish_completion(commands, bundled):
    lines = [
        f"complete -c ddpsim -n __fish_use_subcommand -a {command['name']} -d {fish_quoted(command['summary'])}"
        for command in commands
    ]
    for command in commands:
        begin = f"complete -c ddpsim -n '__fish_seen_subcommand_from {command['name']}'"
        for option in command["options"]:
            names = " ".join(
                f"-s {name[1:]}" if not name.startswith("--") else f"-l {name[2:]}" for name in spellings(option)
            )
            line = f"{begin} {names} -d {fish_quoted(option['summary'])}"
            lines.append(line + (fish_values(*option_values(option, bundled)) if option["value"] else ""))
        for positional in command["positionals"]:
            words, _ = argument_values(positional, bundled)
            lines.append(
                f"{begin} -F" + (f" -a {fish_quoted(' '.join(words))} -d {positional['name']}" if words else "")
            )
    return FISH + "\n".join(lines) + "\n"


def fish_values(words, files):
    return (" -r -F" if files else " -x") + (f" -a {fish_quoted(' '.join(words))}" if words else "")


def fish_quoted(words):
    return "'" + words.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fill(template, parts):
    for name, part in parts.items():
        template = template.replace(f"@{name}@", part)
    return template
