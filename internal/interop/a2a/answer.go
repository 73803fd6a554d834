// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ErrAnswer is returned, wrapped, for what is no answer of an agent.
var ErrAnswer = errors.New("no answer of A2A")

// Answer reads what an agent answered: the text of a task, of its artifacts, or of a message, in a response
// of JSON-RPC or in the events of a stream, of which the last with a text counts; pieces of one artifact are
// put together. It reads the versions up to 1.0.
func Answer(body string) (string, error) {
	if !strings.HasPrefix(strings.TrimSpace(body), "{") {
		return streamed(body)
	}
	result, err := resultOf(body)
	if err != nil {
		return "", err
	}
	return said(result), nil
}

func resultOf(body string) (exactjson.Value, error) {
	v, err := exactjson.Parse(body)
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if failure := v.Get("error"); failure.Kind() == exactjson.Object {
		return v, fmt.Errorf("%w: the agent answered with error %s", ErrAnswer, failure.Get("code").AppendJSON(nil))
	}
	result := v.Get("result")
	if result.Kind() != exactjson.Object {
		return v, fmt.Errorf("%w: it has no result", ErrAnswer)
	}
	// From 1.0 on, the name of its one member says what the result is.
	if inner := result.First("task", "message", "statusUpdate", "artifactUpdate"); result.Len() == 1 && inner.Kind() == exactjson.Object {
		return inner, nil
	}
	return result, nil
}

func streamed(body string) (text string, err error) {
	events, pieces := 0, ""
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if !ok {
			continue
		}
		result, err := resultOf(strings.TrimSpace(data))
		if err != nil {
			return "", err
		}
		events++
		if piece := result.Get("artifact"); piece.Kind() == exactjson.Object {
			if !result.Get("append").True() && !piece.Get("append").True() {
				pieces = ""
			}
			pieces += texts(piece)
			text = pieces
		} else if now := said(result); now != "" {
			text = now
		}
	}
	if events == 0 {
		return "", fmt.Errorf("%w: neither JSON nor a stream of events", ErrAnswer)
	}
	return text, nil
}

// said is the text of a task or of a message: of the status, else of the artifacts.
func said(result exactjson.Value) string {
	if text := texts(result); text != "" {
		return text
	}
	if text := texts(result.Get("status").Get("message")); text != "" {
		return text
	}
	var all []string
	for _, m := range result.Get("artifacts").Members() {
		if text := texts(m.Value); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// texts are those of the parts of a message or an artifact.
func texts(of exactjson.Value) string {
	var all strings.Builder
	for _, m := range of.Get("parts").Members() {
		all.WriteString(m.Value.Get("text").Str())
	}
	return all.String()
}
