// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// splitGlued takes apart the results of several calls that a request holds as one text, under the id of the
// last call.
//
// Needs: an answer that asks for several tools, one result behind it, whose text is what the spans of the
// tools hold, one behind the other. Of the last call nothing need be recorded: its result is what is left.
// Refuses: a further result behind it; texts so short that they stand there by chance.
// Seen in: Strands under OpenInference.
func (c *collector) splitGlued() {
	recorded := c.recordedTexts()
	if len(recorded) == 0 {
		return
	}
	apart := map[*message]*message{}
	for _, m := range c.models {
		for k, said := range m.request {
			if k+1 == len(m.request) || !mayBeGlued(said, m.request[k+1]) {
				continue
			}
			glued := m.request[k+1]
			if apart[glued] == nil && !answersMore(m.request[k+2:]) {
				if parts := gluedParts(callsOf(said.parts), glued, recorded); parts != nil {
					apart[glued] = newMessage(genai.Message{Role: glued.tape.Role, Name: glued.tape.Name, Parts: parts})
				}
			}
			if split := apart[glued]; split != nil {
				m.request[k+1] = split
			}
		}
	}
}

// recordedTexts are the whole results that spans of tools hold as texts, by the id of the call.
func (c *collector) recordedTexts() map[string]string {
	recorded := map[string]string{}
	for _, t := range c.tools {
		if r := t.obs.Result; len(t.nodes) > 0 && t.obs.CallID != "" && r.Present() && r.Label == "" && r.Value.Kind() == exactjson.String {
			recorded[t.obs.CallID] = r.Value.Str()
		}
	}
	return recorded
}

// mayBeGlued reports a message of nothing but a text as the result of the last of several calls. It is asked
// of every message of every request.
func mayBeGlued(said, m *message) bool {
	if said.tape.Role != tape.RoleAssistant || len(m.parts) != 1 || m.parts[0].Type != tape.PartToolResult || m.parts[0].Label != "" || m.parts[0].Result.Kind() != exactjson.String || m.parts[0].ID == "" {
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
func answersMore(rest []*message) bool { return len(rest) > 0 && len(rest[0].results()) > 0 }

// gluedParts are the results that the only part of a message holds as one text, nil where it does not.
func gluedParts(calls []*genai.Part, m *message, recorded map[string]string) (parts []genai.Part) {
	rest, long, filled, all := m.parts[0].Result.Str(), 0, 0, true
	for i, p := range calls {
		rest = strings.TrimLeft(rest, " \n")
		result, known := recorded[p.ID]
		switch text := strings.TrimLeft(result, " \n"); {
		case p.ID == "" || !known && i < len(calls)-1 || !strings.HasPrefix(rest, text):
			return nil
		case !known:
			result, rest, all = rest, "", false
		default:
			rest = rest[len(text):]
			if len(text) >= minQuoted {
				long++
			}
			if text != "" {
				filled++
			}
		}
		one := m.parts[0]
		one.ID, one.Name, one.Result = p.ID, p.Name, exactjson.StringValue(result)
		parts = append(parts, one)
	}
	// several short texts are not all there is by chance
	if strings.TrimSpace(rest) != "" || long == 0 && !(all && filled > 1) {
		return nil
	}
	return parts
}
