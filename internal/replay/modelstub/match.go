// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Label names one way in which a served answer is less than exact.
type Label string

// The labels of answers, in the order of reports.
const (
	ByRule         Label = "rule"              // the conversations agree after the rules were applied
	BySpacing      Label = "spacing"           // they differ in white space only
	ByRedaction    Label = "redacted"          // recorded texts hold tokens; each was verified against the live text
	ByRenaming     Label = "volatile"          // ids, times and the like of the run are others, and one renaming explains all of them
	Rewritten      Label = "rewritten"         // a tool result has the content of a recorded form of it, in another form
	ByPosition     Label = "position"          // several recorded turns fit; the order of the recording decided
	OutOfOrder     Label = "out_of_order"      // content decided, and an earlier turn of the same agent has not been asked for
	NotRecorded    Label = "not_recorded"      // something of the recorded request is missing; the rest and the order decided
	BySequence     Label = "sequence"          // the place in the sequence of its agent decided: whose calls it answers, model, tools, number of answers
	Accumulated    Label = "accumulated"       // the recorded request holds only what is new; what was said before was put before it
	MediaNotSeen   Label = "media_not_seen"    // images, files and the like count, their content is not compared
	ToolsDiffer    Label = "tools_differ"      // other tools were offered than in the recording
	ModelDiffers   Label = "model_differs"     // another model was asked than in the recording
	CallsRebuilt   Label = "calls_rebuilt"     // the recording lacks the answer; the tool calls that followed it stand for it
	AnswerRedacted Label = "response_redacted" // the answer holds tokens in place of what was redacted
	TriedAgain     Label = "tried_again"       // the same request at once behind a recorded failure: that failure once more
)

var labelOrder = []Label{
	ByRule, BySpacing, ByRedaction, ByRenaming, Rewritten, ByPosition, OutOfOrder, NotRecorded, BySequence, Accumulated, MediaNotSeen, ToolsDiffer, ModelDiffers, CallsRebuilt,
	AnswerRedacted, TriedAgain,
}

// Difference is the first place at which a live conversation leaves a recorded one.
type Difference struct {
	Seq      int    `json:"seq"`                // of the recorded model call
	Run      string `json:"run,omitempty"`      // its run, where several are served
	Place    string `json:"place"`              // system_prompt; or 1.user, 2.assistant.calls.1.args, …
	Recorded string `json:"recorded,omitempty"` // an excerpt around the difference
	Live     string `json:"live,omitempty"`
	// Rules are the smallest ones with which the conversations agree, as lines of a rules file.
	Rules []string `json:"rules,omitempty"`
}

// comparison is one live conversation against one recorded.
type comparison struct {
	stub   *Stub
	labels map[Label]bool
	depth  int // places that agree
	diff   *Difference
	names  *normalise.Renaming // what is volatile in this conversation
	pairs  []normalise.Pair
	failed *oracle.Compared // the values that do not agree, where it is values
	equal  []string         // texts of the program that are equal on both sides
}

// conversations compares from the front. What the recording lacks agrees with everything, and is labelled.
func (x *comparison) conversations(rec, live *conversation) bool {
	if rec.accumulated {
		x.labels[Accumulated] = true
	}
	if rec.unknown {
		x.labels[NotRecorded] = true
		return len(rec.entries) > 0 && x.known(rec, live)
	}
	if !x.system(rec, live) {
		return false
	}
	for i := range max(len(rec.entries), len(live.entries)) {
		place := itoa(i + 1)
		if i >= len(rec.entries) || i >= len(live.entries) {
			return x.differ(place, sketch(rec.entries, i), sketch(live.entries, i))
		}
		if !x.entry(place, rec.entries[i], live.entries[i]) {
			return false
		}
	}
	return x.oneToOne()
}

// system compares instructions. Of a tape that says that it lacks those of the run, what it has of others has
// to be the end of the live ones.
func (x *comparison) system(rec, live *conversation) bool {
	said := live.system
	if rec.uninstructed {
		x.labels[NotRecorded] = true
		if rec.system == "" {
			return true
		}
		first, _, _ := strings.Cut(rec.system, "\n")
		said = said[max(0, strings.LastIndex(said, first)):]
	}
	return x.text("system_prompt", "system_prompt", rec.system, said)
}

// known reports that each entry that is recorded stands in the live conversation, in order.
func (x *comparison) known(rec, live *conversation) bool {
	at := 0
	for i, e := range rec.entries {
		found := false
		for ; at < len(live.entries) && !found; at++ {
			before := len(x.pairs)
			if found = x.entry(itoa(i+1), e, live.entries[at]); !found {
				x.pairs = x.pairs[:before]
				x.names = &normalise.Renaming{}
				x.names.Take(x.pairs)
			}
		}
		if !found {
			return false
		}
		x.diff = nil
	}
	return x.oneToOne()
}

func (x *comparison) entry(place string, rec, live *entry) bool {
	if rec.role != live.role {
		return x.differ(place, string(rec.role), string(live.role))
	}
	place += "." + string(rec.role)
	field := "text"
	if rec.role == tape.RoleUser {
		field = "user_message"
	}
	if rec.unknown {
		x.labels[NotRecorded] = true
	} else if !x.text(place, field, rec.text, live.text) {
		return false
	}
	if rec.media+live.media > 0 {
		if rec.media != live.media && !rec.unknown {
			return x.differ(place+".media", itoa(rec.media), itoa(live.media))
		}
		x.labels[MediaNotSeen] = true
	}
	if len(rec.calls) != len(live.calls) {
		return x.differ(place+".calls", callNames(rec.calls), callNames(live.calls))
	}
	for i := range rec.calls {
		if !x.call(place+".calls."+itoa(i+1), rec.calls[i], live.calls[i]) {
			return false
		}
	}
	return true
}

func (x *comparison) call(place string, rec, live *called) bool {
	name, args := rec.name, rec.args
	if rec.asked != nil && live.name != "" {
		name, args = rec.asked.Name, rec.asked.Args
	}
	if name == "" && live.name != "" {
		x.labels[NotRecorded] = true
	} else if name != live.name {
		return x.differ(place, name, live.name)
	}
	if !args.IsAbsent() && !x.agrees(place+".args", oracle.Compared{Tool: name, Field: "args", Recorded: args, Live: live.args}).Agrees {
		return false
	}
	if rec.unknown {
		x.labels[NotRecorded] = true
		return true
	}
	if rec.answered != live.answered {
		return x.differ(place+".result", answered(rec), answered(live))
	}
	if !rec.answered {
		return true
	}
	by := normalise.Output // of a tool that ran, which is a program
	if served := x.stub.options.Served; served != nil && served(live.name, oracle.Hash(live.args)) {
		by = normalise.Said
	}
	result := oracle.Compared{Tool: rec.name, Field: "result", Live: live.result, Result: true, Place: by}
	for i, form := range append([]exactjson.Value{rec.result}, rec.also...) {
		result.Recorded = form
		first, shown := x.diff, x.failed
		a := x.agrees(place+".result", result)
		if a.Agrees {
			if i > 0 {
				x.labels[Rewritten] = true
			}
			return true
		}
		if i > 0 {
			x.diff, x.failed = first, shown // that of the form that the model was shown
		} else if a.Cut {
			return false
		}
	}
	return false
}

func (x *comparison) text(place, field, rec, live string) bool {
	c := oracle.Compared{Field: field, Recorded: exactjson.StringValue(rec), Live: exactjson.StringValue(live)}
	switch field {
	case "system_prompt":
		c.Place = normalise.Prompt
	case "user_message":
		c.Place, c.Open = normalise.Prompt, x.stub.around
	}
	return x.agrees(place, c).Agrees
}

// agrees compares two values in the normal form, and notes what was needed.
func (x *comparison) agrees(place string, c oracle.Compared) oracle.Agreement {
	c.Known = x.names
	a := x.stub.normal.Agree(c)
	if a.Agrees = a.Agrees && x.names.Take(a.Pairs); !a.Agrees {
		x.differ(place, text(a.Recorded), text(a.Live))
		c.Recorded, c.Live = a.Recorded, a.Live
		x.failed = &c
		return a
	}
	for _, label := range Labels(a.Needs) {
		x.labels[label] = true
	}
	if a.Needs == 0 && c.Place != normalise.Said && c.Open == nil {
		x.equal = append(x.equal, text(c.Live))
	}
	x.pairs = append(x.pairs, a.Pairs...)
	x.depth++
	x.diff, x.failed = nil, nil
	return a
}

var toleranceLabels = []struct {
	needs oracle.Tolerance
	label Label
}{
	{oracle.NeedsRules, ByRule}, {oracle.NeedsSpacing, BySpacing}, {oracle.NeedsTokens, ByRedaction}, {oracle.NeedsVolatile, ByRenaming}, {oracle.NeedsForm, Rewritten},
}

// Labels names tolerances, in the order of reports.
func Labels(needs oracle.Tolerance) (list []Label) {
	for _, of := range toleranceLabels {
		if needs&of.needs != 0 {
			list = append(list, of.label)
		}
	}
	return list
}

// oneToOne reports that no name that is taken for another has kept itself in a text of the program that is
// equal on both sides.
func (x *comparison) oneToOne() bool {
	for _, p := range x.pairs {
		if !p.Distinct() {
			continue
		}
		for _, text := range x.equal {
			if strings.Contains(text, p.Recorded) || strings.Contains(text, p.Live) {
				return x.differ("renaming", p.Recorded, p.Live)
			}
		}
	}
	return true
}

func text(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	return v.JSON()
}

// excerptBefore and excerptLength bound, in bytes, what of two values is shown around their first difference.
const (
	excerptBefore = 20
	excerptLength = 120
)

// differ notes the difference and returns false.
func (x *comparison) differ(place, rec, live string) bool {
	at := 0
	for at < min(len(rec), len(live)) && rec[at] == live[at] {
		at++
	}
	x.failed = nil
	at = max(0, at-excerptBefore)
	excerpt := func(s string) string {
		return strings.ToValidUTF8(s[min(at, len(s)):min(at+excerptLength, len(s))], "")
	}
	x.diff = &Difference{Place: place, Recorded: excerpt(rec), Live: excerpt(x.stub.options.mask(live))}
	return false
}

func answered(c *called) string {
	if !c.answered {
		return "no result"
	}
	return text(c.result)
}

func callNames(calls []*called) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.name)
	}
	return fmt.Sprintf("%d calls: %s", len(calls), strings.Join(names, ", "))
}

func sketch(entries []*entry, i int) string {
	if i >= len(entries) {
		return "the end"
	}
	return string(entries[i].role) + ": " + entries[i].text
}
