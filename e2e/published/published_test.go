// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build published

package published

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

var (
	update = flag.Bool("update", false, "write the table of docs/replay.md anew, from the programs that were run")
	keep   = flag.String("keep", "", "work in this folder, a folder for each program, and keep what was written")
	until  = flag.String("until", "", "stop behind this step: record or replay")
)

// program is a row of programs.yaml.
type program struct {
	Name, Title, Language string
	NPM, Pip              []string          // packages with their versions
	Python                string            // the version of Python, where that of the system does not do
	Env                   map[string]string // the environment of the shell in which both commands are typed
	Files                 map[string]string // what is written before: below <ws>, or <home>
	Before                string            // a command of the shell before both commands, with <bin> first in PATH
	Argv                  []string
	Record, Replay        []string // more flags of the two commands
	Main, Side            string
	Texts                 bool
	Turns                 []scriptedTurn
	Change                []string // what is changed in a recorded answer, and into what; without it the number of lines
	Fails, Why            string   // of a program that does not replay: what the report says, and one sentence for the table
}

// The secrets that are planted in each workspace: a token, a password, a key of a cloud and an address.
var secrets = []string{"ghp_Zk3vQ9rT7mW2xY8bN4cL6dF1gH5jK0pSaR2e", "korrekt-Pferd-99!Batterie", "AKIAQX7RN4TBWZ2LMVPD", "jane.roe@corp-mail.example"}

const question = "Bump VERSION in src/app.py to 2 and tell me how many lines notes.txt has."

var workspaceFiles = map[string]string{
	"notes.txt":  "Release notes\nThe deploy token is " + secrets[0] + " and must rotate.\ndb_password = \"" + secrets[1] + "\"\nAWS key " + secrets[2] + " owner " + secrets[3] + "\n",
	"src/app.py": "VERSION = 1\n\n\ndef greet(name):\n    return f\"hello {name}, version {VERSION}\"\n",
	"README.md":  "# a demo project\n",
}

func readPrograms(t *testing.T, r *strings.Replacer) (all []program) {
	t.Helper()
	data, err := os.ReadFile("programs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(strings.NewReader(r.Replace(string(data))))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// run is a program in its folder.
type run struct {
	program
	t                        *testing.T
	dir, ws, home, deck, bin string
	env                      []string
	model                    *scriptedModel
	recordedApp              string // src/app.py after the recording
	row                      row
}

// row is a line of the table in docs/replay.md.
type row struct {
	Grade   []string
	Exit    int
	Layers  string
	Hooks   bool
	Changed string
}

// What these tests find is a table of docs/replay.md.
func TestPublished(t *testing.T) {
	rows := map[string]string{}
	for _, p := range readPrograms(t, strings.NewReplacer()) {
		t.Run(p.Name, func(t *testing.T) {
			r := published(t, p.Name)
			if *until == "" && !t.Failed() {
				rows[p.Name] = r.line()
			}
		})
	}
	const begin, end = "<!-- published, written by `make e2e-published UPDATE=-update` -->\n", "\n<!-- /published -->"
	path := filepath.Join("..", "..", "docs", "replay.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/replay.md has no table of published programs")
	}
	said := strings.Split(table, "\n")
	lines := []string{"| program | version | language | recorded from | grade | exit code | what ran where | hooks in the process | one recorded answer changed | why not |", "|---|---|---|---|---|---|---|---|---|---|"}
	for _, p := range readPrograms(t, strings.NewReplacer()) { // lines of programs that were not run stay
		line, i := rows[p.Name], slices.IndexFunc(said, func(line string) bool { return strings.HasPrefix(line, "| "+p.Title+" |") })
		switch {
		case line != "" && !*update && !slices.Contains(said, line):
			t.Errorf("docs/replay.md does not say of %s\n%s", p.Name, line)
		case line == "" && i >= 0:
			line = said[i]
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+strings.Join(lines, "\n")+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// line is the line of a program in the table.
func (r *run) line() string {
	version := slices.Concat(r.NPM, r.Pip)[0]
	version = version[strings.LastIndexAny(version, "@=")+1:]
	hooks := "no"
	if r.row.Hooks {
		hooks = "yes"
	}
	from := "telemetry"
	if slices.Contains(r.Record, "--tee") {
		from = "`--tee`"
	}
	grades := slices.Compact(slices.Sorted(slices.Values(r.row.Grade)))
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %d | %s | %s | %s | %s |", r.Title, version, r.Language, from, strings.Join(grades, ", "), r.row.Exit, r.row.Layers, hooks, r.row.Changed, r.Why)
}

// published records a program, replays it, and replays it against a recording in which one answer is another.
func published(t *testing.T, name string) *run {
	dir := t.TempDir()
	if *keep != "" {
		dir = filepath.Join(*keep, name)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	r := &run{t: t, dir: dir, ws: filepath.Join(dir, "ws"), home: filepath.Join(dir, "home"), deck: filepath.Join(dir, "deck"), model: &scriptedModel{truth: map[string]*scriptedCall{}}}
	server := httptest.NewServer(r.model)
	defer server.Close()
	find := func(bin string) {
		for _, p := range readPrograms(t, strings.NewReplacer("<ws>", r.ws, "<home>", r.home, "<model>", server.URL, "<bin>", bin, "<question>", question)) {
			if p.Name == name {
				r.program = p
			}
		}
	}
	find("<bin>")
	r.bin = r.install()
	find(r.bin)
	r.model.turns, r.model.side, r.model.main, r.model.texts = r.Turns, r.Side, r.Main, r.Texts
	if r.model.side == "" {
		r.model.side = "ok"
	}
	r.fresh()
	log, err := os.Create(filepath.Join(dir, "server.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	r.model.log = log

	r.recorded()
	if *until != "record" && !t.Failed() {
		r.replayed()
	}
	if *until == "" && !t.Failed() && r.Fails == "" {
		r.changed()
	}
	return r
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (r *run) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(data)
}

// summary is what the model saw.
func (r *run) summary() string {
	var b strings.Builder
	n, unanswered := 0, []string{}
	for _, q := range r.model.requests {
		if q.API != "" {
			n++
		}
		for _, c := range q.Calls {
			if call := r.model.truth[c.ID]; !call.Answered {
				unanswered = append(unanswered, fmt.Sprint(c.Name, " of turn ", q.Turn))
			}
		}
		fmt.Fprintf(&b, "\n  %d %s %s main=%v turn=%d stream=%v offered=%d not offered=%v calls=%d", q.N, q.API, q.Path, q.Main, q.Turn, q.Stream, len(q.Offered), q.NotOffered, len(q.Calls))
	}
	return fmt.Sprintf("%d model calls, unanswered: %v%s", n, unanswered, b.String())
}

// fresh makes workspace and home anew, each file as it was.
func (r *run) fresh() {
	r.t.Helper()
	for _, dir := range []string{r.ws, r.home} {
		if err := os.RemoveAll(dir); err != nil {
			r.t.Fatal(err)
		}
	}
	files := map[string]string{}
	for name, text := range workspaceFiles {
		files[filepath.Join(r.ws, name)] = text
	}
	for name, text := range r.Files {
		files[name] = text
	}
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.MkdirAll(r.home, 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.env = []string{"HOME=" + r.home, "PATH=" + r.bin + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "XDG_STATE_HOME=" + filepath.Join(r.dir, "state")}
	for name, value := range r.Env {
		r.env = append(r.env, name+"="+value)
	}
	date := "2026-01-01T00:00:00Z"
	cmd := exec.Command("sh", "-ec", "git init -q . && git add -A && git commit -qm init\n"+r.Before)
	cmd.Dir, cmd.Env = r.ws, append(r.env, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=a@b.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("before: %v\n%s", err, out)
	}
}

// tapedeck runs a command of tapedeck with the agent behind it, as it is typed in the workspace.
func (r *run) tapedeck(name string, args ...string) (stdout []byte, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("TAPEDECK_BIN"), "tapedeck"), append(append(args, "--"), r.Argv...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.ws, r.env, &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	for suffix, b := range map[string][]byte{".out": out.Bytes(), ".err": errs.Bytes()} {
		if err := os.WriteFile(filepath.Join(r.dir, name+suffix), b, 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	return out.Bytes(), cmd.ProcessState.ExitCode()
}

// The packages that a program needs are those of one day, and uv, which knows days, is of one version.
const asOf, uvVersion = "2026-11-28", "0.13.8"

// python is the interpreter of the version that a program needs, where pyenv has it too.
func (r *run) python() string {
	name := "python" + cmp.Or(r.Python, "3")
	if exec.Command(name, "--version").Run() == nil {
		return name
	}
	home, _ := os.UserHomeDir()
	if found, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", r.Python+".*", "bin", name)); len(found) > 0 {
		return found[0]
	}
	if os.Getenv("TAPEDECK_REQUIRE_SERVICES") != "" {
		r.t.Fatal("no ", name)
	}
	r.t.Skip("no ", name)
	return ""
}

// install puts the packages of a program into a folder of its own in the cache, and returns that of its
// programs.
func (r *run) install() string {
	r.t.Helper()
	cache := os.Getenv("TAPEDECK_PUBLISHED")
	if cache == "" {
		r.t.Fatal("TAPEDECK_PUBLISHED names no folder for the programs")
	}
	digest := sha256.Sum256(fmt.Append(nil, r.NPM, r.Pip, asOf))
	dir := filepath.Join(cache, r.Name+"-"+hex.EncodeToString(digest[:4]))
	complete := dir + ".complete"
	var script, bin string
	switch {
	case r.NPM != nil:
		bin = filepath.Join(dir, "node_modules", ".bin")
		script = "npm install --prefix " + dir + " --before " + asOf + " --no-fund --no-audit --loglevel=error " + strings.Join(r.NPM, " ")
	default:
		bin = filepath.Join(dir, "bin")
		uv := filepath.Join(cache, "uv-"+uvVersion)
		script = "[ -x " + uv + "/bin/uv ] || { python3 -m venv " + uv + "; " + uv + "/bin/pip install -q --disable-pip-version-check uv==" + uvVersion + "; }\n" +
			r.python() + " -m venv --clear " + dir + "\n" +
			"UV_CACHE_DIR=" + cache + "/uv-cache " + uv + "/bin/uv pip install -q --python " + bin + "/python --exclude-newer " + asOf + " '" + strings.Join(r.Pip, "' '") + "'"
	}
	if _, err := os.Stat(complete); errors.Is(err, fs.ErrNotExist) {
		r.t.Logf("install: %s", script)
		if out, err := exec.Command("sh", "-ec", "rm -rf "+dir+"; mkdir -p "+dir+"\n"+script+"\ntouch "+complete).CombinedOutput(); err != nil {
			r.t.Fatalf("install: %v\n%s", err, tail(string(out), 3000))
		}
	}
	return bin
}
