// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite holds regression suites: folders of tapes with what a replay of each has to hold.
package suite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// CaseFile is the name of the file with the expectations, beside the tape of a case.
const CaseFile = "case.yaml"

// Version is the version of that file.
const Version = 1

// maxCase bounds it, in bytes; an answer may be long.
const maxCase = 16 << 20

// NoEvents is the level of a case whose events are not compared.
const NoEvents = "none"

// Case is what a replay of a recorded run has to hold, and what any recorded run has to hold that it is for.
type Case struct {
	Name    string         `yaml:"-"`
	Dir     string         `yaml:"-"`
	Tape    *tape.Tape     `yaml:"-"` // nil for a case that is for checks alone
	Rules   *Rules         `yaml:"-"`
	Version int            `yaml:"version"`
	Source  Source         `yaml:"source"`
	Runs    *Selection     `yaml:"runs"`
	Compare string         `yaml:"compare"`
	Calls   *Calls         `yaml:"calls"`
	Answer  *expect.Answer `yaml:"answer"`
	Expect  *expect.Expect `yaml:"expect"`
	Allowed yaml.Node      `yaml:"rules"`
}

// Source says what the tape of a case was made of. It is for people.
type Source struct {
	RunID string `yaml:"run_id"`
	Tape  string `yaml:"tape_id"`
}

// Calls are the tool calls that a replay has to make, as suite add writes them.
type Calls struct {
	Order  Order  `yaml:"order"`
	Expect []Call `yaml:"expect"`

	tools expect.Tools
}

// Order says how calls are compared with those that are expected.
type Order string

// The orders.
const (
	Exact   Order = "exact"    // these, in this order; the default
	Any     Order = "any"      // these, in any order
	AtLeast Order = "at_least" // these in this order, and others between them
)

// modes are the orders by their other names.
var modes = map[Order]expect.Mode{Exact: expect.Exact, Any: expect.AnyOrder, AtLeast: expect.InOrder}

// Call is a tool call that is expected. Without arguments, those of the call do not matter.
type Call struct {
	Tool     string    `yaml:"tool"`
	Args     yaml.Node `yaml:"args"`
	ArgsHash string    `yaml:"args_hash"`
}

// Rules are the allowed differences of a case.
type Rules struct {
	File []byte // a rules file
	*normalise.Rules
}

// nameForm is that of names of cases, which are names of folders, and parts of ids.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$`)

// CheckName reports what is wrong with the name of a case.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%.100q is no name of a case: letters, digits, dots, hyphens and underscores, at most 80", name)
	}
	return nil
}

// Read reads the expectations of a case.
func Read(data []byte) (*Case, error) {
	if len(data) > maxCase {
		return nil, fmt.Errorf("larger than %d bytes", maxCase)
	}
	var c Case
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true) // what is misspelled must not be passed over
	if err := d.Decode(&c); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		return nil, err
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	if c.Version != Version {
		return nil, fmt.Errorf("version is %d, this program knows %d", c.Version, Version)
	}
	if c.Compare == "" {
		c.Compare = string(compare.Results)
	}
	if c.Compare != NoEvents && !slices.Contains(compare.Levels, compare.Level(c.Compare)) {
		return nil, fmt.Errorf("compare is %.40q: want actions, results, all or none", c.Compare)
	}
	return &c, errors.Join(c.readCalls(), c.Answer.Check(), c.Expect.Check(), c.Runs.check(), c.readRules())
}

func (c *Case) readCalls() error {
	if c.Calls == nil {
		return nil
	}
	c.Calls.Order = cmp.Or(c.Calls.Order, Exact)
	mode, known := modes[c.Calls.Order]
	if !known {
		return fmt.Errorf("calls: order is %.40q: want exact, any or at_least", c.Calls.Order)
	}
	c.Calls.tools.Mode = mode
	for _, call := range c.Calls.Expect {
		c.Calls.tools.Calls = append(c.Calls.tools.Calls, expect.Call{Name: call.Tool, Args: call.Args, ArgsHash: call.ArgsHash})
	}
	if err := c.Calls.tools.Check(); err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	return nil
}

// readRules reads the allowed differences as the rules of a rules file.
func (c *Case) readRules() error {
	c.Rules = &Rules{}
	if c.Allowed.IsZero() {
		return nil
	}
	file, err := yaml.Marshal(map[string]any{"version": rulefile.Version, "rules": &c.Allowed})
	if err != nil {
		return err
	}
	rules, err := rulefile.Read(file)
	if err != nil {
		return err
	}
	c.Rules.File = file
	c.Rules.Rules, err = normalise.New(rules.Values)
	return err
}

// New makes the expectations for a tape: its tool calls and its answer, as they were recorded.
func New(t *tape.Tape) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `# What a replay of this run has to hold: docs/evaluate.md#regression-suites says what can stand here.
version: %d
source: {run_id: %s, tape_id: %s}
compare: %s   # actions, results, all: how alike the events have to be; none: not at all
calls:
  order: %s   # any: in any order; at_least: others may come between them
  expect:`, Version, quote(t.Run.RunID), quote(t.TapeID), compare.Results, Exact)
	none := true
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventToolCall {
			continue
		}
		none = false
		fmt.Fprintf(&b, "\n    - tool: %s", quote(e.Name))
		switch args := printable(e.Args.JSON()); {
		case e.Args.IsAbsent():
		case len(args) <= longest && sameInYAML(args, e.Args):
			fmt.Fprintf(&b, "\n      args: %s", args)
		default:
			fmt.Fprintf(&b, "\n      args_hash: %s   # they are long, or YAML has no place for them", quote(e.ArgsHash))
		}
	}
	if none {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	if text := t.Output.Text; text != nil {
		fmt.Fprintf(&b, "answer:   # also: contains, a list; matches, a regular expression; check, a command that gets {answer} and {tape}\n  equals: %s\n", quote(*text))
	}
	b.WriteString(`# Differences that are allowed, as in a rules file:
# rules:
#   - {tool: search, path: $.date, action: normalise, as: date, in: [args]}
`)
	body := []byte(b.String())
	_, err := Read(body)
	return body, err
}

// longest are arguments that stand in the file, in bytes.
const longest = 2000

func sameInYAML(text string, v exactjson.Value) bool {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil || n.Kind != yaml.DocumentNode {
		return false
	}
	w, err := expect.ValueOf(n.Content[0])
	return err == nil && w.Equal(v)
}

// quote writes a text as JSON, which is a scalar of YAML in double quotes.
func quote(s string) string { return printable(string(exactjson.AppendString(nil, s))) }

// printable escapes what JSON lets stand in a string, and YAML does not.
func printable(json string) string {
	var b strings.Builder
	for _, r := range json {
		switch {
		case r >= 0x7f && r <= 0x9f, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Add puts a tape into a suite under a name. data are the bytes of its file.
func Add(dir, name string, t *tape.Tape, data []byte, replace bool) (folder string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	body, err := New(t)
	if err != nil {
		return "", fmt.Errorf("the expectations of %s cannot be written: %w", t.Run.RunID, err)
	}
	return put(dir, name, map[string][]byte{tape.TapeFile: data, CaseFile: body}, replace)
}

// put writes the files of a case.
func put(dir, name string, files map[string][]byte, replace bool) (folder string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	folder = filepath.Join(dir, name)
	if _, err := os.Stat(filepath.Join(folder, CaseFile)); !replace && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is there already", folder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for _, file := range slices.Backward(slices.Sorted(maps.Keys(files))) { // the tape first: a case is there when its expectations are
		if err := os.WriteFile(filepath.Join(folder, file), files[file], 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// ErrEmpty is returned for a folder without cases.
var ErrEmpty = errors.New("there are no cases")

// Open reads the cases of a suite, in the order of their names. A case that cannot be read is an error of its own, and the others come.
func Open(dir string) (cases []*Case, broken []error, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		folder := filepath.Join(dir, entry.Name())
		if _, err := os.Stat(filepath.Join(folder, CaseFile)); errors.Is(err, fs.ErrNotExist) {
			continue // another folder, or a file
		}
		c, err := open(folder)
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", folder, err))
			continue
		}
		cases = append(cases, c)
	}
	if len(cases)+len(broken) == 0 {
		return nil, nil, fmt.Errorf("%s: %w: suite add puts one there", dir, ErrEmpty)
	}
	return cases, broken, nil
}

// OpenFile reads the expectations of one case, without its tape. A file that has the usual name is called as
// its folder is.
func OpenFile(file string) (*Case, error) {
	data, err := readFile(file, maxCase)
	if err != nil {
		return nil, err
	}
	c, err := Read(data)
	if err != nil {
		return nil, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	c.Dir = filepath.Dir(file)
	if c.Name = filepath.Base(c.Dir); filepath.Base(file) != CaseFile {
		c.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return c, nil
}

func open(folder string) (*Case, error) {
	if err := CheckName(filepath.Base(folder)); err != nil {
		return nil, err
	}
	c, err := OpenFile(filepath.Join(folder, CaseFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CaseFile, err)
	}
	c.Dir = folder
	data, err := readFile(filepath.Join(folder, tape.TapeFile), tape.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Source == Source{}:
		return c, nil
	case err != nil:
		return nil, err
	}
	if c.Tape, err = tape.ReadSealed(data); err != nil {
		return nil, fmt.Errorf("%s: %w", tape.TapeFile, err)
	}
	return c, nil
}

// readFile reads a file and one byte more than is allowed, so that the reader can say so.
func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}
