// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Judge lists what of the expectations a replay does not hold. answer is what it answered, nil where nothing was. The command of the answer
// is left to the caller.
func (c *Case) Judge(replayed *tape.Tape, answer *string) (reasons []string) {
	if c.Calls != nil {
		if why := c.calls(replayed); why != "" {
			reasons = append(reasons, "tool calls: "+why)
		}
	}
	a := c.Answer
	if a == nil {
		return reasons
	}
	if answer == nil {
		return append(reasons, "answer: there is none; --answer says where it is")
	}
	text := strings.TrimSpace(*answer)
	if a.Equals != nil && c.text(text) != c.text(strings.TrimSpace(*a.Equals)) {
		reasons = append(reasons, fmt.Sprintf("answer: it is %s, not %s", shown(text), shown(*a.Equals)))
	}
	for _, part := range a.Contains {
		if !strings.Contains(text, part) {
			reasons = append(reasons, fmt.Sprintf("answer: %s does not contain %s", shown(text), shown(part)))
		}
	}
	if a.pattern != nil && !a.pattern.MatchString(text) {
		reasons = append(reasons, fmt.Sprintf("answer: %s does not match %s", shown(text), a.Matches))
	}
	return reasons
}

// text is an answer as the rules leave it.
func (c *Case) text(answer string) string {
	return c.Rules.Apply("", "text", exactjson.StringValue(answer)).Str()
}

// shownLength bounds what a reason shows of a text, in bytes.
const shownLength = 200

func shown(text string) string {
	if len(text) > shownLength {
		text = strings.ToValidUTF8(text[:shownLength], "") + "…"
	}
	return string(exactjson.AppendString(nil, text))
}

// calls says how the tool calls of a replay are others than those that are expected, "" if they are not.
func (c *Case) calls(replayed *tape.Tape) string {
	var got []*tape.Event
	for i := range replayed.Events {
		if e := &replayed.Events[i]; e.Type == tape.EventToolCall {
			got = append(got, e)
		}
	}
	want := c.Calls.Expect
	switch c.Calls.Order {
	case Any:
		return c.inAnyOrder(want, got)
	case AtLeast:
		for i, at := 0, 0; i < len(want); i++ {
			next := slices.IndexFunc(got[at:], func(e *tape.Event) bool { return c.same(&want[i], e) })
			if next < 0 {
				return fmt.Sprintf("call %d, %s, was not made behind the ones before it", i+1, want[i].text())
			}
			at += next + 1
		}
		return ""
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("call %d, %s, was not made", i+1, want[i].text())
		case i >= len(want):
			return fmt.Sprintf("call %d, %s, is not expected", i+1, callText(got[i]))
		case !c.same(&want[i], got[i]):
			return fmt.Sprintf("call %d is %s, not %s", i+1, callText(got[i]), want[i].text())
		}
	}
	return ""
}

// inAnyOrder gives each call that is expected one that was made, those without arguments last, since any call fits them.
func (c *Case) inAnyOrder(want []Call, got []*tape.Event) string {
	left := slices.Clone(got)
	for _, free := range []bool{false, true} {
		for i := range want {
			if want[i].free() != free {
				continue
			}
			at := slices.IndexFunc(left, func(e *tape.Event) bool { return c.same(&want[i], e) })
			if at < 0 {
				return fmt.Sprintf("call %d, %s, was not made", i+1, want[i].text())
			}
			left = slices.Delete(left, at, at+1)
		}
	}
	if len(left) > 0 {
		return fmt.Sprintf("%s is not expected", callText(left[0]))
	}
	return ""
}

func (w *Call) free() bool { return w.value.IsAbsent() && w.ArgsHash == "" }

// same compares a call with one that is expected, as the rules leave both.
func (c *Case) same(want *Call, e *tape.Event) bool {
	switch {
	case want.Tool != e.Name:
		return false
	case want.free():
		return true
	case want.ArgsHash != "":
		return want.ArgsHash == e.ArgsHash
	}
	return c.Rules.Apply(e.Name, "args", want.value).Equal(c.Rules.Apply(e.Name, "args", e.Args))
}

func (w *Call) text() string {
	switch {
	case w.ArgsHash != "":
		return w.Tool + " " + w.ArgsHash
	case w.free():
		return w.Tool
	}
	return w.Tool + " " + cut(w.value.JSON())
}

func callText(e *tape.Event) string {
	if e.Args.IsAbsent() {
		return e.Name
	}
	return e.Name + " " + cut(e.Args.JSON())
}

func cut(text string) string {
	if len(text) > shownLength {
		return strings.ToValidUTF8(text[:shownLength], "") + "…"
	}
	return text
}
