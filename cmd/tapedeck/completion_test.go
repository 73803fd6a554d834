// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// programOnPath is the environment of a shell in which tapedeck is this test binary.
func programOnPath(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tapedeck"), []byte("#!/bin/sh\n"+programVariable+"=1 exec '"+self+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func everyCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, below := range c.Commands() {
		everyCommand(below, visit)
	}
}

// What a shell offers for a flag is what its help names, unless it is a list of the program's own.
func TestChoicesStandInTheHelp(t *testing.T) {
	lists := []string{"columns", "finding", "sort", "grade", "status", "formats", "answers"}
	unused := choices()
	everyCommand(newRoot(), func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			key := strings.TrimPrefix(c.CommandPath(), "tapedeck ") + " --" + f.Name
			values, known := choices()[key]
			if !known {
				key = f.Name
				values = choices()[key]
			}
			delete(unused, key)
			for _, v := range values {
				if !slices.Contains(lists, f.Name) && !strings.Contains(f.Usage, strings.TrimRight(v, ":")) {
					t.Errorf("%s --%s is completed with %q, of which its help says nothing: %s", c.CommandPath(), f.Name, v, f.Usage)
				}
			}
		})
	})
	for key := range unused {
		t.Errorf("no command has a flag %s", key)
	}
}

// The completions are asked in the shells themselves, as far as they are installed.
func TestShellsComplete(t *testing.T) {
	env := programOnPath(t)
	lines := [][2]string{ // a command line whose last word is unfinished, and what is offered for it
		{"tapedeck sho", "show"},
		{"tapedeck completion po", "powershell"},
		{"tapedeck show --eve", "--events"},
		{"tapedeck export --format at", "atif"},
		{"tapedeck ls --finding content_abs", "content_absent"},
	}
	// Each script gets these lines as arguments, and prints for each what the shell would offer in one line.
	for shell, script := range map[string]string{
		"bash": `
			_init_completion() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; } # of bash-completion
			compopt() { :; } # works within a completion only
			source /dev/stdin <<< "$(tapedeck completion bash)"
			complete -p tapedeck >/dev/null || exit 1
			for line; do
				COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$line; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
				__start_tapedeck
				echo "${COMPREPLY[@]}"
			done`,
		"zsh": `
			autoload -Uz compinit; compinit -D
			source =(tapedeck completion zsh)
			[[ $_comps[tapedeck] == _tapedeck ]] || exit 1
			_describe() { print -r -- ${completions//:/ } }
			for line; do words=(${=line}); CURRENT=$#words; _tapedeck; done`,
		"fish": `tapedeck completion fish | source; for line in $argv; complete -C $line | string join ' '; end; true`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				if shell == "bash" && os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
					t.Fatal(err)
				}
				t.Skip("CI has bash alone; the others are tried where they are installed: ", err)
			}
			args := []string{"-c", script, shell}
			if shell == "fish" {
				args = args[:2]
			}
			for _, line := range lines {
				args = append(args, line[0])
			}
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			offered := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err != nil || len(offered) != len(lines) {
				t.Fatalf("%v\n%s", err, out)
			}
			for i, line := range lines {
				if !slices.Contains(strings.Fields(offered[i]), line[1]) {
					t.Errorf("%q: %q, want %s", line[0], offered[i], line[1])
				}
			}
		})
	}
	powershell := commanded(t, "completion", "powershell") // of which nothing more is tried here
	if powershell.code != exitOK || !strings.Contains(powershell.stdout, "Register-ArgumentCompleter -CommandName 'tapedeck'") {
		t.Errorf("%+v", powershell)
	}
}

// The manual pages are read by groff where it is installed, with all its warnings; everywhere they have each command and each flag.
func TestManualPagesAreWhole(t *testing.T) {
	dir := t.TempDir()
	if got := commanded(t, "man", dir); got.code != exitOK || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	pages := 0
	everyCommand(newRoot(), func(c *cobra.Command) {
		if c.Name() == "help" {
			return
		}
		pages++
		text, err := os.ReadFile(filepath.Join(dir, manName(c)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(string(text), `\fB\-\-`+roff(f.Name)+`\fR`) {
				t.Errorf("%s: no --%s", c.CommandPath(), f.Name)
			}
		})
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() && below.Name() != "help" && !strings.Contains(string(text), roff(manName(below))) {
				t.Errorf("%s: no %s", c.CommandPath(), below.Name())
			}
		}
	})
	written, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(written) != pages || pages < 40 {
		t.Fatalf("%d files of %d commands, %v", len(written), pages, err)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("CI has no groff; what it would warn of is tried where it is installed: ", err)
	}
	if out, err := exec.CommandContext(t.Context(), groff, append([]string{"-K", "utf8", "-man", "-ww", "-z"}, written...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRequestsOfRoffAreText(t *testing.T) {
	for text, want := range map[string]string{".so /etc/passwd": `\&.so /etc/passwd`, "a\n'b": "a\n\\&'b", `\fB --x`: `\efB \-\-x`} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
