// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Phrase is text for a person, of which some spans are names.
type Phrase []Span

// Span is a part of a phrase.
type Span struct {
	Text string
	Name bool // of a tool, a model, an agent
}

// String is the phrase on one line, names between backticks.
func (p Phrase) String() string {
	var b strings.Builder
	for _, s := range p {
		if s.Name {
			b.WriteString("`" + s.Text + "`")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// say makes a phrase of texts and names; content of tapes comes in through named and through shown values only.
func say(parts ...any) Phrase {
	var p Phrase
	for _, x := range parts {
		switch x := x.(type) {
		case Phrase:
			p = append(p, x...)
		case Span:
			p = append(p, x)
		default:
			p = append(p, Span{Text: fmt.Sprint(x)})
		}
	}
	return p
}

// valueCells is how much of a value a sentence shows.
const valueCells = 60

func named(name string) Span {
	return Span{Text: timeline.Short(cmp.Or(name, "(no name)"), valueCells), Name: true}
}

// Sentence says where two runs part, and how.
func Sentence(a, b Tape, r *compare.Result) Phrase {
	c := comparedRuns{a, b}
	var p Phrase
	runs := "The runs"
	if len(r.Input) > 0 {
		p, runs = say("The runs were asked different things. "), "They"
	}
	switch {
	case r.First != nil:
		p = say(p, runs, " part ", c.part(r.First), c.otherwise(r), ".")
	case len(r.Output) > 0:
		p = say(p, runs, " take the same steps; ", c.ending(r.Output), ".")
	case len(r.Input) > 0:
		p = say(p, "They take the same steps all the same.")
	case r.Counts.Noted > 0:
		s := firstNoted(r)
		p = say(p, runs, " do not part in what counts (--compare ", r.Compare, "); yet ", c.part(s))
		if len(r.OutputNoted) > 0 {
			p = say(p, ", and ", c.ending(r.OutputNoted))
		}
		p = append(p, Span{Text: "."})
	case len(r.OutputNoted) > 0:
		p = say(p, runs, " take the same steps; ", c.ending(r.OutputNoted), ".")
	default:
		p = say(p, "The runs are alike: ", plural(r.Counts.Equal, "event"), ", no difference.")
	}
	return p
}

// firstNoted is the first step that is equal at the level and yet differs; what is the same JSON is no difference.
func firstNoted(r *compare.Result) *compare.Step {
	for i := range r.Script {
		if s := &r.Script[i]; s.Kind == compare.Equal && differs(s) {
			return s
		}
	}
	return nil
}

// differs reports that a step differs in what does not count.
func differs(s *compare.Step) bool {
	return slices.ContainsFunc(s.Noted, func(d compare.Difference) bool { return d.JSONText == "" })
}

type comparedRuns struct{ a, b Tape }

// part says at which event the runs part: "at event 5: the model asked …".
func (c comparedRuns) part(s *compare.Step) Phrase { return say("at ", eventOf(s), ": ", c.what(s)) }

func eventOf(s *compare.Step) string {
	switch {
	case s.B == nil:
		return fmt.Sprintf("event %d of A", s.A.Seq)
	case s.A == nil:
		return fmt.Sprintf("event %d of B", s.B.Seq)
	case s.A.Seq == s.B.Seq:
		return fmt.Sprintf("event %d", s.A.Seq)
	}
	return fmt.Sprintf("event %d of A, %d of B", s.A.Seq, s.B.Seq)
}

// otherwise goes on behind runs whose first difference is the model alone, as every pair of runs of two models has it.
func (c comparedRuns) otherwise(r *compare.Result) Phrase {
	onlyModel := func(s *compare.Step) bool {
		for _, d := range s.Differences {
			if d.Field != compare.FieldModel {
				return false
			}
		}
		return s.Kind == compare.Changed
	}
	if !onlyModel(r.First) {
		return nil
	}
	for i := range r.Steps {
		if !onlyModel(&r.Steps[i]) {
			return say(". Apart from the model they part ", c.part(&r.Steps[i]))
		}
	}
	if len(r.Output) > 0 {
		return say(". Apart from the model they take the same steps; ", c.ending(r.Output))
	}
	return say(". Apart from the model they take the same steps")
}

// ending says how the ends of the runs differ.
func (c comparedRuns) ending(all []compare.Difference) Phrase {
	var p Phrase
	for _, d := range all {
		if len(p) > 0 {
			p = say(p, ", and ")
		}
		switch a, b := contrast(d.A, d.B); d.Field {
		case compare.FieldStatus:
			p = say(p, "A ends with ", a, ", B with ", b)
		default:
			p = say(p, "their answers differ")
		}
	}
	return p
}

// order is how much of a reason a field is: of several that differ at one event, the first is told.
var order = []compare.Field{
	compare.FieldName, compare.FieldAsks, compare.FieldArgs, compare.FieldQuery, compare.FieldCaller, compare.FieldRelation,
	compare.FieldError, compare.FieldFailed, compare.FieldResult, compare.FieldDocuments, compare.FieldExecutedArgs, compare.FieldServer,
	compare.FieldModel, compare.FieldText, compare.FieldOutput, compare.FieldInput, compare.FieldReasoning, compare.FieldMedia, compare.FieldFinish,
}

// what says what is different at a step: in what counts, else in what does not.
func (c comparedRuns) what(s *compare.Step) Phrase {
	verb := map[tape.EventType]string{
		tape.EventModelCall: "asks the model ", tape.EventToolCall: "calls ", tape.EventAgentCall: "runs the agent ", tape.EventRetrieval: "searches ",
	}
	does := func(e *compare.EventRef) Phrase { return say(cmp.Or(verb[e.Type], "has the event "), named(e.Name)) }
	switch s.Kind {
	case compare.Inserted:
		return say("only B ", does(s.B))
	case compare.Dropped:
		return say("only A ", does(s.A))
	case compare.Moved:
		return say("A ", does(s.A), fmt.Sprintf(" there, B as event %d", s.B.Seq))
	}
	differences := s.Differences
	if len(differences) == 0 {
		differences = s.Noted
	}
	for _, field := range order {
		for i := range differences {
			if d := &differences[i]; d.Field == field && d.JSONText == "" {
				return c.difference(s, d, differences)
			}
		}
	}
	return say(named(s.A.Name), ": ", remark(s))
}

func (c comparedRuns) difference(s *compare.Step, d *compare.Difference, all []compare.Difference) Phrase {
	name := named(s.A.Name)
	a, b := contrast(d.A, d.B)
	switch d.Field {
	case compare.FieldName:
		return say(named(s.B.Name), " stands where A has ", name)
	case compare.FieldAsks:
		return c.asked(s, d)
	case compare.FieldArgs:
		return say(name, " was called ", c.with(s, d))
	case compare.FieldQuery:
		return say(name, " was asked for ", b, " instead of ", a)
	case compare.FieldCaller:
		return say(name, " was called by ", cmp.Or(text(d.B), "the run's own agent"), " instead of ", cmp.Or(text(d.A), "the run's own agent"))
	case compare.FieldRelation:
		return say(name, " was called as ", b, " instead of ", a)
	case compare.FieldFailed, compare.FieldError:
		return c.failed(s, all)
	case compare.FieldResult:
		return say(name, " returned ", instead(d))
	case compare.FieldDocuments:
		return say(name, " found ", instead(d))
	case compare.FieldExecutedArgs:
		return say(name, " received ", instead(d))
	case compare.FieldServer:
		return say(name, " ran on ", b, " instead of ", a)
	case compare.FieldModel:
		return say("the model is ", named(text(d.B)), " instead of ", named(text(d.A)))
	case compare.FieldText:
		return say("the model said ", quoted(d.B, b), " instead of ", quoted(d.A, a))
	case compare.FieldOutput:
		return say(name, " answered ", instead(d))
	case compare.FieldInput:
		return say(name, " was given ", instead(d))
	case compare.FieldFinish:
		return say("the model stopped because of ", b, " instead of ", a)
	case compare.FieldReasoning:
		return say("the model reasoned otherwise")
	}
	return say(name, " has other ", words[d.Field])
}

// instead says what a value is instead of another, and where in it they differ.
func instead(d *compare.Difference) Phrase {
	a, b := contrast(d.A, d.B)
	place := timeline.Short(strings.TrimPrefix(strings.TrimPrefix(d.Path, "$"), "."), valueCells)
	switch {
	case place == "":
		return say(b, " instead of ", a)
	case d.A == nil:
		return say("something else: only in B it has ", place, " (", b, ")")
	case d.B == nil:
		return say("something else: only in A it has ", place, " (", a, ")")
	}
	return say(place, " ", b, " instead of ", a)
}

// failed says which of two calls failed, and with what.
func (c comparedRuns) failed(s *compare.Step, all []compare.Difference) Phrase {
	call := say(named(s.A.Name))
	if s.A.Type == tape.EventModelCall {
		call = say("the call of the model ", named(s.A.Name))
	}
	var a, b string
	both := true
	for _, d := range all {
		switch {
		case d.Field == compare.FieldFailed:
			both = false
			side, of, seq := "A", c.a, s.A.Seq
			if d.B != nil && d.B.True() {
				side, of, seq = "B", c.b, s.B.Seq
			}
			if tape.Unanswered(of.event(seq)) {
				return say(call, " was not answered in ", side)
			}
			call = say(call, " failed in ", side, " only")
		case d.Field == compare.FieldError && d.Path == "$.type":
		case d.Field == compare.FieldError:
			a, b = cmp.Or(a, message(d.A)), cmp.Or(b, message(d.B))
		}
	}
	switch {
	case both:
		return say(call, " failed with ", cmp.Or(b, "another error"), " instead of ", cmp.Or(a, "another error"))
	case a != "" || b != "":
		return say(call, ": ", cmp.Or(b, a))
	}
	return call
}

// message is what an error says: the error or its message.
func message(v *exactjson.Value) string {
	if v == nil {
		return ""
	}
	if v.Kind() == exactjson.Object {
		return timeline.Short(strings.Trim(v.Get("type").Str()+": "+v.Get("message").Str(), ": "), valueCells)
	}
	return timeline.Short(v.Text(), valueCells)
}

// asked says what the models asked for.
func (c comparedRuns) asked(s *compare.Step, d *compare.Difference) Phrase {
	if d.Tool != "" {
		return say("the model asked ", named(d.Tool), " ", c.with(s, d))
	}
	tool := func(v *exactjson.Value) Phrase {
		if v == nil {
			return nil
		}
		if v.Kind() == exactjson.Array { // one of the tapes does not hold the answer
			return say("something that is not on the other tape")
		}
		return say(named(v.Get("name").Str()))
	}
	switch a, b := tool(d.A), tool(d.B); {
	case a == nil && len(c.a.asks(s.A.Seq)) == 0:
		return say("the model asked for ", b, " in B and answered in A")
	case b == nil && len(c.b.asks(s.B.Seq)) == 0:
		return say("the model asked for ", a, " in A and answered in B")
	case a == nil:
		return say("the model asked for ", b, " in B only")
	case b == nil:
		return say("the model asked for ", a, " in A only")
	default:
		return say("the model asked for ", b, " instead of ", a)
	}
}

// with says how arguments differ: "for X instead of Y" of a tool with one argument, else "with limit X instead of Y".
func (c comparedRuns) with(s *compare.Step, d *compare.Difference) Phrase {
	a, b := contrast(d.A, d.B)
	only := c.a.oneArgument(s.A.Seq, d.Tool) && c.b.oneArgument(s.B.Seq, d.Tool)
	_, member, _ := strings.Cut(d.Path, ".")
	if d.Field == compare.FieldAsks {
		_, member, _ = strings.Cut(member, ".")
	}
	for0, with := "for ", "with "+timeline.Short(member, valueCells)+" "
	if d.Field == compare.FieldArgs {
		for0 = "with "
	}
	switch {
	case only || member == "":
		return say(for0, b, " instead of ", a)
	case d.B == nil:
		return say("without ", strings.TrimPrefix(with, "with "), "(", a, " in A)")
	case d.A == nil:
		return say(with, b, ", which it has in B only")
	}
	return say(with, b, " instead of ", a)
}

// contrast is two values in so few cells that one sees where they part.
func contrast(a, b *exactjson.Value) (string, string) {
	x, y := apart(text(a), text(b), valueCells)
	return cmp.Or(timeline.Short(x, valueCells), "nothing"), cmp.Or(timeline.Short(y, valueCells), "nothing")
}

func quoted(v *exactjson.Value, shown string) string {
	if text(v) == "" {
		return "nothing"
	}
	return "“" + shown + "”"
}

// text is a value in a sentence: text as it is, anything else as JSON.
func text(v *exactjson.Value) string {
	switch {
	case v == nil || v.IsAbsent():
		return ""
	case v.Kind() == exactjson.String:
		return v.Str()
	}
	return v.JSON()
}

// apart cuts the common beginning of two texts that do not fit, so that the place where they part can be seen.
func apart(a, b string, room int) (string, string) {
	if len(a) <= room && len(b) <= room {
		return a, b
	}
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	lead := room / 3
	if common <= lead {
		return a, b
	}
	at := common - lead
	for at < common && at < len(a) && a[at]&0xc0 == 0x80 { // not within a character
		at++
	}
	return "…" + a[at:], "…" + b[at:]
}

// words are what a person calls the fields.
var words = map[compare.Field]string{
	compare.FieldName: "name", compare.FieldCaller: "caller", compare.FieldModel: "model", compare.FieldAsks: "request", compare.FieldArgs: "arguments",
	compare.FieldRelation: "relation", compare.FieldQuery: "query", compare.FieldUserMessage: "question", compare.FieldFailed: "failure",
	compare.FieldError: "error", compare.FieldResult: "result", compare.FieldExecutedArgs: "received arguments", compare.FieldServer: "server",
	compare.FieldDocuments: "documents", compare.FieldStatus: "status", compare.FieldText: "text", compare.FieldReasoning: "reasoning",
	compare.FieldMedia: "media", compare.FieldFinish: "reason to stop", compare.FieldInput: "input", compare.FieldOutput: "output",
}

// heading names the place of a difference: "request of calculate, expression".
func heading(d *compare.Difference) string {
	name := cmp.Or(words[d.Field], string(d.Field))
	path := strings.TrimPrefix(strings.TrimPrefix(d.Path, "$"), ".")
	if d.Field == compare.FieldAsks {
		if d.Tool != "" {
			name += " of " + d.Tool
		}
		_, path, _ = strings.Cut(path, ".args")
		path = strings.TrimPrefix(path, ".")
	}
	if path != "" {
		name += ", " + path
	}
	return name
}

// spelled says of the same JSON how it differs.
var spelled = map[string]string{"a": "same JSON, as text in A", "b": "same JSON, as text in B", "both": "same JSON, spelled in another way"}

// remark names what differs at a step, and what is the same JSON and not the same text.
func remark(s *compare.Step) string {
	var fields, out []string
	for _, d := range slices.Concat(s.Differences, s.Noted) {
		if d.JSONText != "" {
			out = append(out, spelled[d.JSONText])
		} else if name := cmp.Or(words[d.Field], string(d.Field)); !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	if len(fields) > 0 {
		verb := " differ"
		if len(fields) == 1 && fields[0] != words[compare.FieldArgs] && fields[0] != words[compare.FieldDocuments] {
			verb = " differs"
		}
		out = append([]string{strings.Join(fields, ", ") + verb}, out...)
	}
	return strings.Join(slices.Compact(out), "; ")
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
