// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// taskInArguments is the task in what the run span was started with.
//
// Needs: a prompt for the model that holds the task among words of the framework.
// Refuses: calls without a run span; the prompt itself.
// Seen in: frameworks whose agents are started with a task in place of a message.
func taskInArguments(in *inputFacts) string {
	return taskIn(in.run.InputData.Value, in.prompt, chat.TaskNames, chat.MaxEnvelopes)
}

// taskInResult is the task in what came out of the run span, under a name that means nothing else.
//
// Needs: a prompt for the model that holds the task among words of the framework.
// Refuses: names that may mean something else.
// Seen in: frameworks whose output repeats the description of the task.
func taskInResult(in *inputFacts) string {
	return taskIn(in.run.OutputData.Value, in.prompt, chat.TaskNames[:chat.TaskOnly], chat.MaxEnvelopes)
}

// taskKept is what the user said before the first answer of the conversation that the run span kept, or the
// task in it.
//
// Needs: a run without a model call, whose run span kept its conversation.
// Refuses: nothing.
// Seen in: agents whose span alone came.
func taskKept(in *inputFacts) string {
	prompt, _ := chat.LastUser(in.kept)
	return cmp.Or(taskIn(in.run.InputData.Value, prompt, chat.TaskNames, chat.MaxEnvelopes), prompt)
}

// loneTask is the task with which a framework began a run, where at most it is known that a model was asked.
//
// Needs: a list of one task as the input of the run span.
// Refuses: several tasks; a template.
// Seen in: a crew of CrewAI whose model refused, under an instrumentation of CrewAI alone.
func loneTask(in *inputFacts) string {
	if !in.untold {
		return ""
	}
	return chat.OnlyTask(in.run.InputData.Value)
}

// taskIn finds a task below one of the names in a value, also in JSON text there.
func taskIn(v exactjson.Value, prompt string, names []string, depth int) string {
	if depth == 0 || prompt == "" {
		return ""
	}
	v = chat.Opened(v)
	for _, name := range names {
		if text := strings.TrimSpace(v.Get(name).Str()); isTaskIn(text, prompt) {
			return text
		}
	}
	for _, m := range v.Members() {
		if task := taskIn(m.Value, prompt, names, depth-1); task != "" {
			return task
		}
	}
	return ""
}

// isTaskIn reports a text that a prompt holds among other words.
func isTaskIn(text, prompt string) bool {
	return text != "" && text != prompt && strings.Contains(prompt, text)
}
