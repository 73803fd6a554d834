// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package stale compares the calls of a recorded run with the tools as they are defined today: a run whose calls could not be made any more
// says nothing about today's agent.
package stale

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Definitions are the tools of today by name.
type Definitions map[string]Definition

// Definition is a tool of today.
type Definition struct {
	Description string
	Parameters  exactjson.Value // a JSON Schema; absent: any arguments
	compiled    *jsonschema.Schema
}

// MaxBytes bounds a file with definitions.
const MaxBytes = 32 << 20

// Read reads definitions: the result of tools/list of an MCP server, also in its JSON-RPC response, or a list of tools as OpenAI, Anthropic or Gemini take
// them, bare or as "tools". A schema may refer to itself alone.
func Read(data []byte) (Definitions, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("definitions: more than %d bytes", MaxBytes)
	}
	doc, err := exactjson.Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("definitions: %w", err)
	}
	list := doc
	for _, v := range []exactjson.Value{doc.Get("result").Get("tools"), doc.Get("tools"), doc.Get("functionDeclarations")} {
		if v.Kind() == exactjson.Array {
			list = v
			break
		}
	}
	if list.Kind() != exactjson.Array {
		return nil, errors.New("definitions: there is no list of tools")
	}
	d := Definitions{}
	for i, m := range list.Members() {
		if err := d.add(m.Value); err != nil {
			return nil, fmt.Errorf("definitions: tool %d: %w", i, err)
		}
	}
	return d, nil
}

func (d Definitions) add(v exactjson.Value) error {
	if inner := v.First("functionDeclarations", "function_declarations"); inner.Kind() == exactjson.Array {
		for _, m := range inner.Members() {
			if err := d.add(m.Value); err != nil {
				return err
			}
		}
		return nil
	}
	if f := v.Get("function"); f.Kind() == exactjson.Object {
		v = f
	}
	name := v.Get("name").Str()
	if name == "" {
		return errors.New("it has no name")
	}
	return d.Add(name, v.Get("description").Str(), v.First("inputSchema", "input_schema", "parameters", "parametersJsonSchema"))
}

// Add adds a tool. One that is there already, with other parameters, is an error.
func (d Definitions) Add(name, description string, parameters exactjson.Value) error {
	if was, known := d[name]; known && !was.Parameters.Equal(parameters) {
		return fmt.Errorf("tool %q is defined twice", name)
	}
	def := Definition{Description: description, Parameters: parameters}
	if !parameters.IsEmpty() {
		var err error
		if def.compiled, err = compile(name, parameters); err != nil {
			return err
		}
	}
	d[name] = def
	return nil
}

// nowhere loads nothing: definitions come from elsewhere, and may not make this program read files or ask servers.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not in the definition", url)
}

func compile(name string, parameters exactjson.Value) (*jsonschema.Schema, error) {
	if far(parameters) {
		return nil, fmt.Errorf("the schema of tool %q has a number beyond any range", name)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(parameters.JSON()))
	if err != nil {
		return nil, fmt.Errorf("the schema of tool %q: %w", name, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	const id = "urn:tapedeck:definition"
	if err := compiler.AddResource(id, doc); err != nil {
		return nil, fmt.Errorf("the schema of tool %q: %w", name, err)
	}
	compiled, err := compiler.Compile(id)
	if err != nil {
		return nil, fmt.Errorf("the schema of tool %q is none: %w", name, err)
	}
	return compiled, nil
}

var exponent = regexp.MustCompile(`[eE][+-]?0*(\d+)$`)

// far reports numbers that a validator would write out digit by digit.
func far(v exactjson.Value) bool {
	if v.Kind() == exactjson.Number {
		if m := exponent.FindStringSubmatch(v.Text()); m != nil {
			n, err := strconv.Atoi(m[1])
			return err != nil || n > 400
		}
		return false
	}
	return slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return far(m.Value) })
}

// State is how far the calls of a run still hold.
type State string

// The states, from the best to the worst. Of several calls of a run the worst counts.
const (
	Current State = "current" // every call could be made as it was, by definitions that are the recorded ones or were not recorded
	Changed State = "changed" // every call could be made, but definitions that the model was shown are others today
	Unknown State = "unknown" // arguments are not known as they were
	Stale   State = "stale"   // a call could not be made any more
)

var order = []State{Current, Changed, Unknown, Stale}

// Reason is why a call, or a definition, is not as it was.
type Reason struct {
	Seq   int    `json:"seq,omitempty"` // the event; 0 for a definition
	Tool  string `json:"tool"`
	State State  `json:"state"`
	// Code is tool_gone, args_invalid, args_unknown, parameters_changed or description_changed.
	Code string `json:"code"`
	// Detail names places and keywords, no recorded content.
	Detail string `json:"detail,omitempty"`
}

// Check compares a run with definitions. Tools that keep leaves out do not count; nil keeps all.
func Check(t *tape.Tape, today Definitions, keep func(tool string) bool) (State, []Reason) {
	c := checker{today: today}
	events := map[int]*tape.Event{}
	for i := range t.Events {
		events[t.Events[i].Seq] = &t.Events[i]
	}
	for _, entry := range oracle.FromTape(t) {
		names := []string{entry.ToolName}
		if e := events[entry.Seq]; e != nil && e.Server != nil && e.Server.Tool != "" {
			names = append(names, e.Server.Tool) // a server knows its tools by their own names
		}
		if keep == nil || slices.ContainsFunc(names, keep) {
			c.call(&entry, names)
		}
	}
	for _, recorded := range t.Tools {
		if keep == nil || keep(recorded.Name) {
			c.definition(recorded)
		}
	}
	slices.SortFunc(c.reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
	worst := 0
	for _, r := range c.reasons {
		worst = max(worst, slices.Index(order, r.State))
	}
	return order[worst], c.reasons
}

type checker struct {
	today   Definitions
	reasons []Reason
}

func (c *checker) add(seq int, tool string, state State, code, detail string) {
	c.reasons = append(c.reasons, Reason{seq, tool, state, code, detail})
}

func (c *checker) call(e *oracle.Entry, names []string) {
	i := slices.IndexFunc(names, func(name string) bool { _, known := c.today[name]; return known })
	if i < 0 {
		c.add(e.Seq, e.ToolName, Stale, "tool_gone", "")
		return
	}
	def := c.today[names[i]]
	exact := e.ArgsFidelity == oracle.Exact || e.ArgsFidelity == ""
	args := e.Args
	switch {
	case args.IsAbsent() || e.ArgsFidelity == oracle.Missing || e.ArgsFidelity == oracle.Truncated || far(args):
		c.add(e.Seq, e.ToolName, Unknown, "args_unknown", string(cmp.Or(e.ArgsFidelity, oracle.Missing)))
		return
	case def.compiled == nil:
		return
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(args.AppendJSON(nil)))
	if err != nil {
		c.add(e.Seq, e.ToolName, Unknown, "args_unknown", "not JSON")
		return
	}
	var invalid *jsonschema.ValidationError
	if err := def.compiled.Validate(doc); !errors.As(err, &invalid) {
		return
	}
	places := places(invalid)
	if !exact { // what stands in the place of a value need not be valid where the value was
		c.add(e.Seq, e.ToolName, Unknown, "args_unknown", string(e.ArgsFidelity)+", and "+places)
		return
	}
	c.add(e.Seq, e.ToolName, Stale, "args_invalid", places)
}

// places says where a document violates which keywords; the validator's own words quote values.
func places(invalid *jsonschema.ValidationError) string {
	const most = 5
	var list []string
	var leaves func(e *jsonschema.ValidationError)
	leaves = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			leaves(cause)
		}
		if len(e.Causes) == 0 {
			list = append(list, cmp.Or(strings.Join(e.InstanceLocation, "."), "the arguments")+" violates "+strings.Join(e.ErrorKind.KeywordPath(), "/"))
		}
	}
	leaves(invalid)
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, "; ")
}

// definition compares what the model was shown with what it would be shown today. A tool that is gone and was not called changes nothing that was done, but is another offer.
func (c *checker) definition(recorded tape.Tool) {
	def, known := c.today[recorded.Name]
	switch {
	case !known:
		c.add(0, recorded.Name, Changed, "tool_gone", "offered")
	case !recorded.Parameters.IsEmpty() && recorded.Parameters.Digest() != def.Parameters.Digest():
		c.add(0, recorded.Name, Changed, "parameters_changed", "")
	case recorded.Description != "" && recorded.Description != def.Description:
		c.add(0, recorded.Name, Changed, "description_changed", "")
	}
}
