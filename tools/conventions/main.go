// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command conventions writes the table of the GenAI conventions that the conformance test of
// internal/reconstruct walks. It reads the YAML of the registry from git repositories:
//
//	cd tools && go run ./conventions ../internal/reconstruct/testdata/conventions.tsv CORE.git@384d6616 GENAI.git@34beb964
//
// A row names an attribute, an operation (a value of gen_ai.operation.name, or a method of MCP or A2A), a
// kind of span, an attribute on a kind of span, or an event. What the table says of how a row is sent, where
// it lands and why not is written by hand, and stays. A row that no repository has stays too; it names
// another source.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// folders hold the conventions of agents and models.
var folders = []string{"model/gen-ai", "model/mcp", "model/openai", "model/aws-bedrock", "model/a2a"}

// operations are the attributes whose values are kinds of operations.
var operations = []string{"gen_ai.operation.name", "mcp.method.name", "a2a.method.name"}

// kinds are those of rows, in the order of the table.
var kinds = []string{"attribute", "operation", "span", "on", "event"}

// row is one line. Events have two: one sent as an event of a span, one as a log record. An attribute on a
// kind of span has the kind as its type.
type row struct{ kind, name, typ, sent, lands, why, source string }

func (r row) key() string {
	if r.kind == "event" || r.kind == "on" {
		return r.kind + "\t" + r.name + "\t" + r.typ
	}
	return r.kind + "\t" + r.name
}

// document is a file of the registry, of either format.
type document struct {
	Groups []struct {
		ID         string
		Type       string
		Name       string
		SpanKind   string `yaml:"span_kind"`
		Attributes []attribute
	}
	Attributes  []attribute
	Events      []signal
	Spans       []signal
	Refinements []signal `yaml:"span_refinements"`
	Shared      []signal `yaml:"attribute_groups"`
}

// signal is an event, a span, or a group of attributes that several have.
type signal struct {
	Name           yaml.Node // of a span, how its names are made
	Type, ID, Kind string
	Attributes     []attribute
}

type attribute struct {
	ID, Key, Ref string
	Group        string `yaml:"ref_group"`
	Type         yaml.Node
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: conventions TABLE REPOSITORY@COMMIT ...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "conventions:", err)
		os.Exit(1)
	}
}

func run(table string, repositories []string) error {
	t := &rows{at: map[string]int{}, groups: map[string][]attribute{}}
	for _, r := range repositories {
		repository, commit, ok := strings.Cut(r, "@")
		if !ok {
			return fmt.Errorf("%s names no commit", r)
		}
		if err := t.read(repository, commit); err != nil {
			return err
		}
	}
	before, err := os.ReadFile(table)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	head := t.merge(string(before))
	return os.WriteFile(table, []byte(head+t.String()), 0o644)
}

// rows are those of the table, each once.
type rows struct {
	list   []row
	at     map[string]int
	groups map[string][]attribute // that several spans have
}

// add takes a row; of several the last one tells the source.
func (t *rows) add(r row) {
	if i, known := t.at[r.key()]; known {
		if t.list[i].source = r.source; r.typ != "" {
			t.list[i].typ = r.typ
		}
		return
	}
	t.at[r.key()] = len(t.list)
	t.list = append(t.list, r)
}

// read adds what one repository names at one commit.
func (t *rows) read(repository, commit string) error {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", repository}, args...)...).Output()
		return string(out), err
	}
	date, err := git("log", "-1", "--format=%h of %cs", "--abbrev=8", commit)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", repository, commit, err)
	}
	files, err := git(append([]string{"ls-tree", "-r", "--name-only", commit}, folders...)...)
	if err != nil {
		return err
	}
	var documents []*document
	for _, path := range strings.Fields(files) {
		if !strings.HasSuffix(path, ".yaml") || strings.Contains(path, "metrics") {
			continue
		}
		body, err := git("show", commit+":"+path)
		if err != nil {
			return err
		}
		d := &document{}
		if err := yaml.Unmarshal([]byte(body), d); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, g := range d.Shared {
			t.groups[g.ID] = g.Attributes
		}
		documents = append(documents, d)
	}
	for _, d := range documents {
		t.document(d, strings.TrimSpace(date))
	}
	return nil
}

func (t *rows) document(d *document, source string) {
	t.attributes(d.Attributes, source)
	for _, g := range d.Groups {
		t.attributes(g.Attributes, source)
		switch g.Type {
		case "event":
			t.event(g.Name, source)
		case "span":
			t.add(row{kind: "span", name: strings.TrimPrefix(g.ID, "span."), typ: g.SpanKind, source: source})
		}
	}
	for _, e := range d.Events {
		t.attributes(e.Attributes, source)
		t.event(e.Name.Value, source)
	}
	for _, s := range slices.Concat(d.Spans, d.Refinements) {
		t.attributes(s.Attributes, source)
		t.add(row{kind: "span", name: cmp.Or(s.Type, s.ID), typ: s.Kind, source: source})
		t.on(cmp.Or(s.Type, s.ID), s.Attributes, source)
	}
	for _, s := range d.Shared {
		t.attributes(s.Attributes, source)
	}
}

// on adds the attributes of a kind of span, but those that say which operation it is.
func (t *rows) on(span string, list []attribute, source string) {
	for _, a := range list {
		t.on(span, t.groups[a.Group], source)
		if isOurs(a.Ref) && !slices.Contains(operations, a.Ref) {
			t.add(row{kind: "on", name: a.Ref, typ: span, source: source})
		}
	}
}

func (t *rows) event(name, source string) {
	t.add(row{kind: "event", name: name, typ: "span event", source: source})
	t.add(row{kind: "event", name: name, typ: "log record", source: source})
}

// attributes adds attributes that are defined, those of other conventions that are referred to, and
// operations.
func (t *rows) attributes(list []attribute, source string) {
	for _, a := range list {
		name, typ := cmp.Or(a.ID, a.Key), a.Type.Value
		if name == "" {
			if a.Ref != "" && !isOurs(a.Ref) {
				t.add(row{kind: "attribute", name: a.Ref, typ: "general", source: source})
			}
			continue
		}
		var members struct{ Members []struct{ Value string } }
		if a.Type.Kind == yaml.MappingNode && a.Type.Decode(&members) == nil {
			typ = "enum"
		}
		t.add(row{kind: "attribute", name: name, typ: typ, source: source})
		if slices.Contains(operations, name) {
			for _, m := range members.Members {
				t.add(row{kind: "operation", name: m.Value, typ: name, source: source})
			}
		}
	}
}

// isOurs reports an attribute of one of the folders.
func isOurs(name string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(name, namespace(f)) })
}

// namespace is that of the attributes of a folder.
func namespace(folder string) string {
	return strings.NewReplacer("gen-ai", "gen_ai", "aws-bedrock", "aws.bedrock").Replace(strings.TrimPrefix(folder, "model/")) + "."
}

// merge takes the columns written by hand from the table as it was, and the rows that no repository has. It
// returns the head of the table.
func (t *rows) merge(before string) (head string) {
	for line := range strings.Lines(before) {
		if strings.HasPrefix(line, "#") {
			head += line
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 7 {
			continue
		}
		r := row{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]}
		if i, known := t.at[r.key()]; known {
			t.list[i].sent, t.list[i].lands, t.list[i].why = r.sent, r.lands, r.why
			continue
		}
		t.add(r)
	}
	return head
}

// String sorts the rows by kind; the order of the registry stays.
func (t *rows) String() string {
	slices.SortStableFunc(t.list, func(a, b row) int { return cmp.Compare(slices.Index(kinds, a.kind), slices.Index(kinds, b.kind)) })
	var b strings.Builder
	for _, r := range t.list {
		fmt.Fprintln(&b, strings.Join([]string{r.kind, r.name, r.typ, r.sent, r.lands, r.why, r.source}, "\t"))
	}
	return b.String()
}
