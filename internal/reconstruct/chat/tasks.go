// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"regexp"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// TaskNames are the members under which frameworks keep what they were asked to do.
var TaskNames = []string{"task", "description", "question", "query", "input", "prompt", "message", "user_message", "user_input", "text"}

// TaskOnly is how many of them name nothing else.
const TaskOnly = 2

// Placeholder is what a template still has to be filled with.
var Placeholder = regexp.MustCompile(`\{\w+\}`)

// OnlyTask is what the only task of a list says is to be done.
func OnlyTask(v exactjson.Value) string {
	if v = Opened(v); v.Kind() != exactjson.Array || v.Len() != 1 {
		return ""
	}
	for _, name := range TaskNames[:TaskOnly] {
		if text := v.At(0).Get(name).Str(); text != "" && !Placeholder.MatchString(text) {
			return text
		}
	}
	return ""
}
