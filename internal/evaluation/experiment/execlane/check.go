// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package execlane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
)

// Outcome is how a probe ended.
type Outcome string

// The outcomes. A runner that asks for no tool cannot be seen to take its answers: such probes are Skipped.
const (
	OK      Outcome = "ok"
	Fail    Outcome = "fail"
	Skipped Outcome = "skipped"
)

// Probe is one behaviour that was tried.
type Probe struct {
	Name     string  `json:"name"`
	Required bool    `json:"required"` // without it runs are not replayed; else it is advised
	Outcome  Outcome `json:"outcome"`
	Detail   string  `json:"detail,omitempty"`
}

// The call that the cache of a probe knows.
const (
	probeTool = "search"
	probeArgs = `{"q":"whatifd-exec-check"}`
)

const probeMessage = "whatifd exec-check probe: use a tool"

// Check tries a runner. Where a runner cannot replay, the probes behind it are left out.
func Check(ctx context.Context, config Config) (probes []Probe) {
	config.complete()
	c := checker{config: config}
	lane, err := Open(ctx, config)
	c.note("handshake", true, err, fmt.Sprintf("hello of %s within %v", Protocol, config.Hello))
	if err != nil {
		return c.probes
	}
	var anonymous error
	if lane.identity.Name == "" || lane.identity.Version == "" || !lane.versioned {
		anonymous = errors.New("the hello lacks v, runner_name or runner_version")
	}
	c.note("identity", false, anonymous, lane.identity.Name+" "+lane.identity.Version)
	if !c.replays(ctx, lane) {
		_ = lane.Close()
		return c.probes
	}
	c.lookups(ctx, lane)
	c.odd(ctx, lane)
	c.note("shutdown", true, lane.Close(), fmt.Sprintf("ended with exit code 0 within %v", config.Shutdown))
	c.eof(ctx)
	return c.probes
}

// Conforms reports whether all that is required was seen; with advised also all that is advised.
func Conforms(probes []Probe, advised bool) bool {
	for _, p := range probes {
		if p.Outcome == Fail && (p.Required || advised) {
			return false
		}
	}
	return len(probes) > 1
}

type checker struct {
	config Config
	probes []Probe
}

func (c *checker) note(name string, required bool, err error, detail string) {
	p := Probe{name, required, OK, detail}
	if err != nil {
		p.Outcome, p.Detail = Fail, err.Error()
	}
	c.probes = append(c.probes, p)
}

func (c *checker) skip(name string, why string) {
	c.probes = append(c.probes, Probe{name, false, Skipped, why})
}

// probe replays the probe, with what is called noted, and answered by answer.
func (c *checker) probe(ctx context.Context, lane *Lane, answer Answer, called *int) (Result, error) {
	return lane.Replay(ctx, contract.TraceInput{UserMessage: probeMessage}, contract.ReplayConfig{}, func(tool string, args json.RawMessage) Answer {
		*called++
		key, err := contract.ToolKey(tool, string(args))
		if known, _ := contract.ToolKey(probeTool, probeArgs); err == nil && key == known {
			return answer
		}
		return Answer{}
	})
}

// replays asks the same thing twice of one process.
func (c *checker) replays(ctx context.Context, lane *Lane) bool {
	ok, called := "ok", 0
	first, err := c.probe(ctx, lane, Answer{Text: &ok}, &called)
	c.note("replay", true, err, fmt.Sprintf("an answer of %d characters and %d tool spans within %v", len(first.Output.Text), len(first.Output.ToolSpans), c.config.ReplayTimeout))
	if err != nil {
		return false
	}
	var echo error
	if lane.single {
		echo = errors.New("the answer has no request_id: each run gets a process of its own")
	}
	c.note("request_id", false, echo, "the id of the request comes back")
	var persons error
	if len(first.Output.Withheld) > 0 {
		persons = fmt.Errorf("attributes that name persons are withheld here and refused by whatifd: %s", strings.Join(first.Output.Withheld, ", "))
	}
	c.note("attributes", false, persons, "tool spans name no person")
	restarts := lane.restarts
	second, err := c.probe(ctx, lane, Answer{Text: &ok}, &called)
	if err == nil && lane.restarts > restarts && !lane.single {
		err = errors.New("the process did not stay for a second run, or said something that nobody asked for")
	}
	c.note("second replay", true, err, "one process replays one run after the other")
	if err != nil {
		return false
	}
	var same error
	if second.Output.Text != first.Output.Text {
		same = errors.New("the same request was answered differently")
	}
	c.note("same answer", false, same, "the same request has the same answer")
	return true
}

// lookups tries each answer of a tool.
func (c *checker) lookups(ctx context.Context, lane *Lane) {
	ok := "ok"
	for _, p := range []struct {
		name   string
		answer Answer
	}{{"text from a tool", Answer{Text: &ok}}, {"JSON from a tool", Answer{JSON: json.RawMessage(`{"rows":[1,2]}`)}}, {"no answer from a tool", Answer{}}} {
		called := 0
		_, err := c.probe(ctx, lane, p.answer, &called)
		var failed *Failure
		switch {
		case called == 0:
			c.skip(p.name, "the runner called no tool for "+fmt.Sprintf("%q", probeMessage))
		case p.answer.Text == nil && p.answer.JSON == nil && errors.As(err, &failed) && failed.Code == CacheMiss:
			c.note(p.name, true, nil, "the runner says so: "+CacheMiss)
		default:
			c.note(p.name, true, err, "the runner goes on")
		}
	}
}

// odd sends what a later version of the protocol may send, and what no version sends.
func (c *checker) odd(ctx context.Context, lane *Lane) {
	ok := "ok"
	answer := func(string, json.RawMessage) Answer { return Answer{Text: &ok} }
	for _, p := range []struct {
		name     string
		required bool
		before   string // a line
		more     string // a member of the request
		detail   string
	}{
		{"unknown member", true, "", "hint", "a member that the runner does not know changes nothing"},
		{"unknown frame", false, `{"type":"future_frame","v":1,"x":1}`, "", "a frame that the runner does not know is not answered"},
		{"garbage", false, "this is not json", "", "a line that is no JSON is skipped"},
	} {
		if err := lane.ready(ctx); err != nil {
			c.note(p.name, p.required, err, "")
			continue
		}
		if p.before != "" && lane.single {
			c.skip(p.name, "the answers have no request_id")
			continue
		}
		err := c.tryOdd(ctx, lane, p.before, p.more, answer)
		c.note(p.name, p.required, err, p.detail)
		if err != nil && lane.child != nil {
			lane.drop()
		}
	}
}

func (c *checker) tryOdd(ctx context.Context, lane *Lane, before, more string, lookup func(string, json.RawMessage) Answer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.ReplayTimeout, errTimeout)
	defer cancel()
	if before != "" {
		if err := lane.child.sendText(ctx, before); err != nil {
			return err
		}
	}
	lane.requests++
	r := request(fmt.Sprintf("r-%06d", lane.requests), contract.TraceInput{UserMessage: "whatifd exec-check probe"}, contract.ReplayConfig{})
	if more != "" {
		r[more] = map[string]any{"a": 1}
	}
	single := lane.single
	_, err := lane.exchange(ctx, r, lookup)
	if err == nil && lane.single && !single {
		lane.single, err = single, errors.New("it was answered")
	}
	return err
}

// eof closes the input of a runner that waits.
func (c *checker) eof(ctx context.Context) {
	const name, detail = "end of input", "the runner ends when its input does"
	lane, err := Open(ctx, c.config)
	if err != nil {
		c.note(name, false, err, detail)
		return
	}
	_ = lane.child.in.Close()
	if !within(lane.child.done, c.config.eof) {
		err = fmt.Errorf("the runner was there %v after the end of its input", c.config.eof)
	}
	lane.drop()
	c.note(name, false, err, detail)
}
