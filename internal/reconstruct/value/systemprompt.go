// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// systemPrompt decides the instructions of the run.
var systemPrompt = []resolver[*inputFacts]{
	{"value/instructions-from-first-request", instructionsSent},
	{"value/instructions-from-kept-messages", asRecovered(instructionsKept)},
	{"value/instructions-from-agent", asRecorded(instructionsOfAgent)},
	{"value/instructions-from-agents-below", asRecorded(instructionsBelow)},
	{"value/instructions-from-preparation", asRecovered(preparedFor)},
	{"value/instructions-from-body", asRecovered(sentBefore)},
	{"value/instructions-from-definition", asRecovered(definedBelow)},
	{"value/instructions-from-description", asRecovered(instructionsDescribed)},
	{"value/instructions-cut", instructionsCut},
	{"value/instructions-masked", unmaskedInstructions},
	{"value/instructions-missing", noInstructions},
}

// instructionsSent is what the request of the first model call begins with. The place alone makes
// instructions of messages without roles. A record of the run span that has roles knows better what was sent.
//
// Needs: a first request with a message of the system.
// Refuses: roles that follow from places alone, where the run span recorded roles; a producer that is known
// to leave out the message with the instructions.
// Seen in: every package that records messages.
func instructionsSent(in *inputFacts, was claim) claim {
	system := chat.SystemText(in.sent)
	switch {
	case system != "" && omitsFirst(in):
		return was
	case system == "" || !chat.Placed(in.sent, tape.RoleSystem):
		return claim{text: system}
	case in.rootHasRoles():
		return claim{text: chat.PartsText(in.run.System)}
	}
	return claim{text: system, label: tape.Recovered}
}

// rootHasRoles reports that the run span recorded the roles of its messages, and that whoever wrote them
// writes instructions too.
func (in *inputFacts) rootHasRoles() bool {
	return len(in.run.Input) > 0 && len(in.first.Nodes) > 0 &&
		(in.root.Scope == in.first.Nodes[0].Scope || len(in.run.System) > 0) &&
		!slices.ContainsFunc(in.run.Input, func(m genai.Message) bool { return chat.IsPlaced(m.Parts) })
}

// instructionsKept are those in the conversation that the run span kept.
//
// Needs: a run without a model call, whose run span kept its conversation.
// Refuses: nothing.
// Seen in: agents whose span alone came.
func instructionsKept(in *inputFacts) string { return chat.SystemText(in.kept) }

// instructionsOfAgent is what the span of the run's agent says, or a span below that stands for the same
// agent.
//
// Needs: instructions on the span of the agent.
// Refuses: nothing.
// Seen in: packages that record instructions on the agent alone.
func instructionsOfAgent(in *inputFacts) (system string) {
	for agent := in.root; system == "" && agent != nil; agent = spantree.SameAgent(agent) {
		system = chat.PartsText(agent.Obs.System)
	}
	return system
}

// instructionsBelow are those of the agents below a run span without calls.
//
// Needs: agents that all say the same.
// Refuses: agents with different instructions.
// Seen in: OpenInference's spans of ADK 2, where a run of one answer writes the model call on the span of the
// agent.
func instructionsBelow(in *inputFacts) string {
	if in.root == nil || spantree.HoldsCall(in.root) {
		return ""
	}
	agents := spantree.SpansOf([]*spantree.Node{in.root}, func(n *spantree.Node) bool { return n != in.root && spantree.IsAgent(n) })
	return shared(agents, func(n *spantree.Node) string { return chat.PartsText(n.Obs.System) })
}

// instructionNames are the members under which the definition of an agent keeps its instructions.
var instructionNames = []string{"instructions", "system_prompt", "system_message", "backstory"}

// definedBelow are the instructions in the definition of the only agent of a run, which was handed to the
// step that ran it.
//
// Needs: a run of which at most it is known that a model was asked.
// Refuses: agents with different instructions; a template.
// Seen in: a crew of CrewAI whose model refused, under an instrumentation of CrewAI alone.
func definedBelow(in *inputFacts) (told string) {
	if in.root == nil || !in.untold {
		return ""
	}
	for _, n := range spantree.SpansOf([]*spantree.Node{in.root}, spantree.IsAgent) {
		definition := chat.Opened(n.Obs.InputData.Value).Get("agent")
		if definition.Kind() != exactjson.Object {
			continue
		}
		text := strings.TrimSpace(definition.First(instructionNames...).Str())
		if told != "" && told != text || chat.Placeholder.MatchString(text) {
			return ""
		}
		told = text
	}
	return told
}

// instructionsDescribed is what a span says that tells of the agent and runs nothing.
//
// Needs: such a span of the only agent of its name.
// Refuses: nothing.
// Seen in: frameworks that record the making of an agent apart from its runs.
func instructionsDescribed(in *inputFacts) string {
	return chat.PartsText(spantree.Observed(in.Fragment.Description).System)
}

// instructionsCut withdraws instructions that end with a text that was cut.
//
// Needs: a cut text that they end with.
// Refuses: nothing.
// Seen in: instrumentations that limit the length of attributes.
func instructionsCut(in *inputFacts, was claim) claim {
	cut := func(parts []genai.Part) bool {
		return slices.ContainsFunc(parts, func(p genai.Part) bool {
			return p.Label == tape.Truncated && p.Text != "" && strings.HasSuffix(was.text, p.Text)
		})
	}
	if was.text == "" || !spantree.AnySpan(in.Fragment.Heads, func(n *spantree.Node) bool { return cut(n.Obs.System) }) && !cut(spantree.Observed(in.Fragment.Description).System) &&
		!slices.ContainsFunc(in.sent, func(m *chat.Message) bool { return m.Tape.Role == tape.RoleSystem && cut(m.Parts) }) {
		return was
	}
	return claim{label: tape.Truncated, code: tape.CodeTruncated, detail: "no more than the beginning of the instructions is recorded"}
}

// unmaskedInstructions labels instructions in which the producer replaced something.
//
// Needs: a mask in the text.
// Refuses: nothing; a text that is a mask as a whole is no value.
// Seen in: collectors that redact.
func unmaskedInstructions(in *inputFacts, was claim) claim { return unmasked(in, was) }

// lacking says why no record holds instructions.
type lacking struct {
	when   func(*inputFacts) bool
	label  tape.Label
	code   tape.Code
	detail string
}

// whyNoInstructions names the first reason that holds. There may have been none.
var whyNoInstructions = []lacking{
	{(*inputFacts).sentUnknown, "", tape.CodeContentAbsent, "no record holds what was sent"},
	{(*inputFacts).cutWithinInstructions, tape.Truncated, tape.CodeTruncated, "the message list was cut within the instructions"},
	{omitsFirst, "", tape.CodeContentAbsent, "the producer leaves out what the instructions begin with"},
	{asksResponses, "", tape.CodeContentAbsent, "the Responses API takes instructions beside the messages, and the span holds none"},
	{asks(genai.ConverseAPI), "", tape.CodeContentAbsent, "the Converse API takes instructions beside the messages, and the span holds none"},
	{asks(genai.MessagesAPI), "", tape.CodeContentAbsent, "the Messages API takes instructions beside the messages, and the span holds none"},
	{asks(genai.OtherAPI), "", tape.CodeContentAbsent, "the provider's API takes instructions beside the messages, and the span holds none"},
	{recordedApart, "", tape.CodeContentAbsent, "the producer leaves instructions out of the messages that it records"},
	{sentHistory, "", tape.CodeNoInstructions, "the run goes on from earlier turns, and what was sent holds no instructions"},
}

// noInstructions says why no record holds instructions.
//
// Needs: no resolver before it that found or withdrew some.
// Refuses: a request that may have had none.
// Seen in: APIs that take instructions beside the messages, and packages that record the messages alone.
func noInstructions(in *inputFacts, was claim) claim {
	if was.text != "" || was.code != "" {
		return was
	}
	for _, why := range whyNoInstructions {
		if why.when(in) {
			return claim{label: why.label, code: why.code, detail: why.detail}
		}
	}
	return was
}

func (in *inputFacts) sentUnknown() bool { return len(in.sent) == 0 }

func (in *inputFacts) cutWithinInstructions() bool {
	return in.list == tape.Truncated && in.sent[0].Tape.Role == tape.RoleSystem
}

func asks(api genai.InstructionsAPI) func(*inputFacts) bool {
	return func(in *inputFacts) bool { return genai.InstructionsBeside(in.first.Obs.Provider) == api }
}

func asksResponses(in *inputFacts) bool {
	return strings.HasPrefix(in.first.Obs.ResponseID, "resp_") || in.first.Obs.Operation == "response"
}

func omitsFirst(in *inputFacts) bool { return in.first.Obs.Quirks.Has(dialect.OmitsFirst) }

func recordedApart(in *inputFacts) bool {
	return in.first.Obs.Quirks.Has(genai.OmitsSystem)
}

func sentHistory(in *inputFacts) bool { return goesOn(in.sent) }

// goesOn reports a request with an answer of an earlier turn before what the user asked last.
func goesOn(request []*chat.Message) bool {
	answered := false
	for _, m := range request {
		answered = answered || m.Tape.Role == tape.RoleAssistant
		if answered && m.Tape.Role == tape.RoleUser {
			return true
		}
	}
	return false
}
