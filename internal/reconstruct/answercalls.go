// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// markAnswers finds the tools by which agents hand on their answer. Such a tool is no call of the agent, and its model
// answers by it, also where the framework refused what it said at first.
//
// Needs: the last tool below an agent, whose only argument, not its result, is what the agent answered; a last model
// call that may call it; a name or a definition that says that it answers.
// Refuses: a tool that the model was not offered, or that acts on the answer (send_message): that one ran.
// Seen in: BeeAI, whose final_answer nobody wrote a rule for.
func (c *collector) markAnswers() {
	for _, t := range slices.Clone(c.tools) {
		n, name := answeredBy(t), t.obs.Name
		if n == nil || slices.ContainsFunc(c.tools, func(other *call) bool { return other != t && other.end > t.start && liesBelow(other, n) }) {
			continue
		}
		models := slices.DeleteFunc(slices.Clone(c.models), func(m *call) bool { return !liesBelow(m, n) })
		if len(models) == 0 {
			continue
		}
		if last := models[len(models)-1]; last.start >= t.end || !mayCall(last, name) || !saysAnswer(last, name) {
			continue
		}
		for _, m := range models {
			m.answersBy(name)
		}
		c.dropAnswerSpans(func(t *call) bool { return t.obs.Name == name && liesBelow(t, n) })
	}
}

// answersBy notes that a model call answers by a tool.
func (t *call) answersBy(tool string) {
	o := *t.obs
	o.OutputTools = append(slices.Clip(o.OutputTools), tool)
	t.obs = &o
}

// answeredBy is the agent around a tool that answered what the tool was handed as its only argument. It is nil when
// there is none, and when the result of the tool is the answer.
func answeredBy(t *call) *node {
	args := t.obs.Args.Value
	if len(t.nodes) == 0 || t.holds != nil || failedCall(t) || t.obs.Args.Label != "" ||
		args.Kind() != exactjson.Object || args.Len() != 1 {
		return nil
	}
	said := strings.TrimSpace(args.Members()[0].Value.Str())
	if said == "" || strings.TrimSpace(textResult(t.obs.Result.Value)) == said {
		return nil
	}
	if n := agentAbove(t.nodes[0]); n != nil && strings.TrimSpace(answerOf(n)) == said {
		return n
	}
	return nil
}

// answerOf is the text that an agent answered. The message may stand there as Python writes it.
func answerOf(agent *node) string {
	out := agent.obs.OutputData.Value.Str()
	if k := len(agent.obs.Output); k > 0 {
		out = partsText(agent.obs.Output[k-1].Parts)
	}
	if message, ok := decode.Representation(out); ok && message.Get("content").Kind() == exactjson.String {
		return message.Get("content").Str()
	}
	return out
}

// saysAnswer reports a tool that says of itself that it answers, by its name or by the definition that was offered.
func saysAnswer(m *call, name string) bool {
	return !actsOnAnswer.MatchString(name) && (tellsAnswer.MatchString(name) || slices.ContainsFunc(m.obs.Tools, func(t tape.Tool) bool {
		return t.Name == name && tellsAnswer.MatchString(t.Description)
	}))
}

var (
	tellsAnswer  = regexp.MustCompile(`(?i)answer|final|finish|respon[ds]|conclu|^reply$`)
	actsOnAnswer = regexp.MustCompile(`(?i)^(send|post|publish|mail|e_?mail|notify|save|store|write|speak|say|print|submit_(form|order|ticket))`)
)
