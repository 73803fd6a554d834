// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// inputFacts is what the resolvers of the input share.
type inputFacts struct {
	*Builder
	root   *spantree.Node // the run span; nil: there is none
	run    *genai.Report  // what it says
	first  *ledger.Call   // the model call that shows what the run was given; nil: there is none
	later  int            // messages at the end of its request that came after what the run was given
	sent   []*chat.Message
	list   tape.Label      // of the whole list of messages
	prompt string          // the last text of a user that was sent
	damage tape.Label      // of the prompt
	kept   []*chat.Message // without a model call: what the run span kept from before the first answer
	untold bool            // at most it is known that a model was asked
	asked  string          // the user's message as messages and tasks tell it
}

func (b *Builder) inputFacts() *inputFacts {
	in := &inputFacts{Builder: b, root: b.Fragment.Root, run: spantree.Observed(b.Fragment.Root), untold: true}
	if i := slices.IndexFunc(b.Ordered, func(k *ledger.Call) bool { return k.Kind == tape.EventModelCall && !b.guarding(k) }); i < 0 {
		in.kept = b.Fragment.Kept()
		return in
	} else if in.first = b.Ordered[i]; brokeUnwritten(in.first) {
		in.passOverBroken()
	}
	in.sent, in.list = in.first.Request, in.first.Obs.RequestLabel
	in.prompt, in.damage = chat.LastUser(in.sent)
	in.untold = len(in.first.Nodes)+len(in.sent) == 0
	return in
}

func (in *inputFacts) isRoot(n *spantree.Node) bool { return n == in.root }

// brokeUnwritten reports a model call whose span broke before the request was written to it.
func brokeUnwritten(k *ledger.Call) bool {
	return k.Obs.StatusError && len(k.Request) == 0 && k.Obs.RequestLabel == ""
}

// passOverBroken takes the call that answered last in place of the first one: its request begins with the
// same messages.
func (in *inputFacts) passOverBroken() {
	last := in.lastModel()
	if last.Agent != in.first.Agent || !ledger.FinalAnswer(last) {
		return
	}
	asked := len(last.Request)
	for asked > 0 && last.Request[asked-1].Tape.Role != tape.RoleUser {
		asked--
	}
	if asked < len(last.Request) {
		in.first, in.later = last, len(last.Request)-asked
	}
}

// Input settles what the run was given. Instructions are looked for with the message that messages and tasks
// tell. Only then anything else that the run was started with may stand for the message.
func (b *Builder) Input() {
	to := &b.Tape.Input
	to.Provenance = tape.Provenance{}
	in := b.inputFacts()
	for _, m := range in.sent[:len(in.sent)-in.later] {
		to.Messages = append(to.Messages, b.pool(m))
	}
	user := resolve(in, userMessage, claim{trail: b.trail(nil, "input.user_message")})
	in.asked = user.text
	if to.SystemPrompt = b.settle(resolve(in, systemPrompt, claim{trail: b.trail(nil, "input.system_prompt")}), to.Provenance, "input.system_prompt"); to.SystemPrompt != nil {
		sum := sha256.Sum256([]byte(*to.SystemPrompt))
		b.Tape.Config.SystemPromptSHA256 = hex.EncodeToString(sum[:])
	}
	to.UserMessage = b.settle(resolve(in, userMessageElse, user), to.Provenance, "input.user_message")
	b.a2a()
}
