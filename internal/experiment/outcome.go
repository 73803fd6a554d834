// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/experiment/statistics"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Outcome is what became of a case. It holds nothing that differs between two replays of a runner that answers the same.
type Outcome struct {
	RunID  string `json:"run_id"`
	Tenant string `json:"tenant"`
	// Failure is why the run was not replayed.
	Failure *execlane.Failure `json:"failure,omitempty"`
	Text    string            `json:"text,omitempty"` // the answer of the candidate
	Tools   Tools             `json:"tools"`
	Scores  []Score           `json:"scores,omitempty"` // one for each scorer of the plan, if the run was replayed
	// Withheld names attributes of persons that the runner sent.
	Withheld []string `json:"withheld,omitempty"`
}

// Tools says how the tool calls of a replay were answered.
type Tools struct {
	Served     int      `json:"served,omitempty"`
	Failed     int      `json:"recorded_errors,omitempty"` // served: what the tool had failed with
	Approx     []string `json:"approximate,omitempty"`     // why answers were less than exact, each once
	Missed     []string `json:"missed,omitempty"`          // "tool: outcome", in order
	Live       int      `json:"live,omitempty"`            // not answered, as the policy wants it
	Overridden int      `json:"overridden,omitempty"`
	Unused     int      `json:"unused,omitempty"` // recorded answers that nobody asked for
}

// Score is what a scorer said.
type Score struct {
	Scorer   string  `json:"scorer"`
	Original float64 `json:"original"`
	Replayed float64 `json:"replayed"`
	Failed   string  `json:"failed,omitempty"` // why there is no score
	Cost     *Cost   `json:"cost,omitempty"`   // of a judge
}

// Delta is replayed − original.
func (s *Score) Delta() float64 { return s.Replayed - s.Original }

// traceInput is what the candidate is asked.
func traceInput(t *tape.Tape) (contract.TraceInput, error) {
	if t.Input.UserMessage == nil {
		return contract.TraceInput{}, fmt.Errorf("the tape does not hold what the user asked")
	}
	return contract.TraceInput{UserMessage: *t.Input.UserMessage, Metadata: map[string]any{"run_id": t.Run.RunID, "trace_id": t.Run.TraceID}}, nil
}

// traceOutput is what the recorded run answered.
func traceOutput(t *tape.Tape) (out contract.TraceOutput) {
	if t.Output.Text != nil {
		out.Text = *t.Output.Text
	}
	out.ToolSpans = []contract.ToolSpan{}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventToolCall {
			continue
		}
		span := contract.ToolSpan{Name: e.Name, Kind: "tool"}
		if e.ToolCallID != "" {
			span.ToolCallID = &e.ToolCallID
		}
		if !e.Args.IsAbsent() {
			text := e.Args.JSON()
			if span.Input = &text; e.Args.Kind() == exactjson.Object {
				span.Args = []byte(text)
			}
		}
		if !e.Result.IsAbsent() {
			text := e.Result.Text()
			if e.Result.Kind() != exactjson.String {
				text = e.Result.JSON()
			}
			span.Output = &text
		}
		out.ToolSpans = append(out.ToolSpans, span)
	}
	return out
}

// answers answers the tool calls of one replay, and counts them.
type answers struct {
	policy   contract.Policy
	session  *oracle.Session
	override *oracle.Session // nil: none
	tools    Tools
	called   []string
	missed   string // the first tool without an answer
	err      error
}

func (a *answers) lookup(tool string, args []byte) execlane.Answer {
	a.called = append(a.called, tool)
	q := oracle.Query{ToolName: tool, ArgsText: string(args)}
	if a.override != nil {
		if answer, err := a.override.Answer(q); err == nil && answer.Outcome.Served() {
			a.tools.Overridden++
			return execlane.Answer{Text: &answer.Entry.Response}
		}
	}
	answer, err := a.session.Answer(q)
	switch {
	case err != nil:
		a.err = err
	case answer.Outcome.Served():
		a.tools.Served++
		if answer.Outcome == oracle.RecordedError {
			a.tools.Failed++
		}
		for _, l := range answer.Labels {
			if !slices.Contains(a.tools.Approx, string(l)) {
				a.tools.Approx = append(a.tools.Approx, string(l))
			}
		}
		return execlane.Answer{Text: &answer.Entry.Response}
	case a.policy == contract.Live:
		a.tools.Live++
		return execlane.Answer{}
	}
	if a.missed == "" {
		a.missed = tool
	}
	a.tools.Missed = append(a.tools.Missed, fmt.Sprintf("%s: %s", tool, answer.Reason()))
	return execlane.Answer{}
}

// redact takes secrets out of what came from the candidate and from scorers.
func (o *Outcome) redact(text func(string) string) {
	if text == nil {
		return
	}
	o.Text = text(o.Text)
	if o.Failure != nil {
		o.Failure.Message = text(o.Failure.Message)
		for name, v := range o.Failure.Details {
			switch v := v.(type) {
			case string:
				o.Failure.Details[name] = text(v)
			case json.RawMessage:
				o.Failure.Details[name] = text(string(v))
			}
		}
	}
	for i := range o.Scores {
		o.Scores[i].Failed = text(o.Scores[i].Failed)
	}
}

// unscored is why a replayed run has no score that decides.
func (o *Outcome) unscored() string {
	if len(o.Scores) == 0 {
		return "no score"
	}
	return o.Scores[0].Failed
}

// Line says in a few words what became of the case.
func (o *Outcome) Line() string {
	switch {
	case o.Failure != nil:
		return "not replayed: " + o.Failure.Error()
	case len(o.Scores) == 0:
		return "replayed"
	case o.Scores[0].Failed != "":
		return "not scored: " + o.Scores[0].Failed
	}
	return fmt.Sprintf("%s → %s", statistics.Decimal(o.Scores[0].Original), statistics.Decimal(o.Scores[0].Replayed))
}
