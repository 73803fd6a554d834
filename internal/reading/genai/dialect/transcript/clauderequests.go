// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// request returns what a model call tells of its request: what is new since the response that it names, or
// all messages. Within a run, requests go on after each other.
func (s *claudeSession) request(c *claudeCall) (messages []decode.Message, label tape.Label, previous string) {
	if c.request == nil {
		return s.unrecorded(c)
	}
	base, behind := s.goesOn(c)
	sent, ok := c.sent()
	if base != nil {
		whole := true
		if h := behind[0]; s.messages[h].Role == "" {
			s.messages[h] = base.response
		}
		for _, h := range behind[1:] {
			m, known := s.messages[h]
			switch {
			case known:
			case ok:
				m, ok = sent, false
				s.messages[h] = m
			default:
				whole = false
				continue
			}
			messages = append(messages, m)
		}
		if base.run == c.run && whole {
			return messages, "", base.id
		}
	}
	return s.whole(c)
}

// goesOn returns the call whose request and answer a recorded request begins with, and the hashes behind that
// request. The first of them is that of the answer.
func (s *claudeSession) goesOn(c *claudeCall) (base *claudeCall, behind []string) {
	r := c.request
	if r.base != nil {
		if base = r.base.call; base == nil || base.failed || r.keep != r.base.size() || len(r.hashes) == 0 {
			return nil, nil
		}
		return base, r.hashes
	}
	if c.before == nil || c.before.request == nil || c.before.failed {
		return nil, nil
	}
	n := c.before.request.size()
	if n >= len(r.hashes) || !slices.Equal(s.all(c.before.request, nil), r.hashes[:n]) {
		return nil, nil
	}
	return c.before, r.hashes[n:]
}

// all returns the hashes of the messages of a request.
func (s *claudeSession) all(r *claudeRequest, behind []string) []string {
	keep := r.size()
	var parts [][]string
	for ; r != nil && keep > 0; r = r.base {
		if keep > r.keep {
			parts = append(parts, r.hashes[:keep-r.keep])
			keep = r.keep
		}
	}
	slices.Reverse(parts)
	return append(slices.Concat(parts...), behind...)
}

// whole returns all messages of a recorded request. Those that the transcript holds as lines alone are found
// from the end, along the calls before it.
func (s *claudeSession) whole(c *claudeCall) (messages []decode.Message, label tape.Label, previous string) {
	if !s.room(c.request.size()) {
		return nil, tape.Truncated, ""
	}
	hashes := s.all(c.request, nil)
	messages = make([]decode.Message, len(hashes))
	at, ofUser := c, true
	for i, h := range slices.Backward(hashes) {
		m, known := s.messages[h]
		if known && m.Role == tape.RoleSystem {
			messages[i] = m
			continue
		}
		if at == nil {
			if messages[i] = m; !known {
				label = tape.Lossy
			}
			continue
		}
		if known && (m.Role == tape.RoleAssistant) == ofUser {
			messages[i] = m
			continue
		}
		if !known {
			ok := true
			if m = at.response; ofUser {
				m, ok = at.sent()
			}
			if ok {
				s.messages[h] = m
			} else {
				label = tape.Lossy
			}
		}
		messages[i] = m
		if ofUser {
			at = at.before
		}
		ofUser = !ofUser
	}
	return slices.DeleteFunc(messages, func(m decode.Message) bool { return m.Role == "" }), label, ""
}

// unrecorded puts together a request that is not in the transcript. What the program adds to the messages,
// the instructions and the tools are not known.
func (s *claudeSession) unrecorded(c *claudeCall) (messages []decode.Message, label tape.Label, previous string) {
	if sent, ok := c.sent(); ok {
		messages = append(messages, sent)
	}
	if c.before != nil && c.before.run == c.run && !c.before.failed {
		return messages, tape.Lossy, c.before.id
	}
	for at := c.before; at != nil && s.room(2); at = at.before {
		if !at.failed {
			messages = append(messages, at.response)
		}
		if sent, ok := at.sent(); ok {
			messages = append(messages, sent)
		}
	}
	slices.Reverse(messages)
	return messages, tape.Lossy, ""
}
