// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// CrewAI hands a task to a model with words of its own around it, which have been the same in all its versions (translations/en.json, 0.80 to 1.15): what is expected of the answer is always said, the words
// before the task and the call to begin are not there where the agent itself is told of.
const (
	crewTask     = "Current Task: "
	crewExpected = "\nThis is the expected criteria for your final answer: "
	crewDemands  = "\nyou MUST return the actual complete content as the final answer, not a summary."
)

// OpenTasks tells the task in the messages of CrewAI from the words around it, which the user did not say. Other messages are returned as they are.
func OpenTasks(messages []Message) []Message {
	opened := false
	for i, m := range messages {
		if m.Role != tape.RoleUser {
			continue
		}
		parts := openTask(soleText(m))
		if parts == nil {
			continue
		}
		if !opened {
			messages, opened = slices.Clone(messages), true
		}
		messages[i].Parts = parts
	}
	return messages
}

// openTask divides a text into the words before a task, the task, and the words behind it; nil: it is none of CrewAI's.
func openTask(text string) []Part {
	end := strings.Index(text, crewExpected)
	if end < 0 || !strings.Contains(text[end:], crewDemands) {
		return nil
	}
	begin := 0
	if rest := strings.TrimLeft(text, "\n"); strings.HasPrefix(rest, crewTask) {
		begin = len(text) - len(rest) + len(crewTask)
	}
	if begin > end {
		return nil
	}
	task := strings.TrimSuffix(text[begin:end], "\n")
	if task == "" {
		return nil
	}
	var parts []Part
	if begin > 0 {
		before := TextPart(text[:begin])
		before.Injected = true
		parts = append(parts, before)
	}
	behind := TextPart(text[begin+len(task):])
	behind.Injected = true
	return append(parts, TextPart(task), behind)
}
