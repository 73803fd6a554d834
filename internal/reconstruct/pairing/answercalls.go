// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// markAnswers finds the tools by which agents hand on their answer. Such a tool is no call of the agent, and
// its model answers by it, also where the framework refused what it said at first.
//
// Needs: the last tool below an agent, whose only argument, not its result, is what the agent answered; a
// last model call that may call it; a name or a definition that says that it answers.
// Refuses: a tool that the model was not offered, or that acts on the answer (send_message): that one ran.
// Seen in: BeeAI, whose final_answer nobody wrote a rule for.
func markAnswers(c *ledger.Ledger) {
	for _, t := range slices.Clone(c.Tools) {
		n, name := answeredBy(t), t.Obs.Name
		if n == nil || slices.ContainsFunc(c.Tools, func(other *ledger.Call) bool { return other != t && other.End > t.Start && ledger.LiesBelow(other, n) }) {
			continue
		}
		models := slices.DeleteFunc(slices.Clone(c.Models), func(m *ledger.Call) bool { return !ledger.LiesBelow(m, n) })
		if len(models) == 0 {
			continue
		}
		if last := models[len(models)-1]; last.Start >= t.End || !ledger.MayCall(last, name) || !saysAnswer(last, name) {
			continue
		}
		for _, m := range models {
			answersBy(m, name)
		}
		dropAnswerSpans(c, func(t *ledger.Call) bool { return t.Obs.Name == name && ledger.LiesBelow(t, n) })
	}
}

// answersBy notes that a model call answers by a tool.
func answersBy(t *ledger.Call, tool string) {
	o := t.Obs.Draft()
	o.OutputTools = append(slices.Clip(o.OutputTools), tool)
	t.Obs = o.Seal()
}

// answeredBy is the agent around a tool that answered what the tool was handed as its only argument. It is
// nil when there is none, and when the result of the tool is the answer.
func answeredBy(t *ledger.Call) *spantree.Node {
	args := t.Obs.Args.Value
	if len(t.Nodes) == 0 || t.Holds != nil || ledger.FailedCall(t) || t.Obs.Args.Label != "" ||
		args.Kind() != exactjson.Object || args.Len() != 1 {
		return nil
	}
	said := strings.TrimSpace(args.Members()[0].Value.Str())
	if said == "" || strings.TrimSpace(chat.TextResult(t.Obs.Result.Value)) == said {
		return nil
	}
	if n := spantree.AgentAbove(t.Nodes[0]); n != nil && strings.TrimSpace(answerOf(n)) == said {
		return n
	}
	return nil
}

// answerOf is the text that an agent answered. The message may stand there as Python writes it.
func answerOf(agent *spantree.Node) string {
	out := agent.Obs.OutputData.Value.Str()
	if k := len(agent.Obs.Output); k > 0 {
		out = chat.PartsText(agent.Obs.Output[k-1].Parts)
	}
	if message, ok := decode.Representation(out); ok && message.Get("content").Kind() == exactjson.String {
		return message.Get("content").Str()
	}
	return out
}

// saysAnswer reports a tool that says of itself that it answers, by its name or by the definition that was
// offered.
func saysAnswer(m *ledger.Call, name string) bool {
	return !actsOnAnswer.MatchString(name) && (tellsAnswer.MatchString(name) || slices.ContainsFunc(m.Obs.Tools, func(t tape.Tool) bool {
		return t.Name == name && tellsAnswer.MatchString(t.Description)
	}))
}

var (
	tellsAnswer  = regexp.MustCompile(`(?i)answer|final|finish|respon[ds]|conclu|^reply$`)
	actsOnAnswer = regexp.MustCompile(`(?i)^(send|post|publish|mail|e_?mail|notify|save|store|write|speak|say|print|submit_(form|order|ticket))`)
)
