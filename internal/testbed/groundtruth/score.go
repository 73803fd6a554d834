// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Outcome is the result of comparing one true value with a tape.
type Outcome string

// The outcomes. The first three are right, the others are not.
const (
	Exact   Outcome = "exact"   // the tape holds it
	Absent  Outcome = "absent"  // the telemetry lacks it, and the tape says so
	Wrapped Outcome = "wrapped" // the tape holds it inside an envelope
	Missed  Outcome = "missed"  // the telemetry holds it, the tape does not
	Wrong   Outcome = "wrong"   // the tape claims something else
	Silent  Outcome = "silent"  // the tape lacks it and nothing says so
	NoTape  Outcome = "no tape" // of the whole run
)

// Outcomes lists all outcomes, the right ones first.
var Outcomes = []Outcome{Exact, Absent, Wrapped, Missed, Wrong, Silent, NoTape}

// Bad reports whether an outcome is a defect.
func (o Outcome) Bad() bool { return o == Missed || o == Wrong || o == Silent || o == NoTape }

// Row is the outcome of one field of one run.
type Row struct {
	Field   string
	Call    int // place of the tool call in the truth, from 1; 0 for a value of the run
	Outcome Outcome
	Detail  string
}

type scorer struct {
	truth  value
	tape   *tape.Tape
	held   func() *telemetry
	oracle []oracle.Entry
	call   int // Row.Call of what is compared
	rows   []Row
}

func (s *scorer) row(field string, o Outcome, detail string) {
	s.rows = append(s.rows, Row{field, s.call, o, detail})
}

// unserved labels say that a value is not what it was.
var unserved = []tape.Label{tape.Truncated, tape.Redacted, tape.Lossy, tape.External, tape.Missing, tape.Disputed}

// one compares a single value. label is the provenance label of the field, seq its event.
func (s *scorer) one(field, name string, want, have value, label tape.Label, seq int) {
	if want.IsAbsent() || want.Kind() == exactjson.Null || want.Kind() == exactjson.String && want.Str() == "" {
		return
	}
	none := have.IsAbsent() || have.Kind() == exactjson.Null || have.Kind() == exactjson.String && have.Str() == ""
	detail := fmt.Sprintf("want %.90s have %.60s", want.JSON(), have.JSON())
	switch {
	case !none && same(want, have):
		s.row(field, Exact, "")
	case s.held().holds(want):
		if none || slices.Contains(unserved, label) {
			s.row(field, Missed, detail)
		} else {
			s.row(field, Wrong, detail)
		}
	case slices.Contains(unserved, label):
		s.row(field, Absent, "")
	case none:
		if s.said(name, seq) || s.said(string(tape.CodeContentAbsent), 0) {
			s.row(field, Absent, "")
		} else {
			s.row(field, Silent, detail)
		}
	default:
		s.row(field, Wrong, detail)
	}
}

// said reports a finding that names the field, or has the code.
func (s *scorer) said(name string, seq int) bool {
	return slices.ContainsFunc(s.tape.Fidelity.Findings, func(f tape.Finding) bool {
		if seq != 0 && f.Seq != 0 && f.Seq != seq {
			return false
		}
		return strings.Contains(f.Field, name) || strings.Contains(string(f.Code), name)
	})
}

func text(s *string) value {
	if s == nil {
		return value{}
	}
	return exactjson.StringValue(*s)
}

func (s *scorer) run() []Row {
	t := s.tape
	s.one("user_input", "user_message", s.truth.Get("user_input"), text(t.Input.UserMessage), "", 0)
	wantSystem, system := s.truth.Get("system_prompt"), text(t.Input.SystemPrompt)
	if w := squeeze(wantSystem.Str()); w != "" && strings.Contains(squeeze(system.Str()), w) {
		system = wantSystem // some frameworks put text of their own around it, or indent it (DSPy)
	}
	s.one("system_prompt", "system_prompt", wantSystem, system, "", 0)
	s.output()
	s.model()
	if want := s.truth.Get("status").Str(); want != "" {
		have := string(t.Run.Status)
		switch {
		case have == want:
			s.row("status", Exact, "")
		case have == "incomplete" && (s.truth.Get("final_output").IsEmpty() || !s.truth.Get(endLost).IsAbsent()):
			// a run that stops without an answer: telemetry often cannot tell a failure from a limit; "incomplete" claims neither
			s.row("status", Absent, "")
		default:
			s.row("status", Wrong, fmt.Sprintf("want %s have %s", want, have))
		}
	}
	s.tools()
	return s.rows
}

func (s *scorer) output() {
	want := s.truth.Get("final_output")
	have := text(s.tape.Output.Text)
	for _, e := range []*tape.Error{s.tape.Output.Error, s.tape.Run.Error} {
		if e != nil && e.Message != "" && !same(want, have) && same(want, exactjson.StringValue(e.Message)) {
			have = want
		}
	}
	if w, h := want.Str(), have.Str(); w != "" && h != w && strings.HasSuffix(strings.TrimSpace(h), strings.TrimSpace(w)) {
		s.row("final_output", Wrapped, fmt.Sprintf("%.90q", h)) // what was said on the way stands before the answer
		return
	}
	s.one("final_output", "output", want, have, "", 0)
}

func (s *scorer) model() {
	want := s.truth.Get("model").Str()
	models := []string{s.tape.Config.Model, s.tape.Config.ResponseModel}
	for _, e := range s.tape.Events {
		if e.Type == tape.EventModelCall {
			models = append(models, e.Model)
		}
	}
	have := want
	if !slices.Contains(models, want) {
		have = strings.Join(slices.DeleteFunc(models, func(m string) bool { return m == "" }), " ")
	}
	s.one("model", "model", exactjson.StringValue(want), exactjson.StringValue(have), "", 0)
}

// pair is a true tool call and the event that stands for it.
type pair struct {
	call   value
	number int // place of the call in the truth, from 1
	event  tape.Event
}

func (s *scorer) tools() {
	wants := s.truth.Get("tool_calls").Members()
	var events []tape.Event
	models := []int{}
	for _, e := range s.tape.Events {
		switch e.Type {
		case tape.EventToolCall:
			events = append(events, e)
		case tape.EventModelCall:
			models = append(models, e.Seq)
		}
	}
	pairs, lost, extra := match(wants, events)
	asked := map[string]bool{}
	for _, m := range s.truth.Get("requested_but_not_executed").Members() {
		asked[m.Value.Get("name").Str()] = true
	}
	extra = slices.DeleteFunc(extra, func(e tape.Event) bool { return asked[e.Name] })
	switch {
	case len(extra) > 0:
		s.row("tool.count", Wrong, fmt.Sprintf("%d calls that never ran: %s", len(extra), extra[0].Name))
	case len(lost) == 0:
		s.row("tool.count", Exact, "")
	case slices.ContainsFunc(lost, func(c value) bool { return s.held().holds(argsOf(c)) && s.named(c) }):
		s.row("tool.count", Missed, fmt.Sprintf("want %d have %d", len(wants), len(events)))
	case s.said("span_gap", 0) || s.said("content_absent", 0):
		s.row("tool.count", Absent, "")
	default:
		s.row("tool.count", Silent, fmt.Sprintf("want %d have %d", len(wants), len(events)))
	}
	for _, p := range pairs {
		s.call = p.number
		s.toolCall(p)
	}
	s.call = 0
	s.turns(pairs, models)
	s.order(pairs)
}

func (s *scorer) named(call value) bool {
	return slices.ContainsFunc(namesOf(call), func(n string) bool { return s.held().texts[n] })
}

// match pairs true calls with events: by name, arguments and result, then by name and arguments, then by name.
func match(wants []exactjson.Member, events []tape.Event) (pairs []pair, lost []value, extra []tape.Event) {
	used := make([]bool, len(events))
	paired := make([]bool, len(wants))
	for _, exactness := range []int{3, 2, 1} {
		for i, w := range wants {
			for j, e := range events {
				if !paired[i] && !used[j] && agreement(w.Value, e) >= exactness {
					paired[i], used[j] = true, true
					pairs = append(pairs, pair{w.Value, i + 1, e})
				}
			}
		}
	}
	for i, w := range wants {
		if !paired[i] {
			lost = append(lost, w.Value)
		}
	}
	for j, e := range events {
		if !used[j] {
			extra = append(extra, e)
		}
	}
	return pairs, lost, extra
}

func (s *scorer) toolCall(p pair) {
	s.row("tool.name", Exact, "")
	args, result := p.event.Args, p.event.Result
	s.invented("args", p.call.Get("args"), args, p)
	s.invented("result", resultsOf(p.call)[0], result, p)
	want := argsOf(p.call)
	if !same(want, args) && same(p.call.Get("args"), args) {
		want = p.call.Get("args")
	}
	if want.Len() == 0 && want.Kind() == exactjson.Object {
		want = value{}
	}
	if args.Len() == 0 && args.Kind() == exactjson.Object {
		args = value{}
	}
	s.one("tool.args", "args", want, args, p.event.Provenance["args"], p.event.Seq)
	if !p.call.Get("error").IsEmpty() {
		s.failure(p)
		return
	}
	switch {
	case returns(p.call, result):
		s.row("tool.result", Exact, "")
		s.served(p)
	case slices.ContainsFunc(resultsOf(p.call), func(r value) bool { return !r.IsEmpty() && inside(r, result) }):
		s.row("tool.result", Wrapped, fmt.Sprintf("%.90s", result.JSON()))
	default:
		held := resultsOf(p.call)[0]
		for _, r := range resultsOf(p.call) {
			if s.held().holds(r) {
				held = r
				break
			}
		}
		s.one("tool.result", "result", held, result, p.event.Provenance["result"], p.event.Seq)
	}
}

// failure compares the outcome of a call that failed.
func (s *scorer) failure(p pair) {
	failure, result, results := p.call.Get("error"), p.event.Result, resultsOf(p.call)
	told := results[len(results)-1]
	unsaid := len(p.event.SpanIDs) == 0 || p.call.Get("sent_to_model").IsEmpty() // no span of the call came, or the model was never told
	switch {
	case hasFailed(p.event):
		s.row("tool.error", Exact, "")
	case same(told, result) || same(failure, result):
		s.row("tool.error", Absent, "") // the telemetry shows the text, not the failure
	case p.event.Provenance["result"] == tape.Lossy && (inside(told, result) || inside(failure, result)):
		s.row("tool.error", Wrapped, fmt.Sprintf("%.90s", result.JSON())) // the tape says that this may be an envelope
	case unsaid && failure.Str() != "" && strings.Contains(result.Str(), failure.Str()):
		s.row("tool.error", Absent, "") // the text names the failure among other words
	case len(p.event.SpanIDs) == 0 && result.IsEmpty() && !slices.ContainsFunc(results, s.held().holds) && s.said("result", p.event.Seq):
		s.row("tool.error", Absent, "") // nothing of the result is left
	default:
		s.row("tool.error", Wrong, p.event.Name+" failed, the tape says it did not")
	}
}

// invented reports a value where there was none.
func (s *scorer) invented(name string, want, have value, p pair) {
	if want.IsEmpty() && p.call.Get("error").IsEmpty() && !have.IsEmpty() && !decode(have).IsEmpty() && !s.held().holds(have) && written(have) >= 4 {
		s.row("tool."+name, Wrong, fmt.Sprintf("invented %.90s", have.JSON()))
	}
}

// written is the length of a value: of a text without its quotes.
func written(v value) int {
	if v.Kind() == exactjson.String {
		return utf8.RuneCountInString(v.Str())
	}
	return len(v.JSON())
}

// served checks the oracle entry of a call that the tape holds right.
func (s *scorer) served(p pair) {
	if s.oracle == nil || p.event.ArgsHash == "" {
		return
	}
	var entries []oracle.Entry
	for _, e := range s.oracle {
		if e.Seq == p.event.Seq {
			entries = append(entries, e)
		}
	}
	if len(entries) == 1 && entries[0].ArgsHash == p.event.ArgsHash && (same(exactjson.StringValue(entries[0].Response), p.event.Result) || p.event.Result.IsEmpty() && entries[0].Response == "") {
		s.row("oracle", Exact, "")
	} else {
		s.row("oracle", Wrong, fmt.Sprintf("%s: %d entries", p.event.Name, len(entries)))
	}
}

// turns checks the number of model calls, and the turn of each tool call where it is right.
func (s *scorer) turns(pairs []pair, models []int) {
	turns, ok := s.truth.Get("llm_turns").Int()
	if !ok {
		return
	}
	s.modelCount(turns, int64(len(models)))
	if turns == 0 || int64(len(models)) != turns || strings.Contains(s.truth.Get("scenario").Str(), "handoff") {
		return
	}
	for _, p := range pairs {
		k, known := p.call.Get("llm_order").Int()
		if !known || k >= turns {
			continue
		}
		s.call = p.number
		if p.event.Seq > models[k] && (k+1 == turns || p.event.Seq < models[k+1]) {
			s.row("tool.turn", Exact, "")
		} else {
			s.row("tool.turn", Wrong, fmt.Sprintf("%s seq %d of turn %d, model calls at %v", p.event.Name, p.event.Seq, k, models))
		}
	}
	s.call = 0
}

func (s *scorer) modelCount(turns, models int64) {
	failures, _ := s.truth.Get("llm_failures").Int()
	unsent := 0 // a span that was opened and holds neither an answer nor tokens may be a call that was never sent
	for _, e := range s.tape.Events {
		if e.Type == tape.EventModelCall && (e.Response == nil || e.Response.Message == "") && e.Usage == nil {
			unsent++
		}
	}
	switch {
	case models > turns+failures+int64(unsent):
		s.row("model.count", Wrong, fmt.Sprintf("want %d have %d", turns, models))
	case models > turns+failures:
		s.row("model.count", Absent, "")
	case models >= turns:
		s.row("model.count", Exact, "")
	}
}

// order checks the order of the tool calls of a run that asked for one a turn.
func (s *scorer) order(pairs []pair) {
	turns := map[string]bool{}
	for _, p := range pairs {
		turns[p.call.Get("llm_order").JSON()] = true
	}
	if len(turns) != len(pairs) || len(pairs) < 2 {
		return
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		x, _ := a.call.Get("order").Int()
		y, _ := b.call.Get("order").Int()
		return int(x - y)
	})
	if slices.IsSortedFunc(pairs, func(a, b pair) int { return a.event.Seq - b.event.Seq }) {
		s.row("tool.order", Exact, "")
	} else {
		s.row("tool.order", Wrong, "tool calls out of order")
	}
}

// argsOf returns the exact arguments: the model's text where there is one, else what the tool received.
func argsOf(call value) value {
	if raw := decode(call.Get("args_raw")); raw.Kind() == exactjson.Object {
		return raw
	}
	return call.Get("args")
}

func namesOf(call value) []string {
	var names []string
	for _, n := range []string{call.Get("name").Str(), call.Get("offered_name").Str(), call.Get("recorded_name").Str()} {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}

// resultsOf returns what the tool returned, and what the framework told the model where that differs.
func resultsOf(call value) []value {
	var results []value
	for _, r := range []value{call.Get("result"), call.Get("sent_to_model")} {
		if r.Kind() > exactjson.Null {
			results = append(results, r)
		}
	}
	if raw := decode(call.Get("args_raw")); !raw.IsAbsent() && !same(raw, call.Get("args")) && same(rounded(raw), call.Get("args")) {
		for _, r := range results {
			results = append(results, rounded(r)) // a runtime that rounds what a tool receives rounds what it returns
		}
	}
	if results == nil || call.Get("error").IsEmpty() && call.Get("result").Kind() <= exactjson.Null {
		results = append(results, exactjson.NullValue)
	}
	return results
}

// rounded is a value with its numbers as JavaScript's runtimes hold them.
func rounded(v value) value {
	if n, ok := v.Float(); ok && v.Kind() == exactjson.Number && v.HasBigInt() && math.Abs(n) < 1<<63 {
		return exactjson.IntValue(int64(n))
	}
	return v.Map(func(_ int, m exactjson.Member) value { return rounded(m.Value) })
}

// returns reports that a result is what the tool returned. A tool that returned null leaves no result, or a text such as None.
func returns(call, result value) bool {
	if result.IsAbsent() || call.Get("result").Kind() <= exactjson.Null && call.Get("error").IsEmpty() && slices.Contains(nullTexts, result.Str()) {
		result = exactjson.NullValue
	}
	return slices.ContainsFunc(resultsOf(call), func(r value) bool { return same(r, result) })
}

// nullTexts are what frameworks write for null.
var nullTexts = []string{"null", "None"}

// hasFailed reports an event that says that its call failed.
func hasFailed(e tape.Event) bool { return e.IsError || e.Status == tape.EventError || e.Error != nil }

func agreement(call value, e tape.Event) int {
	if !slices.Contains(namesOf(call), e.Name) && e.Provenance["name"] != tape.Missing {
		return 0
	}
	want, have := argsOf(call), e.Args
	if want.IsEmpty() {
		want = exactjson.ObjectValue()
	}
	if have.IsEmpty() {
		have = exactjson.ObjectValue()
	}
	if !same(want, have) {
		if !want.IsEmpty() && inside(want, have) {
			return 2 // an envelope around the arguments tells the call as well
		}
		return 1
	}
	silent := hasFailed(e) && e.Result.IsEmpty() // what failed and says nothing returned nothing, not null
	if !call.Get("error").IsEmpty() && hasFailed(e) || returns(call, e.Result) && !silent || !e.Result.IsEmpty() && same(call.Get("error"), e.Result) {
		return 3
	}
	return 2
}
