// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// splitGlued takes apart the results of several calls that a request holds as one text, under the id of the last of them (OpenInference for Strands): an answer asks for several tools, one result
// follows it, and its text is what the spans of the tools hold, one behind the other with nothing but white space between them. Of the last call alone nothing need be recorded: its result
// is what is left.
func (c *collector) splitGlued() {
	recorded := map[string]string{} // by the id of a call
	for _, t := range c.tools {
		if r := t.obs.Result; len(t.nodes) > 0 && t.obs.CallID != "" && r.Present() && r.Label == "" && r.Value.Kind() == exactjson.String {
			recorded[t.obs.CallID] = r.Value.Str()
		}
	}
	if len(recorded) == 0 {
		return
	}
	apart := map[*message]*message{}
	for _, m := range c.models {
		for k, said := range m.request {
			if said.tape.Role != tape.RoleAssistant || k+1 == len(m.request) || !mayBeGlued(said, m.request[k+1]) {
				continue
			}
			if split, known := apart[m.request[k+1]]; known {
				m.request[k+1] = split
			} else if parts := gluedParts(callsOf(said.parts), m.request[k+1], recorded); parts != nil && !answersMore(m.request[k+2:]) {
				split := newMessage(genai.Message{Role: m.request[k+1].tape.Role, Name: m.request[k+1].tape.Name, Parts: parts})
				apart[m.request[k+1]] = split
				m.request[k+1] = split
			}
		}
	}
}

// mayBeGlued reports a message of nothing but a text as the result of the last of several calls. It is asked of every message of every request.
func mayBeGlued(said, m *message) bool {
	if len(m.parts) != 1 || m.parts[0].Type != tape.PartToolResult || m.parts[0].Label != "" || m.parts[0].Result.Kind() != exactjson.String || m.parts[0].ID == "" {
		return false
	}
	calls, last := 0, ""
	for i := range said.parts {
		if said.parts[i].Type == tape.PartToolCall {
			calls, last = calls+1, said.parts[i].ID
		}
	}
	return calls > 1 && m.parts[0].ID == last
}

// answersMore reports further results of tools right behind a message.
func answersMore(rest []*message) bool {
	return len(rest) > 0 && slices.ContainsFunc(rest[0].parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult })
}

// gluedParts are the results that the only part of a message that may be glued holds as one text, nil where it does not.
func gluedParts(calls []*genai.Part, m *message, recorded map[string]string) []genai.Part {
	var parts []genai.Part
	rest, told, several, all := m.parts[0].Result.Str(), 0, 0, true
	for i, p := range calls {
		text, known := recorded[p.ID]
		rest = strings.TrimLeft(rest, " \n")
		switch {
		case p.ID == "" || !known && i < len(calls)-1:
			return nil
		case !known:
			text, rest, all = rest, "", false
		default:
			text = strings.TrimLeft(text, " \n")
			if !strings.HasPrefix(rest, text) {
				return nil
			}
			rest = rest[len(text):]
			if len(text) >= minQuoted {
				told++
			}
			if text != "" {
				several++
			}
			text = recorded[p.ID]
		}
		one := m.parts[0]
		one.ID, one.Name, one.Result = p.ID, p.Name, exactjson.StringValue(text)
		parts = append(parts, one)
	}
	if strings.TrimSpace(rest) != "" || told == 0 && !(all && several > 1) { // a short text stands in front of another by chance; several of them are not all there is by chance
		return nil
	}
	return parts
}
