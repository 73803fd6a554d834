// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package modelonly asks the recorded turns of a tape again, each alone, of models behind APIs like that of OpenAI. No agent runs and no tool:
// each model gets what the recorded one was sent, and what it asks for and says is compared with what was recorded.
package modelonly

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Endpoint is a model behind an API like that of OpenAI.
type Endpoint struct {
	Model string `json:"model"`
	URL   string `json:"url"` // the base, with the version: …/v1
}

// ParseEndpoint reads MODEL, which is asked at base, or MODEL@URL.
func ParseEndpoint(text, base string) (Endpoint, error) {
	e := Endpoint{Model: text, URL: base}
	for _, scheme := range []string{"@https://", "@http://"} {
		if i := strings.LastIndex(text, scheme); i >= 0 {
			e = Endpoint{Model: text[:i], URL: text[i+1:]}
		}
	}
	u, err := url.Parse(e.URL)
	if e.Model == "" || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(e.URL, "?#") {
		return e, fmt.Errorf("%q is no model: want MODEL or MODEL@URL", text)
	}
	e.URL = strings.TrimRight(e.URL, "/")
	return e, nil
}

// Options say how the models are asked.
type Options struct {
	Models []Endpoint
	// Key returns what is sent to an endpoint as bearer token, "" for nothing; nil is never anything.
	Key func(endpoint *url.URL) string
	// Client sends the requests; nil is http.DefaultClient.
	Client *http.Client
	// Timeout is for each request, 0 for none.
	Timeout time.Duration
	// Mask hides secrets in what models say; nil shows it as it is.
	Mask func(string) string
}

// Outcome is what became of one turn with one model.
type Outcome string

// The outcomes.
const (
	Same         Outcome = "same"          // the same calls of tools, and the same text
	TextDiffers  Outcome = "text_differs"  // the same calls of tools, another text
	CallsDiffer  Outcome = "calls_differ"  // other calls of tools
	Failed       Outcome = "failed"        // the endpoint did not answer
	NotAskable   Outcome = "not_askable"   // the recording lacks something of the request
	NotRecorded  Outcome = "not_recorded"  // the recording lacks the answer: there is nothing to compare with
	RecordedFail Outcome = "recorded_fail" // the recorded call had failed
)

// Call is a call of a tool that a model asked for.
type Call struct {
	Name string          `json:"name"`
	Args exactjson.Value `json:"args"`
}

// Said is what a model answered.
type Said struct {
	Calls []Call `json:"calls,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Asked is one turn with one model.
type Asked struct {
	Model      string  `json:"model"`
	Outcome    Outcome `json:"outcome"`
	Difference string  `json:"difference,omitempty"`
	Said       *Said   `json:"said,omitempty"`
}

// Turn is a recorded model call.
type Turn struct {
	Seq      int     `json:"seq"`
	Recorded *Said   `json:"recorded,omitempty"`
	Outcome  Outcome `json:"outcome,omitempty"` // of a turn that was not asked
	Redacted bool    `json:"redacted,omitempty"`
	Asked    []Asked `json:"asked,omitempty"`
}

// Report is what the models did with the turns of a tape.
type Report struct {
	Source string           `json:"source"` // run id
	Models []Endpoint       `json:"models"`
	Turns  []Turn           `json:"turns"`
	Counts map[Outcome]int  `json:"counts"`
	Differ map[string][]int `json:"differ"` // model → events whose calls differ
	Texts  map[string][]int `json:"texts_differ"`
	Fails  map[string][]int `json:"failed"`
}

// Run asks each turn of each model. It fails only where nothing can be asked.
func Run(ctx context.Context, t *tape.Tape, o Options) (*Report, error) {
	if len(o.Models) == 0 {
		return nil, errors.New("no model is named")
	}
	r := &Report{
		Source: t.Run.RunID, Models: o.Models, Turns: []Turn{}, Counts: map[Outcome]int{}, Differ: map[string][]int{}, Texts: map[string][]int{}, Fails: map[string][]int{},
	}
	for i, m := range o.Models {
		if slices.ContainsFunc(o.Models[:i], func(other Endpoint) bool { return other.Model == m.Model }) {
			return nil, fmt.Errorf("the model %s is named twice", m.Model)
		}
	}
	c := &t.Config
	settings := exactjson.ObjectValue(interop.Member("temperature", c.Temperature), interop.Member("top_p", c.TopP), interop.Member("seed", c.Seed), interop.Member("max_tokens", c.MaxTokens))
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall {
			turn, err := r.turn(ctx, t, e, settings, &o)
			if err != nil {
				return nil, err
			}
			r.Turns = append(r.Turns, turn)
		}
	}
	if len(r.Turns) == 0 {
		return nil, errors.New("the tape holds no model call")
	}
	return r, nil
}

func (r *Report) turn(ctx context.Context, t *tape.Tape, e *tape.Event, settings exactjson.Value, o *Options) (Turn, error) {
	turn := Turn{Seq: e.Seq}
	switch {
	case e.Request == nil || len(e.Request.Messages) == 0 || modelstub.Cut(e, "request.messages"):
		turn.Outcome = NotAskable
	case e.Status == tape.EventError:
		turn.Outcome = RecordedFail
	case e.Response == nil || e.Response.Message == "" || modelstub.Cut(e, "response"):
		turn.Outcome = NotRecorded
	}
	if turn.Outcome != "" {
		r.Counts[turn.Outcome]++
		return turn, nil
	}
	recorded := said([]tape.Message{t.Messages[e.Response.Message]})
	turn.Recorded = &recorded
	for _, label := range e.Provenance {
		turn.Redacted = turn.Redacted || label == tape.Redacted
	}
	members := []exactjson.Member{interop.Member("messages", chat.Messages(t, e.Request.Messages)), interop.Member("tools", chat.Tools(t, e.Request.Tools))}
	for _, model := range o.Models {
		body := exactjson.ObjectValue(append(append([]exactjson.Member{interop.Member("model", exactjson.StringValue(model.Model))}, members...), settings.Members()...)...)
		live, err := ask(ctx, o, model, body.AppendJSON(nil))
		if ctx.Err() != nil {
			return turn, ctx.Err()
		}
		asked := Asked{Model: model.Model}
		if err != nil {
			asked.Outcome, asked.Difference = Failed, o.mask(err.Error())
			r.Fails[model.Model] = append(r.Fails[model.Model], e.Seq)
		} else {
			asked.Outcome, asked.Difference = compare(recorded, live)
			asked.Difference = o.mask(asked.Difference)
			shown := live.masked(o)
			asked.Said = &shown
		}
		switch asked.Outcome {
		case CallsDiffer:
			r.Differ[model.Model] = append(r.Differ[model.Model], e.Seq)
		case TextDiffers:
			r.Texts[model.Model] = append(r.Texts[model.Model], e.Seq)
		}
		r.Counts[asked.Outcome]++
		turn.Asked = append(turn.Asked, asked)
	}
	return turn, nil
}

func (o *Options) mask(text string) string {
	if o.Mask == nil {
		return text
	}
	return o.Mask(text)
}

func (s Said) masked(o *Options) Said {
	out := Said{Text: o.mask(s.Text)}
	for _, c := range s.Calls {
		if text := c.Args.JSON(); o.mask(text) != text {
			c.Args = exactjson.StringValue(o.mask(text))
		}
		out.Calls = append(out.Calls, c)
	}
	return out
}

// maxAnswer bounds what an endpoint answers, in bytes; maxShown what is shown of an error.
const (
	maxAnswer = 16 << 20
	maxShown  = 300
)

func ask(ctx context.Context, o *Options, e Endpoint, body []byte) (Said, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return Said{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if o.Key != nil {
		if key := o.Key(req.URL); key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	client := o.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return Said{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return Said{}, err
	case resp.StatusCode != http.StatusOK:
		return Said{}, fmt.Errorf("%s: %s", resp.Status, strings.ToValidUTF8(string(text[:min(len(text), maxShown)]), ""))
	case len(text) > maxAnswer:
		return Said{}, errors.New("the answer is too long")
	}
	answer, err := exactjson.Parse(string(text))
	if err != nil {
		return Said{}, fmt.Errorf("the answer is not JSON: %w", err)
	}
	message := answer.Get("choices").At(0).Get("message")
	if message.Kind() != exactjson.Object {
		return Said{}, errors.New("the answer holds no message")
	}
	var messages []tape.Message
	for _, m := range decode.OutputMessages(answer, 0) {
		one := tape.Message{Role: m.Role}
		for _, p := range m.Parts {
			one.Parts = append(one.Parts, p.Part)
		}
		messages = append(messages, one)
	}
	return said(messages), nil
}

// said is what messages of the assistant ask for and say.
func said(messages []tape.Message) (s Said) {
	var texts []string
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p.Type {
			case tape.PartText:
				texts = append(texts, p.Text)
			case tape.PartToolCall:
				s.Calls = append(s.Calls, Call{p.Name, p.Args})
			}
		}
	}
	s.Text = strings.Join(texts, "\n")
	return s
}

// compare tells how an answer differs. Calls of one answer have no order; white space does not count in texts.
func compare(recorded, live Said) (Outcome, string) {
	rest := slices.Clone(live.Calls)
	for i, want := range recorded.Calls {
		at := slices.IndexFunc(rest, func(c Call) bool { return c.Name == want.Name && c.Args.Equal(want.Args) })
		if at < 0 {
			return CallsDiffer, fmt.Sprintf("call %d, %s %s: the model asked for %s", i+1, want.Name, want.Args.JSON(), names(live.Calls))
		}
		rest = slices.Delete(rest, at, at+1)
	}
	if len(rest) > 0 {
		return CallsDiffer, fmt.Sprintf("the model also asked for %s", names(rest))
	}
	if !slices.Equal(strings.Fields(recorded.Text), strings.Fields(live.Text)) {
		return TextDiffers, ""
	}
	return Same, ""
}

func names(calls []Call) string {
	var list []string
	for _, c := range calls {
		list = append(list, c.Name+" "+c.Args.JSON())
	}
	if list == nil {
		return "no tool"
	}
	return strings.Join(list, ", ")
}

// Text is the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "turns of %s, each asked alone\n", r.Source)
	for _, turn := range r.Turns {
		if turn.Outcome != "" {
			fmt.Fprintf(&b, "  event %d: %s\n", turn.Seq, turn.Outcome)
		}
		for _, a := range turn.Asked {
			fmt.Fprintf(&b, "  event %d  %s: %s", turn.Seq, a.Model, a.Outcome)
			if a.Difference != "" {
				b.WriteString(": " + a.Difference)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
