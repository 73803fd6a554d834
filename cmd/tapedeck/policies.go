// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// checkPolicies reads what is to be another than in the recorded run.
func (r *rerunning) checkPolicies() error {
	f := r.f
	r.policies = rerun.Policies{ReadThrough: f.match.from.ReadThrough, ForkAt: f.forkAt}
	for _, field := range f.ignore {
		r.policies.Ignore = append(r.policies.Ignore, compare.Field(field))
	}
	if err := (compare.Options{Ignore: r.policies.Ignore}).Check(); err != nil {
		return fmt.Errorf("--ignore: %w", err)
	}
	switch {
	case f.forkAt < 0:
		return errors.New("--fork-at wants the number of an event")
	case f.modelURL == "" && cmp.Or(f.model, f.prompt, f.modelKey) != "":
		return errors.New("--candidate-model, --system-prompt and --model-key-env need --model-url")
	case f.modelURL == "":
		return nil
	}
	address, err := url.Parse(f.modelURL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" || address.User != nil || address.RawQuery != "" {
		return fmt.Errorf("--model-url %q is no address of HTTP", f.modelURL)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	r.upstream = &modelstub.Upstream{URL: address, Model: f.model, Key: func(api string) string { return f.key(address, api) }, Transport: transport}
	r.policies.Model = &rerun.Candidate{URL: address.String(), Model: f.model}
	prompt := f.promptText
	if f.prompt != "" {
		body, err := os.ReadFile(f.prompt)
		if err != nil {
			return fmt.Errorf("--system-prompt: %w", err)
		}
		text := string(body)
		prompt = &text
	}
	if prompt != nil {
		r.upstream.SystemPrompt = prompt
		r.policies.Model.SystemPromptSHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(*prompt)))
	}
	return nil
}

// key is that of an endpoint, for a call in a protocol; "" for none. The agent never has it.
func (f *rerunFlags) key(endpoint *url.URL, api string) string {
	if f.modelKey != "" {
		return os.Getenv(f.modelKey)
	}
	return keyFor(endpoint, api)
}

// chatKey is the key for an endpoint of OpenAI's chat completions.
func chatKey(endpoint *url.URL) string { return keyFor(endpoint, "openai-chat") }

// keyFor is the key that the environment holds for an endpoint.
func keyFor(endpoint *url.URL, api string) string {
	for _, name := range modelstub.KeyVariables(endpoint, api) {
		if key := os.Getenv(name); key != "" {
			return key
		}
	}
	return ""
}

// entries are the answers of the replay: the recorded ones before the fork, with the others laid over.
func (r *rerunning) entries(ctx context.Context, tools *oracle.Options, model *modelstub.Options) ([]oracle.Entry, error) {
	f := r.f
	entries, err := r.toolAnswers(ctx)
	if err != nil {
		return nil, err
	}
	if f.forkAt > len(r.source.Events) {
		return nil, fmt.Errorf("--fork-at %d: the tape has %d events", f.forkAt, len(r.source.Events))
	}
	switch {
	case f.forkAt > 0 && r.upstream != nil:
		model.Before = f.forkAt
	case r.upstream != nil:
		model.Before = 1 // none is served
	}
	added := 0
	if f.override != "" {
		data, err := os.ReadFile(f.override)
		if err != nil {
			return nil, fmt.Errorf("--override: %w", err)
		}
		over, err := oracle.Read(data)
		if err != nil {
			return nil, fmt.Errorf("--override %s: %w", f.override, err)
		}
		o := &rerun.Overlay{File: f.override}
		entries, r.policies.Override = o.Lay(entries, over), o
		added = o.Added
	}
	if f.forkAt == 0 {
		return entries, nil
	}
	behind := map[[2]string]bool{}
	for _, e := range entries {
		if e.Seq >= f.forkAt {
			behind[[2]string{e.ToolName, e.ArgsHash}] = true
		}
	}
	// Numbers of entries are kept for the overlay: what lies behind the fork is at the end, for entries are in the order of events.
	entries = slices.DeleteFunc(entries, func(e oracle.Entry) bool { return e.Seq >= f.forkAt })
	tools.Free = func(q *oracle.Query, unused int) bool {
		return behind[[2]string{q.ToolName, q.ArgsHash}] || unused <= added
	}
	return entries, nil
}
