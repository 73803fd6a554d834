// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// asking is a tool call that the conversation of a part shows to have been asked for.
type asking struct {
	f        *part
	n        *spantree.Node // the model call that was answered with it; nil: not known
	part     *genai.Part
	response bool // a response asks for it, and not only a request or a step shows it
	executed bool
}

// askings are the tool calls that the conversations of all parts show.
type askings struct {
	byID, byName map[string][]*asking
	byArgs       map[string][]*asking       // the arguments as JSON
	meets        map[spantree.ScopeKey]bool // instrumentations whose tool calls have the ids that responses ask with
}

// maxAskings bounds how many calls of one name a tool span is compared with.
const maxAskings = 256

// asked are the tool calls that the conversations show, found once.
func (s *stitcher) asked() *askings {
	if s.calls != nil {
		return s.calls
	}
	c := &askings{byID: map[string][]*asking{}, byName: map[string][]*asking{}, byArgs: map[string][]*asking{}, meets: map[spantree.ScopeKey]bool{}}
	s.calls = c
	for _, f := range s.all {
		for _, a := range f.askings() {
			if a.part.ID != "" {
				c.byID[a.part.ID] = append(c.byID[a.part.ID], a)
			}
			c.byName[a.part.Name] = append(c.byName[a.part.Name], a)
			if args := a.part.Args; !args.IsEmpty() {
				c.byArgs[args.JSON()] = append(c.byArgs[args.JSON()], a)
			}
		}
	}
	return c
}

// askings lists the tool calls that the responses of a part ask for, and those that its requests, and what
// its steps were given, show beyond them since the last user message.
func (p *part) askings() (out []*asking) {
	known := map[string]int{}
	for _, t := range p.turns {
		for _, r := range t.n.Obs.Response {
			for one := range chat.EachCall(r.Parts) {
				known[askKey(one)]++
				out = append(out, &asking{f: p, n: t.n, part: one, response: true})
			}
		}
	}
	longest := p.longest()
	for i, messages := range [][]*chat.Message{longest, handed(p), concluded(p)} {
		shown := map[string]int{}
		since := chat.SinceUser(messages)
		for at, m := range since {
			if m.Tape.Role != tape.RoleAssistant {
				continue
			}
			for one := range chat.EachCall(m.Parts) {
				key := askKey(one)
				if shown[key]++; shown[key] <= known[key] {
					continue
				}
				known[key]++
				a := &asking{f: p, part: one}
				if i == 0 {
					a.n = p.answeredAt(len(messages) - len(since) + at)
				}
				out = append(out, a)
			}
		}
	}
	return out
}

func askKey(p *genai.Part) string {
	if p.ID != "" {
		return p.ID
	}
	return p.Name + "\x00" + p.Args.JSON()
}

// answeredAt finds the model call whose request ends where its answer stands in later requests.
func (p *part) answeredAt(at int) *spantree.Node {
	for _, t := range p.turns {
		if len(t.sent) == at {
			return t.n
		}
	}
	return nil
}

// handed is the longest conversation that a step of a part was given.
func handed(p *part) []*chat.Message {
	var longest []genai.Message
	for _, h := range p.Heads {
		if h.Obs.WeakAgent && len(h.Obs.Input) > len(longest) {
			longest = h.Obs.Input
		}
	}
	return chat.Plain(longest)
}

// concluded is the conversation at the end of a graph whose span stands alone: its calls lie in other traces.
func concluded(p *part) []*chat.Message {
	if len(p.Heads) != 1 || !p.Heads[0].Obs.WeakAgent || len(p.Heads[0].Kids) > 0 || len(p.turns) > 0 {
		return nil
	}
	return chat.Plain(chat.ConversationIn(p.Heads[0].Obs.OutputData))
}

// withID lists the calls with the id of a tool span, or of the call that it was handed whole.
func (c *askings) withID(n *spantree.Node) []*asking {
	id := n.Obs.CallID
	if id == "" {
		_, _, id = c.handed(n)
	}
	return surest(c.byID[id])
}

// handed is the name, the arguments and the id of the call that a tool span stands for: those that it was
// handed, where nobody asked for a tool of its own name.
func (c *askings) handed(n *spantree.Node) (name string, args genai.Content, id string) {
	if len(c.byName[n.Obs.Name]) == 0 && n.Obs.Args.Label == "" {
		if one, ok := chat.OnlyCall(n.Obs.Args.Value); ok {
			return one.Name, genai.Content{Value: one.Args}, one.ID
		}
	}
	return n.Obs.Name, n.Obs.Args, n.Obs.CallID
}

// surest leaves of calls those that responses asked for, if there are any.
func surest(all []*asking) []*asking {
	return prefer(all, func(a *asking) bool { return a.response })
}

// open lists the calls of the same name and arguments that were asked for and that no span executed. A record
// that is no span may be a second report: for it also those that a span executed.
func (c *askings) open(n *spantree.Node) []*asking {
	var equal, wider []*asking
	tried := 0
	name, args, _ := c.handed(n)
	for _, a := range c.byName[name] {
		if a.executed && n.Spans > 0 || n.Obs.CallID != "" && a.part.ID != "" && c.meets[n.Scope] {
			continue
		}
		if tried++; tried > maxAskings {
			break
		}
		switch {
		case !args.Present() || args.Label != "" || chat.EqualArgs(args.Value, a.part.Args, chat.SameValue):
			equal = append(equal, a)
		case includes(args.Value, a.part.Args, chat.MaxEnvelopes):
			wider = append(wider, a)
		}
	}
	if len(equal) > 0 {
		return surest(equal)
	}
	return surest(wider)
}

// includes reports that arguments hold all that was asked for, beside others that the program passes on its
// own, or in an envelope.
func includes(received, asked exactjson.Value, depth int) bool {
	if asked.Kind() != exactjson.Object || asked.Len() == 0 || received.Kind() != exactjson.Object || depth == 0 {
		return false
	}
	if !slices.ContainsFunc(asked.Members(), func(m exactjson.Member) bool { return !chat.SameValue(received.Get(m.Name), m.Value) }) {
		return true
	}
	return slices.ContainsFunc(received.Members(), func(m exactjson.Member) bool { return includes(m.Value, asked, depth-1) })
}

// execute marks the call of a part's run that one of its tool spans executed.
func (s *stitcher) execute(n *spantree.Node, f *part) {
	for _, list := range []func(*spantree.Node) []*asking{s.asked().withID, s.asked().open} {
		for _, a := range list(n) {
			if !a.executed && s.find(a.f) == s.find(f) {
				a.executed = true
				return
			}
		}
	}
}
