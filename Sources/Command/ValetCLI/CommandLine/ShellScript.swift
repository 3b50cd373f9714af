// SPDX-License-Identifier: Apache-2.0

/// The scripts of `valet completions`. They hand the command line to `valet`, and let the shell
/// complete files and programs itself.
enum ShellScript {
    static let all = ["bash": bash, "zsh": zsh, "fish": fish]

    private static let bash = """
        # Completion of valet for bash.
        _valet() {
            local -a reply
            mapfile -t reply < <(
                command valet completions next bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
            COMPREPLY=("${reply[@]:1}")
            case ${reply[0]-} in
                files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
                folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
                programs) mapfile -t COMPREPLY < <(compgen -c -- "$2") ;;
            esac
        }
        complete -F _valet valet

        """

    private static let zsh = """
        #compdef valet
        # Completion of valet for zsh.
        _valet() {
            local line
            local -a reply names helps
            reply=("${(@f)$(
                command valet completions next zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
            case $reply[1] in
                files) _files; return ;;
                folders) _files -/; return ;;
                programs) _command_names -e; return ;;
            esac
            for line in "${(@)reply[2,-1]}"; do
                [[ -n $line ]] || continue
                names+=("${line%%$'\\t'*}")
                helps+=("${(r:24:)line%%$'\\t'*} ${${line#*$'\\t'}:#$line}")
            done
            compadd -l -d helps -a names
        }
        if [[ ${funcstack[1]-} == _valet ]]; then _valet "$@"; else compdef _valet valet; fi

        """

    private static let fish = """
        # Completion of valet for fish.
        function __valet_complete
            set -l words (commandline -opc)
            set -l current (commandline -ct)
            set -l reply (command valet completions next fish $words[2..-1] "$current" 2>/dev/null)
            switch "$reply[1]"
                case files
                    __fish_complete_path $current
                case folders
                    __fish_complete_directories $current
                case programs
                    __fish_complete_command
                case '*'
                    printf '%s\\n' $reply[2..-1]
            end
        end
        complete -c valet -f -a '(__valet_complete)'

        """
}
