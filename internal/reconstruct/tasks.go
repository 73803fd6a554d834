// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// taskNames are the members under which frameworks keep what they were asked to do.
var taskNames = []string{"task", "description", "question", "query", "input", "prompt", "message", "user_message", "user_input", "text"}

// taskOnly is how many of them name nothing else.
const taskOnly = 2

// placeholder is what a template still has to be filled with.
var placeholder = regexp.MustCompile(`\{\w+\}`)

// taskInArguments is the task in what the run span was started with.
//
// Needs: a prompt for the model that holds the task among words of the framework.
// Refuses: calls without a run span; the prompt itself.
// Seen in: frameworks whose agents are started with a task in place of a message.
func taskInArguments(in *inputFacts) string {
	return taskIn(in.run.InputData.Value, in.prompt, taskNames, maxEnvelopes)
}

// taskInResult is the task in what came out of the run span, under a name that means nothing else.
func taskInResult(in *inputFacts) string {
	return taskIn(in.run.OutputData.Value, in.prompt, taskNames[:taskOnly], maxEnvelopes)
}

// taskKept is what the user said before the first answer of the conversation that the run span kept, or the task in it.
func taskKept(in *inputFacts) string {
	prompt, _ := lastUser(in.kept)
	return cmp.Or(taskIn(in.run.InputData.Value, prompt, taskNames, maxEnvelopes), prompt)
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
	return onlyTask(in.run.InputData.Value)
}

// onlyTask is what the only task of a list says is to be done.
func onlyTask(v exactjson.Value) string {
	if v = opened(v); v.Kind() != exactjson.Array || v.Len() != 1 {
		return ""
	}
	for _, name := range taskNames[:taskOnly] {
		if text := v.At(0).Get(name).Str(); text != "" && !placeholder.MatchString(text) {
			return text
		}
	}
	return ""
}

// taskIn finds a task below one of the names in a value, also in JSON text there.
func taskIn(v exactjson.Value, prompt string, names []string, depth int) string {
	if depth == 0 || prompt == "" {
		return ""
	}
	v = opened(v)
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

// given is what an agent was started with where that was no message: its text, or the structure as it was recorded.
func given(c genai.Content) string {
	if args := c.Value.Get("args"); c.Value.Len() == 1 && args.Kind() == exactjson.Array && args.Len() == 1 && args.At(0).Kind() == exactjson.String {
		return args.At(0).Str() // of a function that was called with one argument by position
	}
	// The last is null as Python writes it.
	if c.Label != "" || c.Value.IsEmpty() || c.Value.Kind() == exactjson.Null || c.Value.Str() == "None" {
		return ""
	}
	return textResult(c.Value)
}

// kept is what stands before the first answer in the conversation that the run span kept.
//
// Needs: an output with one conversation.
// Refuses: several conversations; none that a user began.
// Seen in: CrewAI's crews under OpenInference, which leaves model calls to others.
func (f *fragment) kept() (sent []*message) {
	root := f.root
	if root == nil {
		return nil
	}
	conversation := decode.OnlyTranscript(root.obs.OutputData.Value)
	first := slices.IndexFunc(conversation, func(m genai.Message) bool { return m.Role == tape.RoleAssistant })
	if first < 0 && len(root.obs.Output) > 0 {
		first = len(conversation)
	}
	if first < 1 || !decode.HasRole(conversation[:first], tape.RoleUser) {
		return nil
	}
	for _, m := range conversation[:first] {
		sent = append(sent, newMessage(m))
	}
	return sent
}
