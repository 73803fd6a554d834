// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"github.com/tapedeck/tapedeck/tape"
)

// conversation pairs the tool calls and results in a growing list of messages. Requests that resend the messages of the one before
// share one conversation, so that a long run costs no more than its messages.
type conversation struct {
	messages  []string
	exchanges []*exchange
	byMessage map[string][]*exchange // id of the message with the call
	byID      map[string][]*exchange // call id
	byContent map[call][]*exchange   // tool and hash
	last      []*exchange            // the calls of the last message with calls
	groups    int
}

// exchange is a tool call in a conversation and its result there; either may be absent.
type exchange struct {
	order    int // in the conversation
	group    int // counts the messages with calls, so that a message that stands twice is told apart
	index    int // among the calls of the message
	call     *tape.Part
	result   *tape.Part
	position int // index of the message with the result
}

// request is what one model call was shown: the conversation up to there.
type request struct {
	*conversation
	until int      // exchanges
	fresh []string // the messages that the request before it did not have
}

func newConversation() *conversation {
	return &conversation{byMessage: map[string][]*exchange{}, byID: map[string][]*exchange{}, byContent: map[call][]*exchange{}}
}

// extendedBy reports whether the messages begin with those of the conversation.
func (c *conversation) extendedBy(messages []string) bool {
	if len(messages) < len(c.messages) {
		return false
	}
	for i, id := range c.messages {
		if messages[i] != id {
			return false
		}
	}
	return true
}

// extend adds the messages that are new. A result answers the newest open call with its id, else the first open call of the last
// message with calls that has its name or no other.
func (c *conversation) extend(t *tape.Tape, messages []string) {
	for position, id := range messages[len(c.messages):] {
		m := t.Messages[id]
		if calls := callsOf(m); len(calls) > 0 {
			c.groups++
			c.last = nil
			for i, part := range calls {
				x := &exchange{order: len(c.exchanges), group: c.groups, index: i, call: part}
				c.exchanges, c.last = append(c.exchanges, x), append(c.last, x)
				c.byMessage[id] = append(c.byMessage[id], x)
				content := call{tool: part.Name, hash: Hash(part.Args)}
				c.byContent[content] = append(c.byContent[content], x)
				if part.ID != "" {
					c.byID[part.ID] = append(c.byID[part.ID], x)
				}
			}
		}
		for i := range m.Parts {
			part := &m.Parts[i]
			if part.Type != tape.PartToolResult {
				continue
			}
			x := c.answered(part)
			if x == nil {
				x = &exchange{order: len(c.exchanges)}
				c.exchanges = append(c.exchanges, x)
				if part.ID != "" {
					c.byID[part.ID] = append(c.byID[part.ID], x)
				}
			}
			x.result, x.position = part, len(c.messages)+position
		}
	}
	c.messages = messages
}

func (c *conversation) answered(result *tape.Part) *exchange {
	if result.ID != "" {
		same := c.byID[result.ID]
		for i := len(same) - 1; i >= 0; i-- {
			if same[i].result == nil {
				return same[i]
			}
		}
	}
	for _, x := range c.last {
		if x.result == nil && (x.call.ID == "" || result.ID == "") && !differ(x.call.Name, result.Name) {
			return x
		}
	}
	return nil
}
