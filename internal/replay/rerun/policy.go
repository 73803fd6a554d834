// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// Policies are the ways in which a replay is meant to be another run than the recorded one. Their JSON form is part of the contract.
type Policies struct {
	Ignore      []compare.Field `json:"ignore,omitempty"`       // fields that do not count
	ReadThrough []string        `json:"read_through,omitempty"` // tools that run where no answer is recorded
	Override    *Overlay        `json:"override,omitempty"`
	ForkAt      int             `json:"fork_at,omitempty"` // the first event of the recording that is free
	Model       *Candidate      `json:"model,omitempty"`
}

// Candidate is the real model that was asked.
type Candidate struct {
	URL                string `json:"url"`
	Model              string `json:"model,omitempty"` // "": the one that the agent asks for
	SystemPromptSHA256 string `json:"system_prompt_sha256,omitempty"`
}

// Overlay is what of an oracle was laid over the recorded one.
type Overlay struct {
	File    string `json:"file"`
	Entries int    `json:"entries"`
	Events  []int  `json:"events"` // of the recording, whose answer was another one
	Added   int    `json:"added"`  // answers to calls that are not recorded

	laid   map[int]bool // by index of the entries that Lay returned
	served int
}

// Answers is how many calls got an answer of the overlay.
func (o *Overlay) Answers() int { return o.served }

// Lay lays entries over recorded ones: one of the same tool and arguments, and of the same caller and occurrence where it names them, gets
// the other answer; what is not recorded is added.
func (o *Overlay) Lay(recorded, over []oracle.Entry) []oracle.Entry {
	o.Entries, o.Events, o.laid = len(over), []int{}, map[int]bool{}
	out := slices.Clone(recorded)
	for _, e := range over {
		found := false
		for i := range recorded {
			r := &recorded[i]
			if r.ToolName != e.ToolName || r.ArgsHash != e.ArgsHash || e.Caller != "" && e.Caller != r.Caller || e.Occurrence > 0 && e.Occurrence != r.Occurrence {
				continue
			}
			found, o.laid[i] = true, true
			x := &out[i]
			x.Response, x.ResponseFormat, x.IsError, x.ErrorType, x.ErrorMessage = e.Response, e.ResponseFormat, e.IsError, e.ErrorType, e.ErrorMessage
			x.ResponseFidelity, x.OtherResponses = e.ResponseFidelity, nil
		}
		if !found {
			e.Seq = 0
			o.laid[len(out)] = true
			o.Added++
			out = append(out, e)
		}
	}
	return out
}

// Served notes an answer: whether it was one of the overlay.
func (o *Overlay) Served(a *oracle.Answer) {
	if o == nil || !a.Outcome.Served() || !o.laid[a.Index] {
		return
	}
	o.served++
	if a.Entry.Seq == 0 || slices.Contains(o.Events, a.Entry.Seq) {
		return
	}
	o.Events = append(o.Events, a.Entry.Seq)
	slices.Sort(o.Events)
}

// Comparable says which events of the recording the replay is held to.
type Comparable struct {
	Events int    `json:"events"`           // how many
	Before int    `json:"before,omitempty"` // those before this event; 0: all
	Except []int  `json:"except,omitempty"` // of these, what the tool was asked, not what it answered
	Answer bool   `json:"answer"`           // the answer of the run counts, where --answer takes it
	Note   string `json:"note,omitempty"`
	// Ignored are fields that do not count, as --ignore says; and the name of the model, where another one
	// was asked.
	Ignored []compare.Field `json:"ignored,omitempty"`
}

// Ignored are the fields that do not count: those that were named; and of a run that another model was asked
// for all along, which one it was.
func (p *Policies) Ignored() []compare.Field {
	if p.Model == nil || p.ForkAt > 0 || slices.Contains(p.Ignore, compare.FieldModel) {
		return p.Ignore
	}
	return append(slices.Clone(p.Ignore), compare.FieldModel)
}

// comparable follows from the policies.
func (p *Policies) comparable(events int) Comparable {
	c := Comparable{Events: events, Answer: true, Ignored: p.Ignored()}
	var notes []string
	if p.ForkAt > 0 {
		c.Events, c.Before, c.Answer = p.ForkAt-1, p.ForkAt, false
		notes = append(notes, fmt.Sprintf("from event %d on the run was free: what came is shown, and decides nothing", p.ForkAt))
	}
	if p.Override != nil {
		c.Except, c.Answer = p.Override.Events, false
		notes = append(notes, "answers of tools that were changed on purpose do not count")
	}
	if p.Model != nil && p.ForkAt == 0 {
		c.Answer = false
		notes = append(notes, "another model was asked: its name and its texts do not count, what it had the agent do does")
	}
	c.Note = strings.Join(notes, "; ")
	return c
}

// answers are the fields that an overlay changes.
var answers = []compare.Field{compare.FieldResult, compare.FieldFailed, compare.FieldError}

// counts reports whether a divergent step is one that the replay is held to.
func (c *Comparable) counts(s *compare.Step) bool {
	at := s.B
	if s.A != nil {
		at = s.A
	}
	if c.Before > 0 && at.Seq >= c.Before {
		return false
	}
	if s.Kind == compare.Changed && slices.Contains(c.Except, s.A.Seq) {
		return slices.ContainsFunc(s.Differences, func(d compare.Difference) bool { return !slices.Contains(answers, d.Field) })
	}
	return true
}

// judge returns whether the runs agree in what counts, and the first step that does not.
func (c *Comparable) judge(r *compare.Result) (equal bool, first *compare.Step) {
	for i := range r.Steps {
		if c.counts(&r.Steps[i]) {
			return false, &r.Steps[i]
		}
	}
	return len(r.Input) == 0 && (len(r.Output) == 0 || c.Before > 0), nil
}

// lines say it for a person.
func (p *Policies) lines() (list []string) {
	for _, tool := range p.ReadThrough {
		list = append(list, "policy: "+tool+" runs where no answer is recorded")
	}
	if o := p.Override; o != nil {
		list = append(list, fmt.Sprintf("policy: %d answers of %s were laid over, %d of them for calls that are not recorded; events %v got another answer", o.Entries, o.File, o.Added, o.Events))
	}
	if p.ForkAt > 0 {
		list = append(list, fmt.Sprintf("policy: free from event %d on", p.ForkAt))
	}
	if m := p.Model; m != nil {
		line := "policy: " + m.URL + " was asked"
		if m.Model != "" {
			line += ", model " + m.Model
		}
		if m.SystemPromptSHA256 != "" {
			line += ", with the system prompt " + m.SystemPromptSHA256
		}
		list = append(list, line)
	}
	return list
}
