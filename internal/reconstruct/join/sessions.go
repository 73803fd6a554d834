// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// bySession unites parts that hold no user message of their own with the run of the same session, and parts
// that were sent the prompt of a run with that. Of some runs nothing but a record of the prompt came: they go
// on until the next one begins.
//
// Needs: one run of the session and service around the part in time; else the only run of the session, which
// waits for tools in another trace with a clock ahead; else the last prompt of the session, or of the trace
// where no session is named.
// Refuses: several runs. Where no session is named, the agent is what a part and its run have in common.
// Seen in: command line agents, which write the prompt as a log record.
func (s *stitcher) bySession() {
	runs, prompts := map[string][]*part{}, map[string][]*part{}
	ids := make([]string, len(s.all))
	var parts, asked []*part
	for i, f := range s.all {
		id := f.says(session)
		ids[i] = id
		switch {
		case f.prompt() != "":
			runs[id] = append(runs[id], f)
			for _, key := range append([]string{id}, f.Traces...) {
				prompts[key] = append(prompts[key], f)
			}
		case f.OwnRun():
			runs[id] = append(runs[id], f)
		case f.userText() != "":
			runs[id] = append(runs[id], f)
			asked = append(asked, f)
		default:
			parts = append(parts, f)
		}
	}
	delete(runs, "")
	for _, f := range parts {
		id := ids[f.place]
		var around []*part
		for _, g := range runs[id] {
			if s.find(g) != s.find(f) && g.spans(f) && s.sameService(g, f) {
				around = append(around, g)
			}
		}
		switch run := chat.Only(runs[id]); {
		case len(around) > 0:
			s.propose(f, fragment.ByTime, around...)
		case strings.HasPrefix(id, unnamedSession):
		case run != nil && waitsAhead(run, f):
			s.propose(f, fragment.ByTime, run)
			s.after(run, run.turns[len(run.turns)-1].n, f, f.earliest)
		default:
			if run := latestBefore(prompts[cmp.Or(id, f.Traces[0])], f); run != nil {
				s.propose(f, fragment.ByTime, run)
			}
		}
	}
	for _, f := range asked {
		if id := ids[f.place]; id != "" {
			if g := latestBefore(prompts[id], f); g != nil && wasSent(f, g.prompt()) {
				s.propose(f, fragment.ByTime, g)
			}
		}
	}
}

// unnamedSession begins what stands for the session where none is named.
const unnamedSession = "\x00"

// session is what says which run a part without a user message belongs to: its conversation, else its agent,
// by name and instructions.
func session(o *genai.Report) string {
	if o.ConversationID != "" || o.Agent.Name == "" || len(o.System) == 0 {
		return o.ConversationID
	}
	var said strings.Builder
	said.WriteString(unnamedSession + o.Agent.Name)
	for _, p := range o.System {
		if p.Type == tape.PartText {
			said.WriteString(unnamedSession + p.Text)
		}
	}
	return said.String()
}

// waitsAhead reports a run that asked for tools at last, where a part in another trace seems to have begun
// before the run: the clock of that trace is behind.
func waitsAhead(run, f *part) bool {
	return len(f.turns) > 0 && len(run.turns) > 0 && !sameTrace(run, f) && run.earliest.Start >= f.earliest.Start &&
		spantree.AsksTools(run.turns[len(run.turns)-1].n)
}

// prompt is the prompt of a run of which nothing but the record of it came.
func (p *part) prompt() string {
	if p.Root == nil || p.Root.Spans > 0 || len(p.Heads) != 1 || p.Heads[0] != p.Root {
		return ""
	}
	return strings.TrimSpace(chat.LastUserText(p.Root.Obs.Input))
}

// latestBefore finds the last of these that began before f.
func latestBefore(prompts []*part, f *part) (latest *part) {
	for _, g := range prompts {
		if g != f && g.earliest.Start <= f.earliest.Start && (latest == nil || g.earliest.Start >= latest.earliest.Start) {
			latest = g
		}
	}
	return latest
}

// wasSent reports that a text of the last user message of the first request is the prompt.
func wasSent(f *part, prompt string) bool {
	if len(f.turns) == 0 {
		return false
	}
	for _, m := range slices.Backward(f.turns[0].sent) {
		if m.Tape.Role == tape.RoleUser {
			return slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return strings.TrimSpace(p.Text) == prompt })
		}
	}
	return false
}
