// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// SplitGlued takes apart the results of several calls that a request holds as one text, under the id of the
// last call.
//
// Needs: an answer that asks for several tools, one result behind it, whose text is what the spans of the
// tools hold, one behind the other. Of the last call nothing need be recorded: its result is what is left.
// Refuses: a further result behind it; texts so short that they stand there by chance.
// Seen in: Strands under OpenInference.
func SplitGlued(c *ledger.Ledger) {
	recorded := recordedTexts(c)
	if len(recorded) == 0 {
		return
	}
	apart := map[*chat.Message]*chat.Message{}
	for _, m := range c.Models {
		for k, said := range m.Request {
			if k+1 == len(m.Request) || !ledger.MayBeGlued(said, m.Request[k+1]) {
				continue
			}
			glued := m.Request[k+1]
			if apart[glued] == nil && !answersMore(m.Request[k+2:]) {
				if parts := gluedParts(chat.CallsOf(said.Parts), glued, recorded); parts != nil {
					apart[glued] = chat.NewMessage(genai.Message{Role: glued.Tape.Role, Name: glued.Tape.Name, Parts: parts})
				}
			}
			if split := apart[glued]; split != nil {
				m.Request = slices.Clone(m.Request)
				m.Request[k+1] = split
			}
		}
	}
}

// recordedTexts are the whole results that spans of tools hold as texts, by the id of the call.
func recordedTexts(c *ledger.Ledger) map[string]string {
	recorded := map[string]string{}
	for _, t := range c.Tools {
		if r := t.Obs.Result; len(t.Nodes) > 0 && t.Obs.CallID != "" && r.Present() && r.Label == "" && r.Value.Kind() == exactjson.String {
			recorded[t.Obs.CallID] = r.Value.Str()
		}
	}
	return recorded
}

// answersMore reports further results of tools right behind a message.
func answersMore(rest []*chat.Message) bool { return len(rest) > 0 && len(ledger.Results(rest[0])) > 0 }

// gluedParts are the results that the only part of a message holds as one text, nil where it does not.
func gluedParts(calls []*genai.Part, m *chat.Message, recorded map[string]string) (parts []genai.Part) {
	rest, long, filled, all := m.Parts[0].Result.Str(), 0, 0, true
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
			if len(text) >= chat.MinQuoted {
				long++
			}
			if text != "" {
				filled++
			}
		}
		one := m.Parts[0]
		one.ID, one.Name, one.Result = p.ID, p.Name, exactjson.StringValue(result)
		parts = append(parts, one)
	}
	// several short texts are not all there is by chance
	if strings.TrimSpace(rest) != "" || long == 0 && !(all && filled > 1) {
		return nil
	}
	return parts
}
