// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// calls are the tool calls in the messages of a tape. Several questions are asked of each message; it is read for the first.
type calls struct {
	t      *tape.Tape
	read   map[string]*message               // by id
	room   []message                         // for those that are not read yet
	hashed map[*exactjson.Member]*tape.Event // tool events with arguments, by the first member of these
	tools  [][]*tape.Event                   // see around
	ran    map[string]executed               // see executed
}

// message is a message of the tape with what was read of it.
type message struct {
	tape.Message
	calls []requested
	text  string // see said
	heard bool   // the text is known
}

// requested is a tool call in a message.
type requested struct {
	*tape.Part
	hash string // of its arguments
}

func newCalls(t *tape.Tape) *calls {
	c := &calls{t: t, read: make(map[string]*message, len(t.Messages)), hashed: map[*exactjson.Member]*tape.Event{}}
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventToolCall && e.Args.Len() > 0 {
			c.hashed[&e.Args.Members()[0]] = e
		}
	}
	return c
}

// message returns a message of the tape.
func (c *calls) message(id string) *message {
	m := c.read[id]
	if m != nil {
		return m
	}
	if len(c.room) == 0 {
		c.room = make([]message, max(8, len(c.t.Messages)-len(c.read)))
	}
	m, c.room = &c.room[0], c.room[1:]
	m.Message = c.t.Messages[id]
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == tape.PartToolCall {
			m.calls = append(m.calls, requested{p, c.hash(p.Args)})
		}
	}
	c.read[id] = m
	return m
}

// hash identifies arguments. A tool event that holds the same value holds its hash too.
func (c *calls) hash(args exactjson.Value) string {
	if args.Len() > 0 {
		if e := c.hashed[&args.Members()[0]]; e != nil && e.ArgsHash != "" && e.Args.Len() == args.Len() && e.Args.Kind() == args.Kind() {
			return e.ArgsHash
		}
	}
	return Hash(args)
}

// said is the text of a message without its white space, in which the forms of one text differ.
func (c *calls) said(id string) string {
	m := c.message(id)
	if !m.heard {
		var b strings.Builder
		for i := range m.Parts {
			if m.Parts[i].Type == tape.PartText {
				b.WriteString(m.Parts[i].Text)
			}
		}
		m.text, m.heard = squeezed(b.String()), true
	}
	return m.text
}

// response returns the calls in the recorded response of a model call.
func (c *calls) response(m *tape.Event) []requested {
	if m.Response == nil {
		return nil
	}
	return c.message(m.Response.Message).calls
}

// around is toolsAround of the tape.
func (c *calls) around() [][]*tape.Event {
	if c.tools == nil {
		c.tools = toolsAround(c.t)
	}
	return c.tools
}

// executed is executedOf the tape.
func (c *calls) executed() map[string]executed {
	if c.ran == nil {
		c.ran = executedOf(c.t)
	}
	return c.ran
}

// conversation pairs the tool calls and results in a growing list of messages. Requests that resend the messages of the one before
// share one conversation, so that a long run costs no more than its messages.
type conversation struct {
	messages  []string
	exchanges []*exchange
	byMessage map[string]*exchange // id of the message with the call → the last of them; see lastIn
	byID      map[string]*exchange // call id → the last with it; see lastWith
	byContent map[call][]*exchange // tool and hash, of the first contents exchanges: few calls are looked for by them
	contents  int
	last      []*exchange // the calls of the last message with calls
	groups    int
}

// exchange is a tool call in a conversation and its result there; either may be absent.
type exchange struct {
	order    int    // in the conversation
	message  string // id of the message with the call
	id       string // of the call
	group    int    // counts the messages with calls, so that a message that stands twice is told apart
	index    int    // among the calls of the message
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
		said := of.message(id)
		if asked := said.calls; len(asked) > 0 {
			c.groups++
			c.last = nil
			for i, part := range asked {
				x := &exchange{message: id, id: part.ID, group: c.groups, index: i, call: part.Part, hash: part.hash}
				c.add(x)
				c.last = append(c.last, x)
			}
		}
		for i := range said.Parts {
			part := &said.Parts[i]
			if part.Type != tape.PartToolResult {
				continue
			}
			x := c.answered(part)
			if x == nil {
				x = &exchange{id: part.ID}
				c.add(x)
			}
			x.result, x.position = part, len(c.messages)+position
		}
	}
	c.messages = messages
}

// maxScanned is up to how many exchanges those with an id are looked for one by one: most conversations are
// those of one request.
const maxScanned = 8

func (c *conversation) add(x *exchange) {
	x.order, x.inMessage, x.withID = len(c.exchanges), c.lastIn(x.message), c.lastWith(x.id)
	c.exchanges = append(c.exchanges, x)
	switch n := len(c.exchanges); {
	case n <= maxScanned:
	case c.byID == nil:
		c.byMessage, c.byID = make(map[string]*exchange, 2*n), make(map[string]*exchange, 2*n)
		for _, x := range c.exchanges {
			c.byMessage[x.message], c.byID[x.id] = x, x
		}
	default:
		c.byMessage[x.message], c.byID[x.id] = x, x
	}
}

// lastIn is the last exchange whose call stands in a message, nil if there is none.
func (c *conversation) lastIn(message string) *exchange {
	return c.latest(c.byMessage, message, func(x *exchange) bool { return x.message == message })
}

// lastWith is the last exchange with a call id, nil if there is none.
func (c *conversation) lastWith(id string) *exchange {
	return c.latest(c.byID, id, func(x *exchange) bool { return x.id == id })
}

func (c *conversation) latest(by map[string]*exchange, key string, is func(*exchange) bool) *exchange {
	if key == "" {
		return nil
	}
	if by != nil {
		return by[key]
	}
	for _, x := range slices.Backward(c.exchanges) {
		if is(x) {
			return x
		}
	}
	return nil
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
		for x := c.lastWith(result.ID); x != nil; x = x.withID {
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
