// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Found is a program of the table within a command.
type Found struct {
	*Profile
	// Start is where the part of the command begins that runs the program, its runner or interpreter
	// included. At is the word behind which its arguments stand, -1 where these stand in the text of a shell.
	Start, At int
	// Instrumented says that opentelemetry-instrument runs it.
	Instrumented bool
}

// maxWords bounds how many words of a command are looked at.
const maxWords = 64

// Find returns the program that a command runs, where the table has it. It looks through env, timeout, nice,
// nohup, time and opentelemetry-instrument, through the runners of packages (npx, bunx, npm exec, pnpm dlx,
// uvx, uv run, uv tool run, pipx run), through interpreters (node, bun, python), and at the commands within
// sh -c. It does not look into scripts.
func Find(argv []string) (Found, bool) {
	f := Found{}
	for i := 0; i < len(argv) && i < maxWords; {
		f.Start = i
		switch name := program(argv[i]); {
		case name == "env":
			i = skip(argv, i+1, "-u", "--unset", "-C", "--chdir", "-S", "--split-string")
			for i < len(argv) && strings.Contains(argv[i], "=") {
				i++
			}
		case name == "timeout":
			i = skip(argv, i+1, "-k", "--kill-after", "-s", "--signal") + 1
		case name == "nice":
			i = skip(argv, i+1, "-n", "--adjustment")
		case slices.Contains([]string{"nohup", "time", "exec", "command", "stdbuf"}, name):
			i = skip(argv, i+1)
		case name == Instrumenter:
			f.Instrumented = true
			i = skip(argv, i+1)
		case slices.Contains([]string{"sh", "bash", "dash", "zsh"}, name):
			return f.inShell(argv[i+1:])
		case runs(argv, i) > 0:
			return f.ofPackage(argv, i+runs(argv, i))
		case name == "node" || name == "bun" || name == "deno":
			return f.ofScript(argv, skip(argv, i+1, "-r", "--require", "--import", "-C", "--conditions"))
		case strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy"):
			return f.ofPython(argv, i+1)
		default:
			return f.ofProgram(argv[i], i)
		}
	}
	return Found{}, false
}

// Instrumenter loads the instrumentations that are installed beside a Python program.
const Instrumenter = "opentelemetry-instrument"

// program is the name of the program that a word of a command names.
func program(word string) string {
	name := strings.ToLower(path.Base(filepath.ToSlash(word)))
	for _, end := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// skip returns the index behind options. Those of with take a value.
func skip(argv []string, i int, with ...string) int {
	for ; i < len(argv) && strings.HasPrefix(argv[i], "-"); i++ {
		switch {
		case argv[i] == "--":
			return i + 1
		case slices.Contains(with, argv[i]):
			i++
		}
	}
	return i
}

// runners run a package by its name.
var runners = [][]string{{"npx"}, {"bunx"}, {"pnpx"}, {"uvx"}, {"npm", "exec"}, {"npm", "x"}, {"pnpm", "dlx"}, {"pnpm", "exec"}, {"yarn", "dlx"}, {"bun", "x"}, {"uv", "run"}, {"uv", "tool", "run"}, {"pipx", "run"}, {"poetry", "run"}}

// runs returns of how many words the runner at i is, 0 if there is none.
func runs(argv []string, i int) int {
	for _, words := range runners {
		if len(argv) >= i+len(words) && program(argv[i]) == words[0] && slices.Equal(argv[i+1:i+len(words)], words[1:]) {
			return len(words)
		}
	}
	return 0
}

func (f Found) ofPackage(argv []string, i int) (Found, bool) {
	i = skip(argv, i, "-p", "--package", "--from", "--with", "--python", "--project", "--directory", "--spec", "--extra", "--group")
	if i >= len(argv) {
		return Found{}, false
	}
	if program(argv[i]) == Instrumenter {
		f.Instrumented = true
		if i++; i >= len(argv) {
			return Found{}, false
		}
	}
	if strings.HasPrefix(program(argv[i]), "python") {
		return f.ofPython(argv, i+1)
	}
	name, version := argv[i], strings.LastIndex(argv[i], "@")
	if version > 0 {
		name = name[:version]
	}
	for k := range Table {
		p := &Table[k]
		if slices.Contains(p.Packages, name) || slices.Contains(p.Programs, name) && (!p.Common || mentions(argv[:i], p.Packages)) {
			f.Profile, f.At = p, i
			return f, true
		}
	}
	return Found{}, false
}

// mentions reports whether a word names one of the packages, with or without a version.
func mentions(words, packages []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(packages, func(p string) bool { return strings.Contains(w, p) })
	})
}

func (f Found) ofScript(argv []string, i int) (Found, bool) {
	if i >= len(argv) {
		return Found{}, false
	}
	for k := range Table {
		if p := &Table[k]; inPackage(resolved(argv[i]), p.Packages) {
			f.Profile, f.At = p, i
			return f, true
		}
	}
	return Found{}, false
}

func (f Found) ofPython(argv []string, i int) (Found, bool) {
	for i < len(argv) && strings.HasPrefix(argv[i], "-") && argv[i] != "-m" {
		if i++; argv[i-1] == "-W" || argv[i-1] == "-X" {
			i++
		}
	}
	if i >= len(argv) {
		return Found{}, false
	}
	if argv[i] != "-m" {
		return f.ofProgram(argv[i], i) // a console script
	}
	if i++; i >= len(argv) {
		return Found{}, false
	}
	for k := range Table {
		p := &Table[k]
		if slices.ContainsFunc(p.Modules, func(m string) bool { return argv[i] == m || strings.HasPrefix(argv[i], m+".") }) {
			f.Profile, f.At = p, i
			return f, true
		}
	}
	return Found{}, false
}

func (f Found) ofProgram(word string, i int) (Found, bool) {
	for k := range Table {
		p := &Table[k]
		if slices.Contains(p.Programs, program(word)) && (!p.Common || p.proves(word)) {
			f.Profile, f.At = p, i
			return f, true
		}
	}
	return Found{}, false
}

// inShell looks at the commands of a text for a shell, by its words alone: what variables and quotes make of
// them is not known.
func (f Found) inShell(args []string) (Found, bool) {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			break // a script
		}
		if !strings.HasSuffix(arg, "c") || i+1 >= len(args) {
			continue
		}
		for _, command := range strings.FieldsFunc(args[i+1], func(r rune) bool { return strings.ContainsRune(";&|\n()", r) }) {
			words := strings.Fields(command)
			for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "exec") {
				words = words[1:]
			}
			if len(words) == 0 || slices.Contains([]string{"sh", "bash", "dash", "zsh"}, program(words[0])) {
				continue
			}
			if in, ok := Find(words); ok {
				f.Profile, f.At, f.Instrumented = in.Profile, -1, in.Instrumented
				return f, true
			}
		}
		return Found{}, false
	}
	return Found{}, false
}

// resolved is the file of a program behind links; "" if there is none.
func resolved(word string) string {
	file, err := exec.LookPath(word)
	if err != nil {
		file = word // node reads a file that cannot be run
	}
	file, err = filepath.EvalSymlinks(file)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(file)
}

func inPackage(file string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.Contains(file, "/node_modules/"+p+"/") })
}

// proves reports whether the file of a program names the profile: by its place, or where it begins.
func (p *Profile) proves(word string) bool {
	const most = 4096
	file := resolved(word)
	if file == "" || inPackage(file, p.Packages) {
		return file != ""
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return false
	}
	in, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = in.Close() }()
	begin, err := io.ReadAll(io.LimitReader(in, most))
	return err == nil && slices.ContainsFunc(slices.Concat(p.Modules, p.Packages), func(name string) bool { return bytes.Contains(begin, []byte(name)) })
}
