// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Every block of commands in the documents, which are written for a POSIX shell, is run here, each in a folder of its own that holds what the documents speak of, with an agent behind python, node and npm.
// A block that is not run says why in the line above it, and that reason stands for the whole block or for some commands of tapedeck:
//
//	<!-- not run: why -->
//	<!-- not run (serve, stale): why -->
//
// What only measures, with make and go alone, may be left out for a whole document: <!-- measurements are not run: why -->. Whatever is not run is looked up all the
// same: commands and flags in the program, targets, packages and files in the repository. So is a synopsis, in which words in capitals or … stand for something.

type commandBlock struct {
	where, text string
	lines       []string // whole commands, without prompts and comments
	skip        string   // why it is not run
	only        []string // the commands of tapedeck that are not run; none: all
	measures    bool     // a whole document leaves measurements out
}

var (
	blockOfCode  = regexp.MustCompile("(?ms)^(<!-- not run(?: \\(([^)\n]+)\\))?: ([^\n]*?) -->\n)?( *)```([a-z]*)\n(.*?)^ *```$")
	measurements = regexp.MustCompile(`(?m)^<!-- measurements are not run: .+ -->$`)
	beginsOne    = regexp.MustCompile(`^(\$ )?(tapedeck|make|go|git|npm|pip|python3?|node|npx|docker|kubectl|kustomize|helm|systemctl|export|curl|printf|head|sh|bin/[a-z-]+|aws|gcloud|gsutil|az|[A-Z_]+=\S+) `)
	placeholder  = regexp.MustCompile(`^\[?[A-Z][A-Z0-9,|:-]*\]?$|…`) // a whole word: REF, [DECK], A,B,C
	comment      = regexp.MustCompile(`(^|\s)# .*$`)
)

func commandBlocks(t *testing.T) (all []commandBlock) {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "*/*/README.md", "examples/README.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, filepath.Clean(repository)+string(filepath.Separator)))
		all = append(all, blocksOf(name, strings.ReplaceAll(string(body), "\r\n", "\n"))...)
	}
	return all
}

func blocksOf(name, document string) (all []commandBlock) {
	for _, m := range blockOfCode.FindAllStringSubmatchIndex(document, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return document[m[2*i]:m[2*i+1]]
		}
		b := commandBlock{where: fmt.Sprintf("%s:%d", name, 1+strings.Count(document[:m[8]], "\n")), text: part(6), skip: part(3), measures: measurements.MatchString(document)}
		if part(2) != "" {
			b.only = strings.Split(part(2), ", ")
		}
		kind := part(5)
		if kind != "" && !slices.Contains([]string{"sh", "shell", "bash", "console"}, kind) {
			continue
		}
		prompts := strings.HasPrefix(b.text, "$ ")
		for line := range strings.SplitSeq(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
			line = comment.ReplaceAllString(strings.TrimSpace(line), "")
			if command, prompted := strings.CutPrefix(line, "$ "); prompted || !prompts && (kind != "" || beginsOne.MatchString(line+" ")) && line != "" {
				b.lines = append(b.lines, strings.TrimSpace(command))
			}
		}
		if len(b.lines) > 0 {
			all = append(all, b)
		}
	}
	return all
}

// words divides a command as a shell does, without expanding anything; plain is false if only a shell can run it.
func words(line string) (out []string, plain bool) {
	plain = true
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			plain = plain && (quote == '\'' || r != '$')
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ':
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			plain = plain && !strings.ContainsRune("|&;<>$*`", r)
			open = true
			word.WriteRune(r)
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out, plain && quote == 0
}

// synopsis tells a command in which a word stands for something. What is quoted is one word: the AND of a condition is none.
func synopsis(line string) bool {
	all, _ := words(line)
	return slices.ContainsFunc(all, placeholder.MatchString)
}

// exempt tells a command of a block that is not run.
func (b commandBlock) exempt(line string) bool {
	switch {
	case b.skip == "":
		return b.measures && !strings.Contains(line, "tapedeck ")
	case len(b.only) == 0:
		return true
	}
	return slices.ContainsFunc(b.only, func(name string) bool {
		return strings.HasPrefix(line, name) || strings.Contains(line, "tapedeck "+name)
	})
}

func TestCommandsOfTheDocumentsRun(t *testing.T) {
	all := commandBlocks(t)
	home := theirFolder(t)
	ran, count := 0, map[string]int{}
	for _, b := range all {
		t.Run(b.where, func(t *testing.T) {
			var toRun []string
			for _, line := range b.lines {
				lookUp(t, line)
				if !synopsis(line) && !b.exempt(line) {
					toRun = append(toRun, line)
				}
			}
			switch {
			case len(toRun) > 0:
				count["run"]++
			case b.skip != "" || b.measures:
				count["not run, for a reason that is said"]++
				return
			default:
				count["a synopsis"]++
				return
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(home)); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			for _, line := range toRun {
				ran++
				runLine(t, line)
			}
		})
	}
	t.Logf("%d blocks: %v; %d commands run", len(all), count, ran)
	if ran < 30 {
		t.Errorf("only %d commands were run", ran)
	}
}

// runLine runs a command as its reader would type it. A finding, exit code 1, is an answer; a command that could not do what it is for is not.
func runLine(t *testing.T, line string) {
	t.Helper()
	args, plain := words(line)
	if plain && args[0] == "tapedeck" {
		args = slices.Clone(args[1:])
		for i, a := range args {
			if a == "--listen" && i+1 < len(args) {
				args[i+1] = "127.0.0.1:0" // its port may be taken here
			}
		}
		if server := args[0] == "serve" || args[0] == "view"; server && !slices.Contains(args, "--listen") {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		out := &untilItListens{stop: stop}
		code := run(ctx, args, strings.NewReader(""), out, out)
		if code > exitPartial && !out.listens() {
			t.Errorf("%s\nexit code %d\n%s", line, code, out.text())
		}
		return
	}
	if !strings.Contains(line, "tapedeck ") {
		t.Errorf("%s: is not run here; say why in a line above the block: <!-- not run: … -->", line)
		return
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Env = programOnPath(t)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code > exitPartial || code < 0 {
		t.Errorf("%s\nexit code %d, %v\n%s", line, code, err, out)
	}
}

// untilItListens is the output of a command, which ends a server when it says that it listens.
type untilItListens struct {
	mu   sync.Mutex
	b    bytes.Buffer
	stop context.CancelFunc
}

func (o *untilItListens) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(p)
	if bytes.Contains(o.b.Bytes(), []byte("http://127.0.0.1:")) {
		o.stop()
	}
	return len(p), nil
}

func (o *untilItListens) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *untilItListens) listens() bool { return strings.Contains(o.text(), "http://127.0.0.1:") }

// theirFolder is the folder in which a reader types: telemetry of two runs, their tapes, a deck, snapshots, a check, a key, and an agent on the PATH.
func theirFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	write := func(name string, body []byte, mode fs.FileMode) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, body, mode); err != nil {
			t.Fatal(err)
		}
	}
	done := func(args ...string) {
		t.Helper()
		if got := commanded(t, args...); got.code != exitOK {
			t.Fatalf("%v: %+v", args, got)
		}
	}
	good, logRecords := read(forge), read(logs)
	bad := bytes.ReplaceAll(good, []byte("99"), []byte("98"))
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	write("traces.jsonl", good, 0o600)
	write("good.jsonl", good, 0o600)
	write("bad.jsonl", bad, 0o600)
	write("replayed.jsonl", good, 0o600)
	write("logs.jsonl", logRecords, 0o600)
	write("logs.jsonl.zst", w.EncodeAll(logRecords, nil), 0o600)
	const key = "0123456789abcdefghijklmnopqrstuvwxyz"
	t.Setenv(keyVariable, key)
	write("key", []byte(key), 0o600)
	write("rules.yaml", []byte("rules:\n  - {name: employee-number, pattern: 'EMP-(\\d{6})'}\n"), 0o600)
	write("passes.sh", []byte("#!/bin/sh\nexit 1\n"), 0o700)
	write("check.sh", []byte("#!/bin/sh\nexec env "+candidateVariable+"=scorer '"+self+"'\n"), 0o700)
	for _, name := range []string{"python", "python3", "node", "npm"} {
		write("bin/"+name, []byte("#!/bin/sh\nexec env "+agentVariable+"=oracle '"+self+"' \"$@\"\n"), 0o700)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	done("derive", in("good.jsonl"), "--to", in("deck"))
	replay := bytes.Replace(bad, []byte(`"attributes": [`), []byte(`"attributes": [{"key":"replay_run_id","value":{"stringValue":"replay-17"}},`), 1)
	for name, telemetry := range map[string][]byte{"good.json": good, "bad.json": bad, "tape.json": good, "replayed/tape.json": replay} {
		scratch := t.TempDir()
		file := filepath.Join(scratch, "traces.jsonl")
		if err := os.WriteFile(file, telemetry, 0o600); err != nil {
			t.Fatal(err)
		}
		done("derive", file, "--to", filepath.Join(scratch, "deck"))
		found := 0
		err := filepath.WalkDir(filepath.Join(scratch, "deck"), func(path string, _ fs.DirEntry, err error) error {
			switch filepath.Base(path) {
			case "tape.json":
				found++
				write(name, read(path), 0o600)
			case "oracle.json":
				write(filepath.Join(filepath.Dir(name), "oracle.json"), read(path), 0o600)
			}
			return err
		})
		if err != nil || found != 1 {
			t.Fatalf("%s: %d tapes, %v", name, found, err)
		}
	}
	done("export", in("tape.json"), "--format", "waza", "--flat", "-o", in("snapshots"))
	done("suite", "add", in("tape.json"), "--name", "stock", "--suite", in("tapes"))
	write("checks/stock/case.yaml", caseOfTheDocuments(t), 0o600)
	t.Setenv("PATH", in("bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	return dir
}

// lookUp finds every part of a line in the program and in the repository.
func lookUp(t *testing.T, line string) {
	t.Helper()
	for command := range strings.SplitSeq(strings.ReplaceAll(line, " && ", " | "), " | ") {
		args, _ := words(command)
		for len(args) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(args[0]) {
			args = args[1:]
		}
		if len(args) == 0 {
			continue
		}
		there := func(path string) {
			t.Helper()
			if _, err := os.Stat(filepath.Join(documentRoot, path)); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		switch args[0] {
		case "tapedeck":
			lookUpCommand(t, line, args[1:])
		case "make":
			makefile, err := os.ReadFile(filepath.Join(documentRoot, "Makefile"))
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(args[1]) + `:`).Match(makefile) {
				t.Errorf("%s: make has no target %s", line, args[1])
			}
		case "go":
			for _, a := range args {
				if strings.HasPrefix(a, "./") {
					there(a)
				}
			}
		case "sh":
			there(args[1])
		case "bin/otelcol-tapedeck", "bin/otelcol-tapedeck-full":
			if at := slices.Index(args, "--config"); at > 0 {
				there(args[at+1])
			}
		case "export":
			name, _, _ := strings.Cut(args[1], "=")
			if !examplesRead(t, name) {
				t.Errorf("%s: no example reads %s", line, name)
			}
		}
	}
}

// documentRoot is the repository, wherever a test has gone.
var documentRoot = func() string { root, _ := filepath.Abs(repository); return root }()

func examplesRead(t *testing.T, variable string) (used bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(documentRoot, "examples", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		used = used || bytes.Contains(text, []byte("${env:"+variable)) || bytes.Contains(text, []byte("env: "+variable+"\n"))
	}
	return used
}

var flagWord = regexp.MustCompile(`(?:^|[\[|(,])(-{1,2}[a-z][a-z0-9-]*)`)

func lookUpCommand(t *testing.T, line string, args []string) {
	t.Helper()
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end] // what stands behind is a command of the agent's
	}
	if len(args) > 0 && args[0] == "COMMAND" {
		return
	}
	found, _, err := newRoot().Find(args)
	if err != nil || found.Name() == "tapedeck" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		t.Errorf("%s: tapedeck has no such command", line)
		return
	}
	for _, a := range args {
		for _, m := range flagWord.FindAllStringSubmatch(a, -1) {
			name := strings.TrimLeft(m[1], "-")
			known := found.Flags().Lookup(name) != nil || found.InheritedFlags().Lookup(name) != nil || name == "help"
			if len(name) == 1 {
				known = found.Flags().ShorthandLookup(name) != nil || name == "h"
			}
			if !known {
				t.Errorf("%s: %s has no flag %s", line, found.CommandPath(), m[1])
			}
		}
	}
}

// What this file says of blocks is true: a new block without a mark is run, and a reason is asked for.
func TestBlocksOfCommandsAreFound(t *testing.T) {
	const document = "text\n\n```sh\ntapedeck show x   # why\nmake test\n```\n\n<!-- not run: it needs a bucket -->\n```\ntapedeck ls s3://x \\\n  --since 7d\n```\n\n```\n$ tapedeck show y\ntapedeck: said\n```\n\n" +
		"<!-- not run (serve): no port -->\n```sh\ntapedeck serve --oracle x\ntapedeck show z\n```\n\n```yaml\ntapedeck: x\n```\n\n```\ntapedeck show REF\ntapedeck ls w --where \"a = 'x' AND b > 1\"\n```\n\n```\na picture of tapedeck\n```\n<!-- not run: -->\n```sh\ntapedeck ls w\n```\n"
	var got []string
	for _, b := range blocksOf("x.md", document) {
		for _, line := range b.lines {
			state := "run"
			switch {
			case synopsis(line):
				state = "synopsis"
			case b.exempt(line):
				state = "not run"
			}
			got = append(got, b.where+" "+state+" "+line)
		}
	}
	want := []string{"x.md:3 run tapedeck show x", "x.md:3 run make test", "x.md:9 not run tapedeck ls s3://x    --since 7d", "x.md:14 run tapedeck show y",
		"x.md:20 not run tapedeck serve --oracle x", "x.md:20 run tapedeck show z", "x.md:29 synopsis tapedeck show REF", `x.md:29 run tapedeck ls w --where "a = 'x' AND b > 1"`, "x.md:38 run tapedeck ls w"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
