// SPDX-License-Identifier: Apache-2.0

/// Names of environment variables.
package enum VariableName {
    /// Whether a shell takes the name: letters, digits and `_`, not a digit first.
    package static func isValid(_ name: some StringProtocol) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy(isPart)
    }

    static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The variable for a secret: `github-token` becomes `GITHUB_TOKEN`. What is no letter or digit
    /// of ASCII becomes an underscore, and one is put before a digit at the start. nil for a name
    /// without such a letter or digit.
    package static func upperSnake(_ name: String) -> String? {
        let bytes = name.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 0x20
            default: isPart(byte) ? byte : UInt8(ascii: "_")
            }
        }
        let isNamed = bytes.contains { $0 != UInt8(ascii: "_") }
        guard isNamed, name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return isValid(text) ? text : "_" + text
    }

    /// Whether a program may run code that the variable names, or settings that name code: who can
    /// store a secret would choose what runs. Variables for secrets, as `CARGO_REGISTRY_TOKEN` and
    /// `BUNDLE_GEMS__EXAMPLE`, are none of these.
    package static func choosesCode(_ name: String) -> Bool {
        let upper = name.uppercased()
        return codeNames.contains(upper) || codePrefixes.contains(where: upper.hasPrefix)
    }

    /// In capital letters: npm reads its variables in either form.
    private static let codePrefixes = [
        "LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "CORECLR_PROFILER", "COR_PROFILER",
        "CARGO_BUILD_", "CARGO_TARGET_",
    ]

    private static let codeNames: Set<String> = [
        // Shells and the programs that they find.
        "PATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "IFS", "PS1", "PS2", "PS4",
        "PROMPT_COMMAND", "CDPATH", "FPATH", "ZDOTDIR", "SHELL", "HOME", "XDG_CONFIG_HOME",
        "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
        // The C library.
        "GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "HOSTALIASES", "RES_OPTIONS",
        // Programs that others start.
        "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "SSH_ASKPASS",
        "SUDO_ASKPASS", "SUDO_EDITOR", "TERMINFO", "TERMCAP", "RSYNC_RSH", "CVS_RSH", "SVN_SSH",
        "HGRCPATH", "DOCKER_CONFIG", "KUBECONFIG", "AWS_CONFIG_FILE", "PGSYSCONFDIR",
        // git.
        "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
        "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_DIR",
        "GIT_TEMPLATE_DIR",
        // Package managers.
        "CARGO_HOME", "BUNDLE_GEMFILE", "BUNDLE_PATH", "BUNDLE_APP_CONFIG", "BUNDLE_USER_CONFIG",
        "NPM_CONFIG_SCRIPT_SHELL", "NPM_CONFIG_NODE_OPTIONS", "NPM_CONFIG_USERCONFIG",
        "NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_GIT", "NPM_CONFIG_PREFIX",
        // Languages.
        "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "DOTNET_SHARED_STORE", "DOTNET_ROOT",
        "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONWARNINGS",
        "PYTHONBREAKPOINT", "PYTHONUSERBASE", "PERL5LIB", "PERLLIB", "PERL5OPT", "PERL5DB",
        "RUBYOPT", "RUBYLIB", "GEM_PATH", "GEM_HOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS", "JAVA_OPTS", "CLASSPATH", "MAVEN_OPTS", "GRADLE_OPTS", "LUA_PATH",
        "LUA_CPATH", "LUA_INIT", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE", "R_PROFILE_USER",
        "R_ENVIRON", "R_ENVIRON_USER", "TCLLIBPATH", "GHCRTS", "ERL_AFLAGS", "ERL_FLAGS",
        "ERL_ZFLAGS", "GOFLAGS", "RUSTC_WRAPPER", "RUSTC", "RUSTFLAGS", "MAKEFLAGS",
        "GNUMAKEFLAGS", "CC", "CXX",
        // Libraries that load others.
        "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "QT_PLUGIN_PATH",
        "QT_QPA_PLATFORM_PLUGIN_PATH", "GTK_MODULES", "GTK_PATH", "GTK3_MODULES",
        "GIO_EXTRA_MODULES", "GST_PLUGIN_PATH", "GI_TYPELIB_PATH", "PKCS11_MODULE_PATH",
    ]
}
