// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite holds regression suites: folders of tapes with what a replay of each has to hold.
package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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

// Case is a recorded run, and what a replay of it has to hold.
type Case struct {
	Name    string       `yaml:"-"`
	Dir     string       `yaml:"-"`
	Tape    *tape.Tape   `yaml:"-"`
	Rules   *Rules       `yaml:"-"`
	Version int          `yaml:"version"`
	Source  Source       `yaml:"source"`
	Compare string       `yaml:"compare"`
	Calls   *Calls       `yaml:"calls"`
	Answer  *Expectation `yaml:"answer"`
	Allowed yaml.Node    `yaml:"rules"`
}

// Source says what the tape of a case was made of. It is for people.
type Source struct {
	RunID string `yaml:"run_id"`
	Tape  string `yaml:"tape_id"`
}

// Calls are the tool calls that a replay has to make.
type Calls struct {
	Order  Order  `yaml:"order"`
	Expect []Call `yaml:"expect"`
}

// Order says how calls are compared with those that are expected.
type Order string

// The orders.
const (
	Exact   Order = "exact"    // these, in this order; the default
	Any     Order = "any"      // these, in any order
	AtLeast Order = "at_least" // these in this order, and others between them
)

// Call is a tool call that is expected. Without arguments, those of the call do not matter.
type Call struct {
	Tool     string    `yaml:"tool"`
	Args     yaml.Node `yaml:"args"`
	ArgsHash string    `yaml:"args_hash"`

	value exactjson.Value
}

// Expectation is what the answer has to be. All of it that is there has to hold.
type Expectation struct {
	Equals   *string  `yaml:"equals"` // but for white space around it
	Contains []string `yaml:"contains"`
	Matches  string   `yaml:"matches"` // a regular expression of RE2
	Check    string   `yaml:"check"`   // a command

	pattern *regexp.Regexp
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
	return &c, errors.Join(c.readCalls(), c.readAnswer(), c.readRules())
}

func (c *Case) readCalls() (err error) {
	if c.Calls == nil {
		return nil
	}
	switch c.Calls.Order {
	case "":
		c.Calls.Order = Exact
	case Exact, Any, AtLeast:
	default:
		return fmt.Errorf("calls: order is %.40q: want exact, any or at_least", c.Calls.Order)
	}
	for i := range c.Calls.Expect {
		call := &c.Calls.Expect[i]
		switch {
		case call.Tool == "":
			return fmt.Errorf("calls: call %d names no tool", i+1)
		case !call.Args.IsZero() && call.ArgsHash != "":
			return fmt.Errorf("calls: call %d has args and args_hash", i+1)
		case call.Args.IsZero():
			continue
		}
		if call.value, err = valueOf(&call.Args); err != nil {
			return fmt.Errorf("calls: args of call %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *Case) readAnswer() (err error) {
	a := c.Answer
	if a == nil {
		return nil
	}
	if a.Equals == nil && len(a.Contains) == 0 && a.Matches == "" && a.Check == "" {
		return errors.New("answer: want equals, contains, matches or check")
	}
	if a.Matches != "" {
		if a.pattern, err = regexp.Compile(a.Matches); err != nil {
			return fmt.Errorf("answer: matches: %w", err)
		}
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

// valueOf is YAML as JSON. Numbers keep their digits; what JSON does not have is refused.
func valueOf(n *yaml.Node) (v exactjson.Value, err error) {
	switch n.Kind {
	case yaml.MappingNode:
		var members []exactjson.Member
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			if name.Kind != yaml.ScalarNode {
				return v, fmt.Errorf("line %d: a name that is no text", name.Line)
			}
			if slices.ContainsFunc(members, func(m exactjson.Member) bool { return m.Name == name.Value }) {
				return v, fmt.Errorf("line %d: %.40q comes twice", name.Line, name.Value)
			}
			if v, err = valueOf(n.Content[i+1]); err != nil {
				return v, err
			}
			members = append(members, exactjson.Member{Name: name.Value, Value: v})
		}
		return exactjson.ObjectValue(members...), nil
	case yaml.SequenceNode:
		var elements []exactjson.Value
		for _, element := range n.Content {
			if v, err = valueOf(element); err != nil {
				return v, err
			}
			elements = append(elements, v)
		}
		return exactjson.ArrayValue(elements...), nil
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!str", "!!timestamp":
			return exactjson.StringValue(n.Value), nil
		case "!!null":
			return exactjson.NullValue, nil
		case "!!int", "!!float", "!!bool":
			if v, err = exactjson.Parse(n.Value); err == nil && (v.Kind() == exactjson.Number || v.Kind() == exactjson.Bool) {
				return v, nil
			}
		}
		return v, fmt.Errorf("line %d: %.40q is not written as in JSON", n.Line, n.Value)
	}
	return v, fmt.Errorf("line %d: aliases are not taken", n.Line)
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
	w, err := valueOf(n.Content[0])
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
	folder = filepath.Join(dir, name)
	if _, err := os.Stat(filepath.Join(folder, CaseFile)); !replace && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is there already", folder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, tape.TapeFile), data, 0o600); err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, CaseFile), body, 0o600)
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

func open(folder string) (*Case, error) {
	name := filepath.Base(folder)
	if err := CheckName(name); err != nil {
		return nil, err
	}
	data, err := readFile(filepath.Join(folder, CaseFile), maxCase)
	if err != nil {
		return nil, err
	}
	c, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CaseFile, err)
	}
	c.Name, c.Dir = name, folder
	if data, err = readFile(filepath.Join(folder, tape.TapeFile), tape.MaxBytes); err != nil {
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
