// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Imported is a case that was made of a file of another tool. It has no tape.
type Imported struct {
	Name string
	File []byte   // its expectations
	Lost []string // what of the other file they do not say
}

// Criteria are how strictly an eval set of ADK is judged, as a test_config.json has it.
type Criteria struct {
	tools  string // mode, "" if they do not count
	names  bool   // arguments do not count
	answer *float64
	lost   []string
}

// ADKDefaults are the criteria of ADK without a test_config.json.
func ADKDefaults() Criteria {
	score := 0.8
	return Criteria{tools: "exact", answer: &score}
}

// matchTypes are the modes by the names, and the numbers, of ADK's.
var matchTypes = map[string]string{"": "exact", "EXACT": "exact", "0": "exact", "IN_ORDER": "in_order", "1": "in_order", "ANY_ORDER": "superset", "2": "superset"}

// ReadADKCriteria reads a test_config.json.
func ReadADKCriteria(data []byte) (c Criteria, err error) {
	v, err := exactjson.Parse(string(data))
	if err != nil {
		return c, err
	}
	criteria := v.Get("criteria")
	if criteria.Kind() != exactjson.Object {
		return c, errors.New("it has no criteria: a test_config.json of ADK is wanted")
	}
	for _, m := range criteria.Members() {
		threshold, known := m.Value.Float()
		if m.Value.Kind() == exactjson.Object {
			threshold, known = m.Value.Get("threshold").Float()
		}
		switch {
		case !known:
			c.lost = append(c.lost, m.Name+" has no threshold")
		case m.Name == "tool_trajectory_avg_score" && threshold > 0:
			of := m.Value.First("match_type", "matchType")
			mode, ok := matchTypes[strings.ToUpper(of.Text())]
			if !ok {
				return c, fmt.Errorf("%s: match_type %.40s is unknown", m.Name, of.JSON())
			}
			c.tools, c.names = mode, m.Value.First("ignore_args", "ignoreArgs").True()
			if threshold < 1 {
				c.lost = append(c.lost, fmt.Sprintf("tool_trajectory_avg_score %g is a share of turns; here each turn has to hold", threshold))
			}
		case m.Name == "response_match_score" && threshold > 0:
			c.answer = &threshold
		case threshold > 0:
			c.lost = append(c.lost, m.Name+" is not taken over: a model or a program of ADK's judges it")
		}
	}
	return c, nil
}

// ReadADK reads an eval set of ADK: a case for each turn, which is for the runs that were asked the same.
// name is that of cases without an id.
func ReadADK(name string, data []byte, c Criteria) (cases []Imported, lost []string, err error) {
	v, err := exactjson.Parse(string(data))
	if err != nil {
		return nil, nil, err
	}
	set := evalCases(v)
	if set.Kind() != exactjson.Array {
		return nil, nil, errors.New("it has no eval_cases: an eval set of ADK (*.evalset.json, *.test.json) is wanted")
	}
	lost = c.lost
	taken, asked := map[string]bool{}, map[string]string{}
	for _, m := range set.Members() {
		id := path.Base(cmp.Or(m.Value.First("eval_id", "evalId", "name").Str(), name))
		turns := m.Value.First("conversation", "data")
		if turns.Kind() != exactjson.Array {
			lost = append(lost, id+" has no conversation with turns; a scenario of a simulated user cannot be checked")
			continue
		}
		for n, turn := range turns.Members() {
			name := id
			if turns.Len() > 1 {
				name = fmt.Sprintf("%s-%d", id, n+1)
			}
			one, question, err := c.turn(turn.Value)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			if one.File == nil {
				lost = append(lost, name+": "+strings.Join(one.Lost, "; "))
				continue
			}
			if other := asked[question]; other != "" {
				one.Lost = append(one.Lost, "its question is that of "+other+": both cases are for the same runs")
			}
			one.Name = freeName(name, taken)
			asked[question] = one.Name
			cases = append(cases, one)
		}
	}
	return cases, lost, nil
}

// evalCases are the cases of an eval set. The older forms, which ADK still reads, are a list of cases with
// data, and a list of the turns of one case.
func evalCases(v exactjson.Value) exactjson.Value {
	switch first := v.At(0); {
	case first.Get("data").Kind() == exactjson.Array:
		return v
	case first.Get("query").Kind() == exactjson.String:
		return exactjson.ArrayValue(exactjson.ObjectValue(exactjson.Member{Name: "data", Value: v}))
	}
	return v.First("eval_cases", "evalCases")
}

var noNameForm = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// freeName is a name of a case that no other has.
func freeName(of string, taken map[string]bool) string {
	base := strings.TrimLeft(noNameForm.ReplaceAllString(of, "-"), "-._")
	base = cmp.Or(base[:min(len(base), 70)], "case")
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s.%d", base, n)
	}
	taken[name] = true
	return name
}

// contentText joins the texts of a message.
func contentText(content exactjson.Value) string {
	var list []string
	for _, part := range content.Get("parts").Members() {
		if text := part.Value.Get("text").Str(); text != "" && !part.Value.Get("thought").True() {
			list = append(list, text)
		}
	}
	return strings.Join(list, "\n")
}

// toolUse is a call that a turn expects.
type toolUse struct {
	name string
	args exactjson.Value
}

// toolUses are the calls of a turn, in any form of ADK's.
func toolUses(turn exactjson.Value) (calls []toolUse) {
	for _, m := range turn.Get("expected_tool_use").Members() {
		calls = append(calls, toolUse{m.Value.Get("tool_name").Str(), m.Value.Get("tool_input")})
	}
	data := turn.First("intermediate_data", "intermediateData")
	for _, m := range data.First("tool_uses", "toolUses").Members() {
		calls = append(calls, toolUse{m.Value.Get("name").Str(), m.Value.Get("args")})
	}
	for _, event := range data.First("invocation_events", "invocationEvents").Members() {
		for _, part := range event.Value.Get("content").Get("parts").Members() {
			if call := part.Value.First("function_call", "functionCall"); call.Kind() == exactjson.Object {
				calls = append(calls, toolUse{call.Get("name").Str(), call.Get("args")})
			}
		}
	}
	return calls
}

// turn makes a case of a turn; without a file of one in which nothing is expected.
func (c *Criteria) turn(turn exactjson.Value) (one Imported, question string, err error) {
	question = cmp.Or(contentText(turn.First("user_content", "userContent")), turn.Get("query").Str())
	if question == "" {
		one.Lost = []string{"the user says no text, so nobody knows which runs it is for"}
		return one, "", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Made of an eval set of ADK. What recorded runs have to hold: docs/evaluate.md#check-recorded-runs says what can stand here.\nversion: %d\nruns:\n  user_message: %s\nexpect:\n",
		Version, quote(question))
	begun := b.Len()
	if c.tools != "" {
		fmt.Fprintf(&b, "  tools:\n    mode: %s\n    calls:", c.tools)
		calls := toolUses(turn)
		for _, call := range calls {
			fmt.Fprintf(&b, "\n      - name: %s", quote(call.name))
			if c.names || call.args.IsAbsent() || call.args.Kind() == exactjson.Null {
				continue
			}
			if text := printable(call.args.JSON()); sameInYAML(text, call.args) {
				fmt.Fprintf(&b, "\n        args: %s", text)
			} else {
				one.Lost = append(one.Lost, "the arguments of "+call.name+": YAML has no place for them")
			}
		}
		if len(calls) == 0 {
			b.WriteString(" []")
		}
		b.WriteString("\n")
	}
	if text := cmp.Or(contentText(turn.First("final_response", "finalResponse")), turn.Get("reference").Str()); c.answer != nil && text != "" {
		fmt.Fprintf(&b, "  answer:\n    scorer: rouge1\n    min_score: %g\n    reference: %s\n", *c.answer, quote(text))
	}
	if b.Len() == begun {
		one.Lost = append(one.Lost, "nothing is expected of it")
		return one, question, nil
	}
	one.File = []byte(b.String())
	_, err = Read(one.File)
	return one, question, err
}

// AddImported puts a case without a tape into a suite.
func AddImported(dir string, c Imported, replace bool) (folder string, err error) {
	return put(dir, c.Name, map[string][]byte{CaseFile: c.File}, replace)
}
