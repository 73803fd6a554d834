// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// What a run was given stands in the definitions with which a framework began it, where it failed before anything else told of it: no span of a model call, and no
// conversation that it kept (a crew of CrewAI whose model refused, under an instrumentation of CrewAI alone).

// placeholder is what a template still has to be filled with.
var placeholder = regexp.MustCompile(`\{\w+\}`)

// onlyTask is what the only task of a list says is to be done, "" where there are several, or where it is a template.
func onlyTask(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	if v.Kind() != exactjson.Array || v.Len() != 1 {
		return ""
	}
	for _, name := range taskNames[:taskOnly] {
		if text := v.At(0).Get(name).Str(); text != "" && !placeholder.MatchString(text) {
			return text
		}
	}
	return ""
}

// instructionNames are the members under which the definition of an agent keeps its instructions.
var instructionNames = []string{"instructions", "system_prompt", "system_message", "backstory"}

// definedBelow are the instructions in the definition of the only agent of a run, which was handed to the step that it ran; "" where there are several.
func definedBelow(root *node) string {
	told, same := "", true
	walk(root, func(n *node) bool {
		given := n.obs.InputData.Value
		if given.Kind() == exactjson.String {
			given, _ = decoded(given)
		}
		definition := given.Get("agent")
		if n.obs.Class != genai.Agent || definition.Kind() != exactjson.Object {
			return true
		}
		text := strings.TrimSpace(definition.First(instructionNames...).Str())
		same = same && (told == "" || told == text)
		told = text
		return true
	})
	if !same || placeholder.MatchString(told) {
		return ""
	}
	return told
}
