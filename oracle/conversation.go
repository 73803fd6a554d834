// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"github.com/tapedeck/tapedeck/tape"
)

// calls are the tool calls in the messages of a tape. Several questions are asked of each message; it is read for the first.
type calls struct {
	t    *tape.Tape
	read map[string][]requested // by id of the message, those with calls
}

// requested is a tool call in a message.
type requested struct {
	*tape.Part
	hash string // of its arguments
}

func newCalls(t *tape.Tape) *calls { return &calls{t: t, read: map[string][]requested{}} }

// in returns the calls in a message.
func (c *calls) in(message string) []requested {
	list, known := c.read[message]
	if known {
		return list
	}
	parts := c.t.Messages[message].Parts
	for i := range parts {
		if parts[i].Type == tape.PartToolCall {
			list = append(list, requested{&parts[i], Hash(parts[i].Args)})
		}
	}
	if len(list) > 0 {
		c.read[message] = list
	}
	return list
}

// response returns the calls in the recorded response of a model call.
func (c *calls) response(m *tape.Event) []requested {
	if m.Response == nil {
		return nil
	}
	return c.in(m.Response.Message)
}

// conversation pairs the tool calls and results in a growing list of messages. Requests that resend the messages of the one before
// share one conversation, so that a long run costs no more than its messages.
type conversation struct {
	messages  []string
	exchanges []*exchange
	byMessage map[string]*exchange // id of the message with the call → the last of them
	byID      map[string]*exchange // call id → the last with it
	byContent map[call][]*exchange // tool and hash, of the first contents exchanges: few calls are looked for by them
	contents  int
	last      []*exchange // the calls of the last message with calls
	groups    int
}

// exchange is a tool call in a conversation and its result there; either may be absent.
type exchange struct {
	order    int // in the conversation
	group    int // counts the messages with calls, so that a message that stands twice is told apart
	index    int // among the calls of the message
	call     *tape.Part
	hash     string // of the arguments of the call
	result   *tape.Part
	position int // index of the message with the result
	// The exchange before this one whose call stands in a message with the same id, and the one before with the same call id.
	inMessage, withID *exchange
}

// request is what one model call was shown: the conversation up to there.
type request struct {
	*conversation
	until int      // exchanges
	fresh []string // the messages that the request before it did not have
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

// extend adds the messages that are new. A result answers the first open call with its id in the last message with calls, else the newest one before, else
// the first open call of that message that has its name or no other.
func (c *conversation) extend(of *calls, messages []string) {
	for position, id := range messages[len(c.messages):] {
		if asked := of.in(id); len(asked) > 0 {
			c.groups++
			c.last = nil
			for i, part := range asked {
				x := &exchange{order: len(c.exchanges), group: c.groups, index: i, call: part.Part, hash: part.hash, inMessage: c.byMessage[id]}
				c.exchanges, c.last = append(c.exchanges, x), append(c.last, x)
				put(&c.byMessage, id, x)
				c.identify(x, part.ID)
			}
		}
		parts := of.t.Messages[id].Parts
		for i := range parts {
			part := &parts[i]
			if part.Type != tape.PartToolResult {
				continue
			}
			x := c.answered(part)
			if x == nil {
				x = &exchange{order: len(c.exchanges)}
				c.exchanges = append(c.exchanges, x)
				c.identify(x, part.ID)
			}
			x.result, x.position = part, len(c.messages)+position
		}
	}
	c.messages = messages
}

func (c *conversation) identify(x *exchange, id string) {
	if id != "" {
		x.withID = c.byID[id]
		put(&c.byID, id, x)
	}
}

// put makes the map when it has something to hold: most conversations are those of one request.
func put(m *map[string]*exchange, id string, x *exchange) {
	if *m == nil {
		*m = map[string]*exchange{}
	}
	(*m)[id] = x
}

// withContent lists the calls with the content, the first ones first.
func (c *conversation) withContent(content call) []*exchange {
	if c.byContent == nil {
		c.byContent = map[call][]*exchange{}
	}
	for _, x := range c.exchanges[c.contents:] {
		if x.call != nil {
			of := call{tool: x.call.Name, hash: x.hash}
			c.byContent[of] = append(c.byContent[of], x)
		}
	}
	c.contents = len(c.exchanges)
	return c.byContent[content]
}

func (c *conversation) answered(result *tape.Part) *exchange {
	if result.ID != "" {
		for _, x := range c.last { // several may have it: then their order counts
			if x.result == nil && x.call.ID == result.ID {
				return x
			}
		}
		for x := c.byID[result.ID]; x != nil; x = x.withID {
			if x.result == nil {
				return x
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
