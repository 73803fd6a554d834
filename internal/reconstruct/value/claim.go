// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// claim is a text of the run as it is decided so far, with the label and the finding that it comes with.
type claim struct {
	text   string // "" is none
	label  tape.Label
	code   tape.Code
	detail string
	// message is the recorded message of which the text is all; nil: there is none.
	message *chat.Message
	// beginning says that a record holds the beginning of the text and no more.
	beginning bool
	// withdrawn says that a text was decided and then taken back.
	withdrawn bool
	// settled says that no later resolver of the list is asked.
	settled bool
	trail   *trail
}

// String says in words of a tape what is decided.
func (c claim) String() string {
	switch {
	case c.text == "" && c.beginning:
		return "no more than its beginning"
	case c.text == "":
		return cmp.Or(c.detail, string(c.label))
	}
	said := rule.Shortened(c.text)
	if c.label != "" {
		said += " (" + string(c.label) + ")"
	}
	return said
}

// decide is how a resolver makes a text from what is known of the run and from what the resolvers before it
// decided.
type decide[S any] func(known S, was claim) claim

// resolver is one way to decide a text. A list of resolvers within a list has no id.
type resolver[S any] struct {
	id     rule.ID
	decide decide[S]
}

// resolve asks the resolvers in their order.
func resolve[S any](known S, resolvers []resolver[S], was claim) claim {
	for _, r := range resolvers {
		now := r.decide(known, was)
		now.trail = was.trail
		now.trail.step(r.id, was, now)
		if was = now; was.settled {
			break
		}
	}
	was.settled = false
	return was
}

// asRecorded looks for a text where none is decided. The text is what a record says.
func asRecorded[S any](find func(known S) string) decide[S] { return found("", find) }

// asRecovered looks for a text where none is decided. The text follows from records of something else.
func asRecovered[S any](find func(known S) string) decide[S] { return found(tape.Recovered, find) }

func found[S any](label tape.Label, find func(S) string) decide[S] {
	return func(known S, was claim) claim {
		if was.text == "" {
			if was.text = find(known); was.text != "" {
				was.label = cmp.Or(label, was.label)
			}
		}
		return was
	}
}

// inTurn asks the resolvers of a list of its own.
func inTurn[S any](resolvers []resolver[S]) decide[S] {
	return func(known S, was claim) claim { return resolve(known, resolvers, was) }
}

// reworded puts the words of another record in place of a text that is decided.
func reworded[S any](better func(known S, text string) string) decide[S] {
	return func(known S, was claim) claim {
		if was.text != "" {
			was.text = better(known, was.text)
		}
		return was
	}
}

// takenBack withdraws a text that is decided, with its label and its message.
func takenBack[S any](wrong func(known S, was claim) bool) decide[S] {
	return func(known S, was claim) claim {
		if was.text != "" && wrong(known, was) {
			return claim{withdrawn: true}
		}
		return was
	}
}

// unmasked labels a text in which the producer replaced something. A text that is a mask as a whole is no
// value.
func unmasked[S any](_ S, was claim) claim {
	c := genai.Content{Value: exactjson.StringValue(was.text)}
	if c.LabelMasks(); c.Label != "" {
		was.label, was.code, was.detail = c.Label, tape.CodeMasked, "the producer masked it, or a part of it"
	}
	if c.Label == tape.Masked {
		was.text = ""
	}
	return was
}

// settle writes the label and the finding of a claim and returns its text, nil for none.
func (b *Builder) settle(c claim, p tape.Provenance, field string) *string {
	if _, name, _ := strings.Cut(field, "."); c.label != "" {
		p[name] = c.label
	}
	if c.code != "" {
		b.Finding(c.code, 0, field, c.detail)
	}
	if c.text == "" {
		return nil
	}
	return &c.text
}
