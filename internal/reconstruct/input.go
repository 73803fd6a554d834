// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// inputFacts is what the resolvers of the input share.
type inputFacts struct {
	*builder
	root   *node              // the run span; nil: there is none
	run    *genai.Observation // what it says
	first  *call              // the model call that shows what the run was given; nil: there is none
	later  int                // messages at the end of its request that came after what the run was given
	sent   []*message
	list   tape.Label // of the whole list of messages
	prompt string     // the last text of a user that was sent
	damage tape.Label // of the prompt
	kept   []*message // without a model call: what the run span kept from before the first answer
	untold bool       // at most it is known that a model was asked
	asked  string     // the user's message as messages and tasks tell it
}

func (b *builder) inputFacts() *inputFacts {
	in := &inputFacts{builder: b, root: b.fragment.root, run: observed(b.fragment.root), untold: true}
	if i := slices.IndexFunc(b.ordered, func(k *call) bool { return k.kind == tape.EventModelCall }); i < 0 {
		in.kept = b.fragment.kept()
		return in
	} else if in.first = b.ordered[i]; brokeUnwritten(in.first) {
		in.passOverBroken()
	}
	in.sent, in.list = in.first.request, in.first.obs.RequestLabel
	in.prompt, in.damage = lastUser(in.sent)
	in.untold = len(in.first.nodes)+len(in.sent) == 0
	return in
}

func (in *inputFacts) isRoot(n *node) bool { return n == in.root }

// brokeUnwritten reports a model call whose span broke before the request was written to it.
func brokeUnwritten(k *call) bool {
	return k.obs.StatusError && len(k.request) == 0 && k.obs.RequestLabel == ""
}

// passOverBroken takes the call that answered last in place of the first one: its request begins with the same
// messages.
func (in *inputFacts) passOverBroken() {
	last := in.lastModel()
	if last.agent != in.first.agent || !finalAnswer(last) {
		return
	}
	asked := len(last.request)
	for asked > 0 && last.request[asked-1].tape.Role != tape.RoleUser {
		asked--
	}
	if asked < len(last.request) {
		in.first, in.later = last, len(last.request)-asked
	}
}

// input settles what the run was given. Instructions are looked for with the message that messages and tasks tell.
// Only then anything else that the run was started with may stand for the message.
func (b *builder) input() {
	to := &b.tape.Input
	to.Provenance = tape.Provenance{}
	in := b.inputFacts()
	for _, m := range in.sent[:len(in.sent)-in.later] {
		to.Messages = append(to.Messages, b.pool(m))
	}
	user := resolve(in, userMessage, claim{})
	in.asked = user.text
	if to.SystemPrompt = b.settle(resolve(in, systemPrompt, claim{}), to.Provenance, "input.system_prompt"); to.SystemPrompt != nil {
		sum := sha256.Sum256([]byte(*to.SystemPrompt))
		b.tape.Config.SystemPromptSHA256 = hex.EncodeToString(sum[:])
	}
	to.UserMessage = b.settle(resolve(in, userMessageElse, user), to.Provenance, "input.user_message")
	b.a2a()
}
