/*
 * Completion: the scripts only ask the hidden verb __complete, which reads the table. So they need no
 * change when commands do.
 */
#include "verbs.h"

#include <string.h>

static const char bash_script[] =
    "# Completion of sbx for bash:  source <(sbx completion bash)\n"
    "_sbx() {\n"
    "    local words=() i word last=${COMP_WORDS[COMP_CWORD]} line\n"
    "    # \"--flag=value\" comes in pieces: put them together again.\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if ((${#words[@]})) && [[ $word == '=' || ${COMP_WORDS[i - 1]} == '=' ]]; then\n"
    "            words[${#words[@]} - 1]+=$word\n"
    "        else\n"
    "            words+=(\"$word\")\n"
    "        fi\n"
    "    done\n"
    "    [[ $last == '=' ]] && last=\n"
    "    COMPREPLY=()\n"
    "    while IFS=$'\\t' read -r line _; do\n"
    "        case $line in\n"
    "        :files) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < "
    "<(compgen -f -- \"$last\") ;;\n"
    "        :dirs) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < "
    "<(compgen -d -- \"$last\") ;;\n"
    "        *) COMPREPLY+=(\"${line##*=}\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" __complete -- \"${words[@]}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _sbx sbx\n";

static const char zsh_script[] =
    "#compdef sbx\n"
    "# Completion of sbx for zsh:  source <(sbx completion zsh)\n"
    "_sbx() {\n"
    "    local -a lines described\n"
    "    local line name\n"
    "    lines=(\"${(@f)$(${words[1]} __complete -- \"${(@)words[2,$CURRENT]}\" 2>/dev/null)}\")\n"
    "    for line in $lines; do\n"
    "        case $line in\n"
    "        :files) _files ;;\n"
    "        :dirs) _files -/ ;;\n"
    "        ?*)\n"
    "            name=${line%%$'\\t'*}\n"
    "            described+=(\"${name//:/\\\\:}:${line#*$'\\t'}\")\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "    (( $#described )) && _describe -V sbx described\n"
    "}\n"
    "if [[ $funcstack[1] == _sbx ]]; then _sbx; else compdef _sbx sbx; fi\n";

static const char fish_script[] = "# Completion of sbx for fish:  sbx completion fish | source\n"
                                  "function __sbx_complete\n"
                                  "    set -l words (commandline -opc) (commandline -ct)\n"
                                  "    set -l program $words[1]\n"
                                  "    set -e words[1]\n"
                                  "    for line in ($program __complete -- $words 2>/dev/null)\n"
                                  "        switch $line\n"
                                  "            case ':files'\n"
                                  "                __fish_complete_path (commandline -ct)\n"
                                  "            case ':dirs'\n"
                                  "                __fish_complete_directories (commandline -ct)\n"
                                  "            case '*'\n"
                                  "                echo $line\n"
                                  "        end\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c sbx -f -a '(__sbx_complete)'\n";

static enum sbx_code completion(struct sbx_cli *cli, struct sbx_err *err)
{
    const char *shell = cli->args.v[0];

    if (!strcmp(shell, "bash"))
        fputs(bash_script, cli->out);
    else if (!strcmp(shell, "zsh"))
        fputs(zsh_script, cli->out);
    else if (!strcmp(shell, "fish"))
        fputs(fish_script, cli->out);
    else if (!strcmp(shell, "docs"))
        sbx_docs_print(cli->out);
    else
        return sbx_err_set(err, SBX_USAGE, "no completion for \"%s\": want bash, zsh or fish",
                           shell);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_completion = {
    .name = "completion",
    .summary = "Print a completion script for a shell",
    .args = "bash|zsh|fish",
    .example = "source <(sbx completion bash)\n"
               "sbx completion zsh >\"${fpath[1]}/_sbx\"\n"
               "sbx completion fish >~/.config/fish/completions/sbx.fish",
    .min = 1,
    .max = 1,
    .passthrough = true,
    .words = SBX_WORDS_SHELL,
    .run = completion,
};
