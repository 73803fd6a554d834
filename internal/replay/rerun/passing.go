// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"errors"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// passing are the variables that a replayed command gets from the environment of this program: what programs
// need to run, and settings of runtimes and SDKs. One that ends in * is a beginning; of those that begin so,
// what is named like a secret is left out.
var passing = strings.Fields(`
	PATH HOME USER LOGNAME SHELL PWD OLDPWD SHLVL _ HOSTNAME LANG LANGUAGE LC_* TZ TZDIR TMPDIR TMP TEMP CI DO_NOT_TRACK DEBUG LOG_LEVEL EDITOR VISUAL PAGER
	TERM TERMINFO TERMINFO_DIRS COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS
	SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT OS USERNAME USERPROFILE USERDOMAIN COMPUTERNAME HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA
	ALLUSERSPROFILE PUBLIC PROGRAMFILES* COMMONPROGRAMFILES* PSMODULEPATH NUMBER_OF_PROCESSORS PROCESSOR_*
	LD_LIBRARY_PATH LD_PRELOAD DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH DYLD_INSERT_LIBRARIES LOCALE_ARCHIVE NIX_LD NIX_LD_LIBRARY_PATH NIX_PATH NIX_PROFILES
	SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT GRPC_DEFAULT_SSL_ROOTS_FILE_PATH
	HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
	PYTHON* VIRTUAL_ENV VIRTUAL_ENV_PROMPT CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE CONDA_SHLVL PYENV_* PIPENV_ACTIVE POETRY_ACTIVE
	UV UV_PYTHON UV_CACHE_DIR UV_OFFLINE UV_PROJECT_ENVIRONMENT UV_PYTHON_INSTALL_DIR OMP_* OPENBLAS_* MKL_* CUDA_*
	HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE TRANSFORMERS_CACHE TRANSFORMERS_OFFLINE TORCH_HOME NLTK_DATA TIKTOKEN_CACHE_DIR TOKENIZERS_PARALLELISM
	NODE_* NVM_DIR NVM_BIN FNM_DIR VOLTA_HOME COREPACK_* PNPM_HOME BUN_INSTALL DENO_DIR PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH CHROME_BIN
	GOROOT GOPATH GOBIN GOCACHE GOMODCACHE GOTMPDIR GOENV GOFLAGS GOWORK GO111MODULE GOTOOLCHAIN GOEXPERIMENT GOOS GOARCH GOAMD64 GOARM GOARM64 CGO_* CC CXX
	GOPROXY GOPRIVATE GONOPROXY GOSUMDB GONOSUMDB GOINSECURE GOVCS GOMAXPROCS GOGC GOMEMLIMIT GODEBUG GOTRACEBACK GOCOVERDIR
	JAVA_HOME JDK_HOME JRE_HOME JAVA_OPTS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_HOME MAVEN_OPTS M2_HOME GRADLE_HOME GRADLE_OPTS GRADLE_USER_HOME SDKMAN_DIR
	CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUST_LOG RUST_BACKTRACE DOTNET_* ASPNETCORE_ENVIRONMENT NUGET_PACKAGES
	GEM_HOME GEM_PATH RUBYLIB RUBYOPT BUNDLE_GEMFILE BUNDLE_PATH RBENV_* PERL5LIB PERL5OPT PHPRC PHP_INI_SCAN_DIR ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR
	GIT_AUTHOR_* GIT_COMMITTER_* OTEL_*
	OPENAI_* AZURE_OPENAI_* ANTHROPIC_* GEMINI_* AWS_REGION AWS_DEFAULT_REGION GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION`)

// ofAWS are variables that say whose requests to AWS are.
var ofAWS = regexp.MustCompile(`^AWS_(ACCESS_KEY_ID|PROFILE|BEARER_TOKEN_BEDROCK|WEB_IDENTITY_TOKEN_FILE|CONTAINER_CREDENTIALS_(FULL|RELATIVE)_URI)=`)

// secretName is what names of secrets hold. Headers are where OTLP and SDKs have keys.
var secretName = regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|COOKIE|HEADER|AUTH([^A-Z]|$)`)

// secretValue is a user in an address, also of a proxy without a scheme, and a setting within a value, such
// as -Dapp.password=… or ?api-key=….
var secretValue = regexp.MustCompile(`(?i)://[^/?#\s@]*@|^[^/?#\s@]*:[^/?#\s@]*@|(PASS(WORD|WD|PHRASE)?|PWD|SECRET|TOKEN|CREDENTIALS?|(API|ACCESS)[-_.]?KEY)=`)

// Own are the variables that hold secrets of this program. No pattern passes one on.
var Own = []string{RedactionKeyVariable, OracleTokenVariable}

// Choice says which variables a command gets beside those that every command gets.
type Choice struct {
	Names    []string
	Patterns []string // as path.Match has them
	// OfProgram says which variables belong to the program that is run; nil: none. Secrets among them are
	// withheld.
	OfProgram func(name string) bool
}

// CheckName refuses what is no name of a variable, and the redaction key.
func CheckName(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=*\x00"):
		return errors.New("it is no name of a variable; to set one, the command can be: env NAME=VALUE COMMAND")
	case fold(name) == RedactionKeyVariable:
		return errors.New("no command gets the redaction key")
	}
	return nil
}

// CheckPattern refuses what no name fits.
func CheckPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return errors.New("it is no pattern: * stands for any text, ? for a character, [ab] for one of these")
	}
	return nil
}

// fold makes names comparable: on Windows they have no case.
func fold(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// wants reports whether a variable was asked for.
func (c Choice) wants(name string) bool {
	name = fold(name)
	if slices.ContainsFunc(c.Names, func(n string) bool { return fold(n) == name }) {
		return true
	}
	return !slices.Contains(Own, name) && slices.ContainsFunc(c.Patterns, func(pattern string) bool {
		fits, _ := path.Match(fold(pattern), name) // CheckPattern has read it
		return fits
	})
}

// Replay splits an environment into what a replayed command gets, and the names of what it does not. Own
// secrets are not named.
func (c Choice) Replay(environ []string) (passed, withheld []string) {
	for _, variable := range environ {
		name, value, ok := strings.Cut(variable, "=")
		switch {
		case !ok || name == "": // Windows has names of drives that begin with =
			passed = append(passed, variable)
		case c.wants(name) || passes(fold(name), value) || c.ofProgram(fold(name), value):
			passed = append(passed, variable)
		case !slices.Contains(Own, fold(name)):
			withheld = append(withheld, name)
		}
	}
	slices.Sort(withheld)
	return passed, slices.Compact(withheld)
}

func (c Choice) ofProgram(name, value string) bool {
	return c.OfProgram != nil && c.OfProgram(name) && !secretName.MatchString(name) && !secretValue.MatchString(value) && !slices.Contains(Own, name)
}

func passes(name, value string) bool {
	if secretValue.MatchString(value) {
		return false
	}
	return slices.ContainsFunc(passing, func(p string) bool {
		if begin, some := strings.CutSuffix(p, "*"); some {
			return strings.HasPrefix(name, begin) && !secretName.MatchString(name)
		}
		return p == name
	})
}

// Program is the environment of a program that is no replay, and the names of what is left out of it: own
// secrets, and what else is named as being one.
func (c Choice) Program(environ, secrets []string) (passed, withheld []string) {
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if own := slices.Contains(Own, fold(name)); (own || slices.Contains(secrets, fold(name))) && !c.wants(name) {
			if !own {
				withheld = append(withheld, name)
			}
			continue
		}
		passed = append(passed, variable)
	}
	return passed, withheld
}

// StandIns take the place of variables that are withheld. An SDK that refuses to start without its key
// starts, and a program that looks whether there is one finds the same as in production.
func (s Services) StandIns(environ, withheld []string) (list []Variable) {
	for _, name := range withheld {
		if strings.HasSuffix(fold(name), "_API_KEY") {
			list = append(list, Variable{Name: name, Value: dummyKey})
		}
	}
	if s.Model != "" && slices.ContainsFunc(environ, func(v string) bool { return ofAWS.MatchString(v) }) { // without them programs take AWS for not set up
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			list = append(list, Variable{Name: name, Value: dummyKey})
		}
	}
	const azure = "AZURE_OPENAI_ENDPOINT" // its SDK has no base URL of its own
	if s.Model != "" && slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, azure+"=") }) {
		list = append(list, Variable{Name: azure, Value: s.Model})
	}
	return list
}
