// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"encoding/json"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
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
	Models  *Models           `json:"models,omitempty"` // of a command: how its model calls were answered
	Scores  []Score           `json:"scores,omitempty"` // one for each scorer of the plan, if the run was replayed
	// Withheld names attributes of persons that the runner sent.
	Withheld []string `json:"withheld,omitempty"`
	Runner   string   `json:"runner,omitempty"` // what the candidate calls itself
	// Ended is how a command failed that was replayed all the same, "" when it did not.
	Ended string `json:"ended,omitempty"`
	// Recorded is what the recorded run took, Replayed what the candidate did.
	Recorded Effort `json:"recorded"`
	Replayed Effort `json:"replayed"`
	// Steps are the tool calls of the candidate, in order; StepsLeftOut counts those that had no room.
	Steps        []Step `json:"steps,omitempty"`
	StepsLeftOut int    `json:"steps_left_out,omitempty"`
}

// Step is a tool call of the candidate.
type Step struct {
	Tool   string  `json:"tool"`
	Args   *string `json:"args,omitempty"`
	Result *string `json:"result,omitempty"`
}

// maxSteps bounds the texts of the steps that an outcome keeps, in bytes.
const maxSteps = 256 << 10

// Effort is what a run took. What nobody reports is nil.
type Effort struct {
	InputTokens  *int64 `json:"input_tokens,omitempty"`
	OutputTokens *int64 `json:"output_tokens,omitempty"`
	DurationMS   *int64 `json:"duration_ms,omitempty"` // kept where the plan asks for it alone: it differs from replay to replay
}

// Tokens are those of both directions.
func (e *Effort) Tokens() (n int64) {
	for _, of := range []*int64{e.InputTokens, e.OutputTokens} {
		if of != nil {
			n += *of
		}
	}
	return n
}

// EffortOf is what a tape says that its run took, without the time.
func EffortOf(t *tape.Tape) Effort {
	return Effort{InputTokens: t.Usage.InputTokens, OutputTokens: t.Usage.OutputTokens}
}

// Tokens are those that the candidate and judges used for the case. Where recorded answers were served nothing was used.
func (o *Outcome) Tokens() (n int64) {
	if o.Models == nil || o.Models.Live > 0 {
		n = o.Replayed.Tokens()
	}
	for _, s := range o.Scores {
		if s.Cost != nil {
			n += s.Cost.InputTokens + s.Cost.OutputTokens
		}
	}
	return n
}

// Answered says how the calls of a replay were answered.
type Answered struct {
	Served    int      `json:"served,omitempty"`      // from the tape
	NotExact  int      `json:"not_exact,omitempty"`   // of the served: less than exact
	Approx    []string `json:"approximate,omitempty"` // why, each once
	Missed    []string `json:"missed,omitempty"`      // "what: outcome", in order
	Exhausted int      `json:"exhausted,omitempty"`   // of the missed: recorded, and served as often as recorded
	Live      int      `json:"live,omitempty"`        // not from the tape, as the policy, a rule or --model-url wants it
	Unused    int      `json:"unused,omitempty"`      // recorded answers that nobody asked for
}

// Models says how the model calls of a replay were answered.
type Models struct {
	Calls int `json:"calls"`
	Answered
	MadeUp []string `json:"made_up,omitempty"` // members of answers that the tape does not hold, each once
}

// Tools says how the tool calls of a replay were answered.
type Tools struct {
	Answered
	Failed     int `json:"recorded_errors,omitempty"` // of the served: what the tool had failed with
	Overridden int `json:"overridden,omitempty"`
}

// Score is what a scorer said.
type Score struct {
	Scorer   string  `json:"scorer"`
	Original float64 `json:"original"`
	Replayed float64 `json:"replayed"`
	Failed   string  `json:"failed,omitempty"` // why there is no score
	Said     string  `json:"said,omitempty"`   // by a check: the end of what it wrote
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
	out.ToolSpans = ToolSpans(t)
	return out
}

// ToolSpans are the tool calls of a run.
func ToolSpans(t *tape.Tape) []contract.ToolSpan {
	spans := []contract.ToolSpan{}
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
		spans = append(spans, span)
	}
	return spans
}

// redact takes secrets out of what came from the candidate and from scorers.
func (o *Outcome) redact(text func(string) string) {
	if text == nil {
		return
	}
	o.Text = text(o.Text)
	for i := range o.Steps {
		for _, of := range []*string{o.Steps[i].Args, o.Steps[i].Result} {
			if of != nil {
				*of = text(*of)
			}
		}
	}
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
		o.Scores[i].Failed, o.Scores[i].Said = text(o.Scores[i].Failed), text(o.Scores[i].Said)
	}
}

// keep notes the tool calls of the candidate, as many as there is room for.
func (o *Outcome) keep(spans []contract.ToolSpan) {
	room := maxSteps
	for i := range spans {
		s := Step{Tool: spans[i].Name}
		own := func(text string) *string { return &text }
		switch {
		case spans[i].Args != nil:
			s.Args = own(string(spans[i].Args))
		case spans[i].Input != nil:
			s.Args = own(*spans[i].Input)
		}
		if spans[i].Output != nil {
			s.Result = own(*spans[i].Output)
		}
		for _, of := range []*string{&s.Tool, s.Args, s.Result} {
			if of != nil {
				room -= len(*of)
			}
		}
		if room < 0 {
			o.StepsLeftOut = len(spans) - i
			return
		}
		o.Steps = append(o.Steps, s)
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
