// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// whole labels a text of the run in which the producer replaced something. It returns false for one that is a mask as a whole, which is no value.
func (b *builder) whole(p tape.Provenance, field, text string) bool {
	c := genai.Content{Value: exactjson.StringValue(text)}
	if c.LabelMasks(); c.Label != "" {
		_, name, _ := strings.Cut(field, ".")
		p[name] = c.Label
		b.finding(tape.CodeMasked, 0, field, "the producer masked it, or a part of it")
	}
	return c.Label != tape.Masked
}

// goesOn reports a request with an answer of an earlier turn before what the user asked last.
func goesOn(request []*message) bool {
	answered := false
	for _, m := range request {
		answered = answered || m.tape.Role == tape.RoleAssistant
		if answered && m.tape.Role == tape.RoleUser {
			return true
		}
	}
	return false
}

// input settles what was asked: the run's own record of it, else the last user message of the first request.
func (b *builder) input() {
	in := &b.tape.Input
	in.Provenance = tape.Provenance{}
	var firstModel *call
	for _, k := range b.ordered {
		if k.kind == tape.EventModelCall {
			firstModel = k
			break
		}
	}
	since := 0 // messages of the request that came after what the run was given
	if first := firstModel; first != nil && first.obs.StatusError && len(first.request) == 0 && first.obs.RequestLabel == "" {
		// its span broke before it was written; the request that was answered last begins with the same messages
		if last := b.lastModel(); last != nil && last.agent == first.agent && finalAnswer(last) && len(last.request) > 0 && last.request[len(last.request)-1].tape.Role != tape.RoleUser {
			firstModel = last
			for since = 0; since < len(last.request) && last.request[len(last.request)-1-since].tape.Role != tape.RoleUser; {
				since++
			}
		}
	}
	root := b.fragment.root
	cut := false // what the run itself records of the user's message is no more than its beginning
	if root != nil {
		if text, label := lastUserOf(root.obs.Input); label == tape.Truncated {
			cut = true
		} else if text != "" {
			in.UserMessage = &text
		}
	}
	var system string
	if firstModel != nil {
		for _, m := range firstModel.request[:len(firstModel.request)-since] {
			in.Messages = append(in.Messages, b.pool(m))
		}
		if prompt, label := lastUser(firstModel.request); in.UserMessage != nil && root != nil && label == "" && isWhole(root.obs.InputData, prompt) {
			in.UserMessage = &prompt // an object of the user's that looks like a message
		} else if in.UserMessage != nil && (firstModel.obs.RequestLabel == "" || firstModel.obs.RequestLabel == tape.Truncated) {
			last := saidInside(*in.UserMessage, firstModel.request)
			if root != nil {
				last = saidAsJSON(last, root.obs.InputData.Value, firstModel.request)
			}
			if firstModel.obs.RequestLabel == "" {
				last = afterHistory(last, firstModel.request)
			}
			in.UserMessage = &last
		}
		if in.UserMessage == nil && root != nil {
			prompt, _ := lastUser(firstModel.request)
			task := taskIn(root.obs.InputData.Value, prompt, taskNames, maxEnvelopes)
			if task == "" { // what came out names the task too
				task = taskIn(root.obs.OutputData.Value, prompt, taskNames[:taskOnly], maxEnvelopes)
			}
			if task == "" && len(firstModel.nodes) > 0 {
				task = b.taskAbove(firstModel.nodes[0], prompt)
			}
			if task != "" {
				in.UserMessage = &task
			}
		}
		list := firstModel.obs.RequestLabel
		// the last message of a list that was cut is not known, so what the user asked last is not either
		if text, label := lastUser(firstModel.request); in.UserMessage == nil && text != "" && list != tape.Truncated && (list == "" || label == "") {
			in.UserMessage = &text
			switch {
			case label == tape.Truncated:
				in.UserMessage, cut = nil, true
			case label == "" && (list == tape.Recovered || firstModel.obs.Shuffled || placed(firstModel.request, tape.RoleUser)):
				in.Provenance["user_message"] = tape.Recovered
			case !b.whole(in.Provenance, "input.user_message", text):
				in.UserMessage = nil
			case label != "" && in.Provenance["user_message"] == "":
				in.Provenance["user_message"] = label
				b.finding(codeOf(label), 0, "input.user_message", "the user's message is not whole")
			}
		}
		system = systemText(firstModel.request)
		switch {
		case system == "" || !placed(firstModel.request, tape.RoleSystem):
		case root != nil && len(root.obs.Input) > 0 && len(firstModel.nodes) > 0 && (root.scope == firstModel.nodes[0].scope || len(root.obs.System) > 0) &&
			!slices.ContainsFunc(root.obs.Input, func(m genai.Message) bool { return isPlaced(m.Parts) }): // a record that has roles, of who knows what is sent
			system = partsText(root.obs.System)
		default:
			in.Provenance["system_prompt"] = tape.Recovered
		}
	} else if sent := b.fragment.kept(); sent != nil {
		if prompt, _ := lastUser(sent); in.UserMessage == nil && prompt != "" {
			if task := taskIn(root.obs.InputData.Value, prompt, taskNames, maxEnvelopes); task != "" {
				prompt = task
			}
			in.UserMessage = &prompt
			in.Provenance["user_message"] = tape.Recovered
		}
		if system = systemText(sent); system != "" {
			in.Provenance["system_prompt"] = tape.Recovered
		}
	}
	if in.UserMessage == nil && firstModel != nil && len(afterSystem(firstModel.request)) == 0 && len(firstModel.nodes) > 0 {
		if asked := b.askedAbove(firstModel.nodes[0]); asked != "" {
			in.UserMessage = &asked
			in.Provenance["user_message"] = tape.Recovered
		}
	}
	untold := firstModel == nil || len(firstModel.nodes) == 0 && len(firstModel.request) == 0 // no more than that a model was asked is known
	if in.UserMessage == nil && untold && root != nil {
		if task := onlyTask(root.obs.InputData.Value); task != "" {
			in.UserMessage = &task
		}
	}
	if in.UserMessage == nil && firstModel == nil {
		if text := lastUserText(b.fragment.stepped().first); text != "" {
			in.UserMessage = &text
			in.Provenance["user_message"] = tape.Recovered
		}
	}
	for agent := root; system == "" && agent != nil; agent = sameAgent(agent) {
		system = partsText(agent.obs.System)
	}
	if system == "" && root != nil && !holdsCall(root) {
		system = instructionsBelow(root)
	}
	if system == "" && firstModel == nil && in.UserMessage != nil {
		if system = b.preparedFor(*in.UserMessage); system != "" {
			in.Provenance["system_prompt"] = tape.Recovered
		}
	}
	if system == "" && firstModel != nil && firstModel.obs.RequestLabel == "" && since == 0 {
		if system = b.sentBefore(firstModel.request); system != "" {
			in.Provenance["system_prompt"] = tape.Recovered
		}
	}
	if system == "" && untold && root != nil {
		if system = definedBelow(root); system != "" {
			in.Provenance["system_prompt"] = tape.Recovered
		}
	}
	if d := b.fragment.description; system == "" && d != nil {
		if system = partsText(d.obs.System); system != "" {
			in.Provenance["system_prompt"] = tape.Recovered
		}
	}
	if system != "" && b.endsCut(system, firstModel) {
		in.Provenance["system_prompt"] = tape.Truncated
		b.finding(tape.CodeTruncated, 0, "input.system_prompt", "no more than the beginning of the instructions is recorded")
	} else if b.whole(in.Provenance, "input.system_prompt", system) && system != "" {
		in.SystemPrompt = &system
		sum := sha256.Sum256([]byte(system))
		b.tape.Config.SystemPromptSHA256 = hex.EncodeToString(sum[:])
	}
	if root != nil && in.UserMessage == nil && !root.obs.WeakAgent {
		if text := given(root.obs.InputData); text != "" {
			in.UserMessage = &text
		}
	}
	if in.UserMessage == nil && !cut && in.Provenance["user_message"] == "" {
		if text := b.askedAround(); text != "" {
			in.UserMessage = &text
			in.Provenance["user_message"] = tape.Recovered
		}
	}
	if in.UserMessage != nil && in.Provenance["user_message"] == "" && !b.whole(in.Provenance, "input.user_message", *in.UserMessage) {
		in.UserMessage = nil
	}
	if in.UserMessage == nil && in.Provenance["user_message"] == "" {
		label, code := tape.Missing, tape.CodeContentAbsent
		if cut || firstModel != nil && firstModel.obs.RequestLabel == tape.Truncated {
			label, code = tape.Truncated, tape.CodeTruncated
		}
		in.Provenance["user_message"] = label
		b.finding(code, 0, "input.user_message", "no record holds the user's message")
	}
	switch {
	case system != "":
	case firstModel == nil || len(firstModel.request) == 0:
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "no record holds what was sent")
	case firstModel.obs.RequestLabel == tape.Truncated && firstModel.request[0].tape.Role == tape.RoleSystem:
		in.Provenance["system_prompt"] = tape.Truncated
		b.finding(tape.CodeTruncated, 0, "input.system_prompt", "the message list was cut within the instructions")
	case strings.HasPrefix(firstModel.obs.ResponseID, "resp_") || firstModel.obs.Operation == "response":
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "the Responses API takes instructions beside the messages, and the span holds none")
	case firstModel.obs.Provider == "aws.bedrock": // OpenTelemetry's agent for Java leaves them out
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "the Converse API takes instructions beside the messages, and the span holds none")
	case firstModel.obs.Provider == "anthropic": // Traceloop in JavaScript leaves them out
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "the Messages API takes instructions beside the messages, and the span holds none")
	case takesInstructionsApart(firstModel.obs.Provider): // Traceloop leaves them out for Google's clients
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "the provider's API takes instructions beside the messages, and the span holds none")
	case firstModel.obs.SystemApart:
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "the producer leaves instructions out of the messages that it records")
	case goesOn(firstModel.request):
		b.finding(tape.CodeNoInstructions, 0, "input.system_prompt", "the run goes on from earlier turns, and what was sent holds no instructions")
	}
	b.a2a()
}

// takesInstructionsApart reports the provider of an API in whose requests instructions are no message: Gemini's and Bedrock's.
func takesInstructionsApart(provider string) bool {
	return provider == "google" || provider == "gemini" || strings.HasPrefix(provider, "gcp") || strings.HasPrefix(provider, "vertex") || strings.HasSuffix(provider, "bedrock")
}

// instructionsBelow are the instructions of the agents below a run span without calls, "" where they are not all the same: a run of one answer has no more
// than these where an instrumentation writes the model call on the span of the agent (OpenInference's of ADK 2).
func instructionsBelow(root *node) string {
	told, same := "", true
	walk(root, func(n *node) bool {
		if text := partsText(n.obs.System); n != root && n.obs.Class == genai.Agent && text != "" {
			same = same && (told == "" || told == text)
			told = text
		}
		return true
	})
	if !same {
		return ""
	}
	return told
}

// sentBefore are the instructions that a function or a step of the program recorded before the very messages of a request: the body that was sent (Mastra before its tracing).
func (b *builder) sentBefore(request []*message) string {
	if len(request) == 0 || request[0].tape.Role != tape.RoleUser {
		return ""
	}
	looked, found := 0, ""
	look := func(n *node) bool {
		if n.obs.Class != genai.Structure || n.obs.Called == nil || found != "" || looked == maxTranscripts {
			return found == ""
		}
		looked++
		sent := decode.Transcript(n.obs.Called.Out)
		if len(sent) != len(request)+1 || sent[0].Role != tape.RoleSystem {
			return true
		}
		for i, m := range request {
			if equal, _ := newMessage(sent[i+1]).equal(m); !equal {
				return true
			}
		}
		found = partsText(sent[0].Parts)
		return false
	}
	if n := b.fragment.functionAround(); n != nil {
		look(n)
	}
	for _, h := range b.fragment.heads {
		walk(h, look)
	}
	return found
}

// preparedFor are the instructions before the user's message in the first conversation that a step of the run was handed or put together from both: where no span of a
// model call is, that is what the model was sent (LlamaIndex's workflows, a function around a client that nobody instruments, whose decorator may know no more than its arguments).
func (b *builder) preparedFor(prompt string) string {
	var steps []*node
	for _, h := range b.fragment.heads {
		walk(h, func(n *node) bool {
			if n.obs.Class == genai.Structure && (n.obs.InputData.Present() || n.obs.OutputData.Present() || n.obs.Called != nil && n != b.fragment.root) && len(steps) < maxTranscripts {
				steps = append(steps, n)
			}
			return true
		})
	}
	slices.SortStableFunc(steps, compareNodes)
	for _, n := range steps {
		handed := genai.Content{}
		if n.obs.Called != nil {
			handed.Value = n.obs.Called.In
			if n.obs.Called.InCut {
				handed.Label = tape.Truncated
			}
		}
		for _, c := range []genai.Content{n.obs.InputData, n.obs.OutputData, handed} {
			conversation := conversationIn(c)
			if len(conversation) > 1 && conversation[0].Role == tape.RoleSystem && conversation[1].Role != tape.RoleSystem && lastUserText(conversation) == prompt {
				return partsText(conversation[0].Parts)
			}
		}
	}
	return ""
}

// kept is what stands before the first answer in the conversation that the run span kept, where no span of a model call is: instrumentations of a framework leave
// model calls to others (CrewAI's for OpenInference), and the crew's output holds the messages of its task. It is nil where the output keeps several conversations.
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

// taskAbove is what an agent between the run span and its first model call was asked, if the prompt for the model holds it among words of the framework: OpenLIT
// records the task of a crew on the span of the agent that was given it.
func (b *builder) taskAbove(n *node, prompt string) string {
	for n = n.up; n != nil && n != b.fragment.root; n = n.up {
		text := strings.TrimSpace(lastUserText(n.obs.Input))
		if n.obs.Class == genai.Agent && text != "" && text != prompt && strings.Contains(prompt, text) {
			return text
		}
	}
	return ""
}

// isWhole reports an object or list that an agent was given, and that the model was sent as it is, as JSON.
func isWhole(given genai.Content, prompt string) bool {
	v, ok := given.Value, given.Label == ""
	if v.Kind() == exactjson.String {
		v, ok = decoded(v)
	}
	if !ok || v.Kind() < exactjson.Array || v.Len() == 0 || !decode.LooksJSON(prompt) {
		return false
	}
	sent, err := exactjson.Parse(prompt)
	return err == nil && sent.Equal(v)
}

// askedAbove is what the outermost span between the run's own and its first model call was asked, of which no request was recorded: the same agent said twice (OpenLIT's spans of LangGraph
// around those of LangChain, where the model failed).
func (b *builder) askedAbove(n *node) (asked string) {
	for n = n.up; n != nil && n != b.fragment.root; n = n.up {
		if text, label := lastUserOf(n.obs.Input); n.obs.Class == genai.Agent && text != "" && label == "" {
			asked = text
		}
	}
	return asked
}

// saidInside is what the request to the model ends with, where the run's own record is all that it was started with as JSON, and a member of it is the same, or
// messages in it end with it: Eino's handler for APMPlus writes the input of an agent, whatever it is, as what the user said.
func saidInside(recorded string, request []*message) string {
	last, label := lastUser(request)
	if label != "" || last == "" || last == recorded {
		return recorded
	}
	v, _ := decode.ParseStructure(recorded)
	if isMember(v, last) {
		return last
	}
	if v.Kind() == exactjson.Array && v.Len() == 1 { // all chunks of a stream of inputs
		v = v.At(0)
	}
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Array || !decode.IsMessageList(m.Value) {
			continue
		}
		if messages, _ := decode.Messages(m.Value, tape.RoleUser); lastUserText(messages) == last {
			return last
		}
	}
	return recorded
}

// saidAsJSON is what the request to the model ends with, where that is a JSON text and all that the run was given, alone or as the only content of objects and lists around it: who reads the run's
// record takes such a text for a message, or for what holds one.
func saidAsJSON(recorded string, given exactjson.Value, request []*message) string {
	last, label := lastUser(request)
	if label != "" || last == recorded || !decode.LooksJSON(last) {
		return recorded
	}
	said, ok := decoded(exactjson.StringValue(last))
	for steps := 0; ok && steps < maxEnvelopes; steps++ {
		if sameValue(given, said) || given.Str() == last {
			return last
		}
		given, ok = onlyContent(given)
	}
	return recorded
}

// onlyContent is the only member of a list or an object, also of one that is JSON text, that holds anything.
func onlyContent(v exactjson.Value) (inner exactjson.Value, ok bool) {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	for _, m := range v.Members() {
		if m.Value.IsEmpty() {
			continue
		}
		if ok {
			return v, false
		}
		inner, ok = m.Value, true
	}
	return inner, ok
}

// isMember reports an object with a member that is a text.
func isMember(v exactjson.Value, text string) bool {
	return v.Kind() == exactjson.Object && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return m.Value.Str() == text })
}

// afterHistory is what was asked last. A run's own record of its input may name an earlier turn of the history that it was given, or all of the
// conversation in one text. The request to the model tells the turns apart. Any other record is the better one: prompts may hold words of the framework.
func afterHistory(recorded string, request []*message) string {
	last, label := lastUser(request)
	if last == "" || label != "" || !slices.ContainsFunc(request, isAnswer) {
		return recorded
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	recorded = strings.TrimSpace(recorded)
	var all []string
	earlier, answered := false, false // the record is a user message, and the model has answered it since
	for _, m := range request {
		text := partsText(m.parts)
		switch m.tape.Role {
		case tape.RoleUser:
			earlier = earlier || strings.TrimSpace(text) == recorded
		case tape.RoleAssistant:
			answered = answered || earlier && isAnswer(m)
		case tape.RoleSystem:
			continue
		}
		all = append(all, text)
	}
	if answered || words(strings.Join(all, " ")) == words(recorded) {
		return last
	}
	return recorded
}

// isAnswer tells whether the model said something and asked for nothing.
func isAnswer(m *message) bool {
	return m.tape.Role == tape.RoleAssistant && partsText(m.parts) != "" && !decode.HasCallParts(m.parts)
}

// taskNames are the members under which frameworks keep what they were asked to do.
var taskNames = []string{"task", "description", "question", "query", "input", "prompt", "message", "user_message", "user_input", "text"}

// taskOnly is how many of them name nothing else.
const taskOnly = 2

// taskIn finds what an agent was asked to do in the arguments that it was started with. The task stands under one of the names, and the
// prompt for the model holds it among words of the framework. taskIn returns "" when there is none.
func taskIn(v exactjson.Value, prompt string, names []string, depth int) string {
	if depth == 0 || prompt == "" {
		return ""
	}
	if v.Kind() == exactjson.String {
		inner, ok := decoded(v)
		if !ok || inner.Len() == 0 {
			return ""
		}
		v = inner
	}
	for _, name := range names {
		text := strings.TrimSpace(v.Get(name).Str())
		if text != "" && text != prompt && strings.Contains(prompt, text) {
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

// given is what an agent was started with when that was no message: its text, or the structure as recorded.
func given(c genai.Content) string {
	if args := c.Value.Get("args"); c.Value.Len() == 1 && args.Kind() == exactjson.Array && args.Len() == 1 && args.At(0).Kind() == exactjson.String {
		return args.At(0).Str() // of a function that was called with one argument by position
	}
	if c.Label != "" || c.Value.IsEmpty() || c.Value.Kind() == exactjson.Null || c.Value.Str() == "None" { // the last as Python writes null
		return ""
	}
	return textResult(c.Value)
}

func lastUserText(messages []genai.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == tape.RoleUser {
			if text := partsText(messages[i].Parts); text != "" {
				return text
			}
		}
	}
	return ""
}

// lastUserOf is the last text of a user, and what became of it.
func lastUserOf(messages []genai.Message) (string, tape.Label) {
	for i := len(messages) - 1; i >= 0; i-- {
		if text := partsText(messages[i].Parts); messages[i].Role == tape.RoleUser && text != "" {
			return text, damage(&message{parts: messages[i].Parts})
		}
	}
	return "", ""
}

// endsCut reports instructions that end with a text that was cut.
func (b *builder) endsCut(system string, first *call) bool {
	cut := func(parts []genai.Part) bool {
		return slices.ContainsFunc(parts, func(p genai.Part) bool {
			return p.Label == tape.Truncated && p.Text != "" && strings.HasSuffix(system, p.Text)
		})
	}
	if first != nil && slices.ContainsFunc(first.request, func(m *message) bool { return m.tape.Role == tape.RoleSystem && cut(m.parts) }) {
		return true
	}
	some := false
	for _, h := range b.fragment.heads {
		walk(h, func(n *node) bool {
			some = some || cut(n.obs.System)
			return !some
		})
	}
	return some || b.fragment.description != nil && cut(b.fragment.description.obs.System)
}

func lastUser(messages []*message) (string, tape.Label) {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].tape.Role == tape.RoleUser {
			if text := partsText(messages[i].parts); text != "" {
				return text, damage(messages[i])
			}
		}
	}
	return "", ""
}

// placed reports that only the place of the messages of a role says whose they are: no record holds their roles.
func placed(request []*message, role tape.Role) bool {
	return slices.ContainsFunc(request, func(m *message) bool { return m.tape.Role == role && isPlaced(m.parts) })
}

func isPlaced(parts []genai.Part) bool {
	return slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Label == tape.Recovered })
}

// systemText is what a request begins with, in the role of the system. Where it begins otherwise it is the only message of that role.
func systemText(messages []*message) string {
	var texts []string
	for _, m := range messages {
		if m.tape.Role == tape.RoleSystem {
			if text := partsText(m.parts); text != "" {
				texts = append(texts, text)
			}
		} else {
			break
		}
	}
	if len(texts) == 0 { // a memory that was filled before puts them behind what was said earlier
		for _, m := range messages {
			if m.tape.Role == tape.RoleSystem {
				texts = append(texts, partsText(m.parts))
			}
		}
		if len(texts) != 1 { // notes along the way
			return ""
		}
	}
	return strings.Join(texts, "\n\n")
}

func partsText(parts []genai.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == tape.PartText && p.Text != "" && !p.Injected {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// agentsModel is the model that the agents of the run name, if they name but one: where the span of a model call never came, a package that writes onto the span around it
// (OpenInference for ADK) has left the name there.
func (b *builder) agentsModel() string {
	model, several := "", false
	for _, head := range b.fragment.heads {
		walk(head, func(n *node) bool {
			if name := n.obs.Model; n.obs.Class == genai.Agent && name != "" {
				several = several || model != "" && model != name
				model = name
			}
			return true
		})
	}
	if several {
		return ""
	}
	return model
}

// config keeps the settings that all model calls share.
func (b *builder) config() {
	c := &b.tape.Config
	c.Provenance = tape.Provenance{}
	var events []*tape.Event
	for i := range b.tape.Events {
		if e := &b.tape.Events[i]; e.Type == tape.EventModelCall {
			events = append(events, e)
		}
	}
	c.Model = shared(events, func(e *tape.Event) string { return e.Model })
	c.Provider = shared(events, func(e *tape.Event) string { return e.Provider })
	if c.Model != "" {
		// without the model that was asked for, the one that answered would be taken for it; it stands on the calls
		c.ResponseModel = shared(events, func(e *tape.Event) string {
			if e.Response == nil {
				return ""
			}
			return e.Response.Model
		})
	} else if named := slices.ContainsFunc(events, func(e *tape.Event) bool { return e.Model != "" }); !named && b.fragment.root != nil && b.fragment.root.obs.Model != "" {
		c.Model = b.fragment.root.obs.Model
	} else if model := b.agentsModel(); !named && model != "" {
		c.Model = model
	} else if d := b.fragment.description; !named && d != nil && d.obs.Model != "" {
		c.Model = d.obs.Model
		c.Provenance["model"] = tape.Recovered
	} else if name := b.calls.modelInStates(); !named && name != "" {
		c.Model = name
		c.Provenance["model"] = tape.Recovered
	} else if !named && len(events) > 0 {
		b.finding(tape.CodeContentAbsent, 0, "config.model", "no record names the model that was asked for")
	} else if !named {
		b.finding(tape.CodeContentAbsent, 0, "config.model", "no record holds a model call")
	}
	for name, dst := range map[string]*exactjson.Value{
		"temperature": &c.Temperature, "top_p": &c.TopP, "top_k": &c.TopK, "seed": &c.Seed, "max_tokens": &c.MaxTokens,
		"frequency_penalty": &c.FrequencyPenalty, "presence_penalty": &c.PresencePenalty, "stop_sequences": &c.StopSequences,
	} {
		for i, e := range events {
			v := e.Params.Get(name)
			if v.IsAbsent() || i > 0 && !v.Equal(*dst) {
				*dst = exactjson.Value{}
				break
			}
			*dst = v
		}
	}
}

// shared returns the value that all calls that have one agree on.
func shared(events []*tape.Event, get func(*tape.Event) string) string {
	value := ""
	for _, e := range events {
		v := get(e)
		if v == "" {
			continue
		}
		if value != "" && v != value {
			return ""
		}
		value = v
	}
	return value
}
