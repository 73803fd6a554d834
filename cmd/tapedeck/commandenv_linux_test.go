// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// secretsHere are the variables of a process of tapedeck that commands may not see, and what they hold.
var secretsHere = map[string]string{
	keyVariable: "rhubarb-51c0e7b94a2d6f38-0123456789", tokenVariable: "plum-token-0123456789abcdef",
	"OPENAI_API_KEY": "sk-quince-0001", "AZURE_OPENAI_API_KEY": "quince-0002", "TAVILY_API_KEY": "quince-0003", "GITHUB_TOKEN": "ghp-quince-0004", "DATABASE_URL": "postgres://u:quince-0005@db.test/x",
	"AWS_SECRET_ACCESS_KEY": "quince-0006", "NODE_AUTH_TOKEN": "quince-0007", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=quince-0008", "HTTP_PROXY": "http://u:quince-0009@proxy.test:1",
	"CLERK_MODE": "clerk-fast", "CLERK_STYLE": "clerk-terse", "PYTHONHASHSEED": "7", "LC_TIME": "C",
}

// looking is a command that tells what it was given, what its parent was given, and whether it may read the
// memory of its parent.
const looking = `env; tr '\0' '\n' < /proc/$PPID/environ; (: < /proc/$PPID/mem) && echo memory "is open"; exit 3`

// asUsers runs the program, whose command looks, with the secrets in its environment, as each user that can
// be had. It returns what the command told.
func asUsers(t *testing.T, args func(home string) []string, told func(home, output string) string, check func(t *testing.T, root bool, told string)) {
	t.Helper()
	users := map[string]*syscall.Credential{"this user": nil}
	if os.Getuid() == 0 {
		users["nobody"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, user := range users {
		home, err := os.MkdirTemp("", "tapedeck-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(home) })
		body, err := os.ReadFile(filepath.Join("testdata", "full", "tape.json"))
		if err == nil {
			err = os.WriteFile(filepath.Join(home, "tape.json"), body, 0o644)
		}
		if err == nil && user != nil {
			err = os.Chown(home, int(user.Uid), int(user.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args(home)...) // a user who may not see the folder of the program can run it all the same
		cmd.Dir, cmd.SysProcAttr = home, &syscall.SysProcAttr{Credential: user}
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, programVariable + "=1"}
		for variable, value := range secretsHere {
			cmd.Env = append(cmd.Env, variable+"="+value)
		}
		output, _ := cmd.CombinedOutput() // it has nothing to compare, and fails
		text := strings.ReplaceAll(told(home, string(output)), "\x00", "")
		if !strings.Contains(text, "PATH=") {
			t.Fatalf("%s: the command told nothing: %q\n%s", name, text, output)
		}
		check(t, user == nil && os.Getuid() == 0, text)
	}
}

func itsOutput(_, text string) string { return text }

// holds reports which of the values a text holds.
func holds(text string, variables ...string) (list []string) {
	for _, variable := range variables {
		if strings.Contains(text, secretsHere[variable]) {
			list = append(list, variable)
		}
	}
	return list
}

func lookingReplay(flags ...string) func(string) []string {
	return func(home string) []string {
		return append(append([]string{"replay", filepath.Join(home, "tape.json")}, flags...), "--", "sh", "-c", looking)
	}
}

// A replayed command is given what programs need to run, and can take nothing else from what started it.
func TestAReplayedCommandGetsNoSecretOfOurs(t *testing.T) {
	secrets := []string{
		keyVariable, tokenVariable, "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "TAVILY_API_KEY", "GITHUB_TOKEN", "DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "NODE_AUTH_TOKEN",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "HTTP_PROXY", "CLERK_STYLE",
	}
	for _, way := range []string{"proxy", "off", "namespace"} {
		asUsers(t, lookingReplay("--lockdown", way, "--env", "CLERK_MODE"), itsOutput, func(t *testing.T, root bool, told string) {
			environment, _, _ := strings.Cut(told, "memory is open")
			if seen := holds(environment, secrets...); len(seen) > 0 && way != "namespace" {
				t.Errorf("%s: the command sees %q:\n%s", way, seen, told)
			}
			for _, want := range []string{"CLERK_MODE=clerk-fast\n", "PYTHONHASHSEED=7\n", "LC_TIME=C\n", "OPENAI_API_KEY=tapedeck\n", "AZURE_OPENAI_API_KEY=tapedeck\n", "TAVILY_API_KEY=tapedeck\n"} {
				if !strings.Contains(told, want) {
					t.Errorf("%s: the command does not get %s:\n%s", way, want, told)
				}
			}
			if !root && way != "namespace" && strings.Contains(told, "memory is open") {
				t.Errorf("%s: the command may read the memory of tapedeck", way)
			}
			_, line, said := strings.Cut(told, "the command did not get ")
			line, _, _ = strings.Cut(line, " of the environment; --env NAME passes one on\n")
			names := strings.Split(line, ", ")
			for _, want := range []string{"AWS_SECRET_ACCESS_KEY", "AZURE_OPENAI_API_KEY", "CLERK_STYLE", "DATABASE_URL", "GITHUB_TOKEN", "NODE_AUTH_TOKEN", "TAVILY_API_KEY"} {
				if !said || !slices.Contains(names, want) {
					t.Errorf("%s: the report does not say that %s was withheld: %q", way, want, names)
				}
			}
			if slices.Contains(names, keyVariable) || slices.Contains(names, "OPENAI_API_KEY") || slices.Contains(names, "PATH") {
				t.Errorf("%s: the report names %q", way, names)
			}
		})
	}
}

func TestVariablesArePassedOnByNameAndByPattern(t *testing.T) {
	asUsers(t, lookingReplay("--lockdown", "off", "--env", "GITHUB_TOKEN", "--env-from", "CLERK_*", "--env-from", "TAPEDECK_*"), itsOutput, func(t *testing.T, _ bool, told string) {
		if got := holds(told, "GITHUB_TOKEN", "CLERK_MODE", "CLERK_STYLE", keyVariable, tokenVariable); strings.Join(got, " ") != "GITHUB_TOKEN CLERK_MODE CLERK_STYLE" {
			t.Errorf("the command sees %q:\n%s", got, told)
		}
	})
	for value, want := range map[string]string{"A=B": "env NAME=VALUE COMMAND", "": "no name of a variable", keyVariable: "no command gets the redaction key"} {
		if got := tapedeck(t, "replay", "x", "--env", value, "--", "true"); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("--env %q: %+v", value, got)
		}
	}
	if got := tapedeck(t, "record", "--env-from", "[", "--to", t.TempDir(), "--", "true"); got.code != exitFailed || !strings.Contains(got.stderr, "no pattern") {
		t.Errorf("%+v", got)
	}
}

// What is no replay gets the environment: an agent that is recorded has its keys. It gets no secret of ours,
// and cannot take one.
func TestAProgramThatIsNoReplayGetsAllButOurOwnSecrets(t *testing.T) {
	told := func(file string) func(home, _ string) string {
		return func(home, _ string) string {
			body, err := os.ReadFile(filepath.Join(home, file))
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
	}
	const toFile = "sh -c '(env; tr \"\\0\" \"\\n\" < /proc/$PPID/environ; (: < /proc/$PPID/mem) && echo memory is open) > told 2>&1; exit 3'"
	for name, c := range map[string]struct {
		args func(home string) []string
		told func(home, output string) string
	}{
		"record": {func(home string) []string {
			return []string{"record", "--to", filepath.Join(home, "deck"), "--", "sh", "-c", looking}
		}, itsOutput},
		"record --check": {func(home string) []string {
			return []string{"record", "--to", filepath.Join(home, "deck"), "--check", looking, "--", "true"}
		}, itsOutput},
		"exec-check": {func(string) []string { return []string{"exec-check", "exec:" + toFile} }, told("told")},
		"minimise --check": {func(home string) []string {
			return []string{"minimise", filepath.Join(home, "tape.json"), "--max-checks", "1", "--check", toFile}
		}, told("told")},
	} {
		asUsers(t, c.args, c.told, func(t *testing.T, root bool, told string) {
			if seen := holds(told, keyVariable, tokenVariable); len(seen) > 0 {
				t.Errorf("%s: the command sees %q:\n%s", name, seen, told)
			}
			if got := holds(told, "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "CLERK_MODE"); len(got) != 3 {
				t.Errorf("%s: the command gets only %q", name, got)
			}
			if !root && strings.Contains(told, "memory is open") {
				t.Errorf("%s: the command may read the memory of tapedeck", name)
			}
		})
	}
}

// The keys of the store of a deck are ours where a deck lies in one. A program that has the same store can be
// given them.
func TestTheKeysOfTheDeckAreOurs(t *testing.T) {
	for variable, value := range secretsHere {
		t.Setenv(variable, value)
	}
	for _, c := range []struct {
		names []string
		deck  string
		want  bool
	}{
		{nil, "s3://bucket/prefix?region=eu-central-1", false},
		{[]string{"AWS_SECRET_ACCESS_KEY"}, "s3://bucket/prefix", true},
		{nil, "./deck", true},
		{nil, "gs://bucket", true},
	} {
		var f envFlags
		f.pass.Names = c.names
		environ, withheld := f.program(c.deck)
		got := len(holds(strings.Join(environ, "\n"), "AWS_SECRET_ACCESS_KEY")) == 1
		if own := holds(strings.Join(environ, "\n"), keyVariable, tokenVariable); got != c.want || len(own) > 0 || (len(withheld) == 1) == c.want {
			t.Errorf("%q of %s: %v, and %q; %q is said", c.names, c.deck, got, own, withheld)
		}
	}
}
