// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// identify fills the run's ids, service, agent and times.
func (b *builder) identify(nodes []*node, tenant, traceID string) {
	r := &b.tape.Run
	root := b.fragment.root
	first := nodes[0]
	r.Tenant, r.TraceID = tenant, traceID
	r.RootSpanID = b.fragment.rootID()
	if root != nil {
		first = root
	}
	if traces := len(b.fragment.traces); traces > 1 {
		for _, f := range b.fragment.parts {
			r.Joined = append(r.Joined, f.traces[0]+"-"+f.rootID())
		}
		b.finding(tape.CodeJoined, 0, "run.joined", "joined from "+plural(traces, "trace")+" by "+strings.Join(b.fragment.why, ", "))
	} else if len(b.fragment.why) > 0 {
		b.finding(tape.CodeJoined, 0, "run.root_span_id", "joined from parts of the trace by "+strings.Join(b.fragment.why, ", "))
	}
	for _, f := range b.fragment.leaves() {
		if f.behind > 0 {
			b.finding(tape.CodeClockSkew, 0, "run.joined", fmt.Sprintf("the clock of trace %s is at least %d ms behind; its events are ordered by cause", f.traces[0], f.behind/1_000_000))
		}
	}
	r.RunID = r.TraceID + "-" + r.RootSpanID
	r.Service = serviceOf(first.resource)
	r.Agent = b.runAgent()
	b.agent = r.Agent.Name
	// ids: the run's own span, what stands above it, then the calls in order
	for _, n := range b.speakers(nodes) {
		o := n.obs
		set(&r.ConversationID, o.ConversationID)
		set(&r.InvocationID, o.InvocationID)
		set(&r.CorrelationID, o.CorrelationID)
		set(&r.WorkflowID, o.WorkflowID)
		set(&r.TaskID, o.TaskID)
		set(&r.UserID, o.UserID)
	}
	for _, m := range b.harness {
		if m.Name == "task_id" {
			set(&r.TaskID, m.Value.Str())
		}
	}
}

// rootID names the fragment: its run span; while that is missing, the parent that its calls name, else the earliest span.
func (f *fragment) rootID() string {
	if f.root != nil {
		return f.root.spanID()
	}
	if len(f.traces) > 1 {
		return f.parts[0].rootID()
	}
	first := f.first()
	if f.own {
		return first.spanID()
	}
	if first.missing && !first.adopted && !first.parent.IsEmpty() {
		return hex.EncodeToString(first.parent[:])
	}
	return rootOf(first).spanID()
}

func set(dst *string, src string) {
	if *dst == "" {
		*dst = src
	}
}

// speakers lists the nodes in the order in which they may speak for the run.
func (b *builder) speakers(nodes []*node) []*node {
	var out []*node
	if b.fragment.root != nil {
		out = append(out, b.fragment.root)
	}
	out = append(out, b.fragment.entry...)
	for _, n := range nodes {
		if n != b.fragment.root && !slices.Contains(b.fragment.entry, n) {
			out = append(out, n)
		}
	}
	return out
}

func serviceOf(m pcommon.Map) tape.Service {
	text := func(keys ...string) string {
		for _, key := range keys {
			if v, ok := m.Get(key); ok && v.AsString() != "" {
				return v.AsString()
			}
		}
		return ""
	}
	return tape.Service{
		Name:        text("service.name"),
		Namespace:   text("service.namespace"),
		Version:     text("service.version"),
		InstanceID:  text("service.instance.id"),
		Environment: text("deployment.environment.name", "deployment.environment"),
	}
}

// runAgent names the run's own agent: its span, or the agent span inside that stands for the same.
func (b *builder) runAgent() tape.Agent {
	n := b.fragment.root
	for n != nil {
		if n.obs.Agent.Name != "" {
			return n.obs.Agent
		}
		n = sameAgent(n)
	}
	if b.fragment.root != nil {
		return b.fragment.root.obs.Agent
	}
	for _, h := range b.fragment.heads {
		if h.obs.Agent.Name != "" {
			return h.obs.Agent
		}
	}
	return tape.Agent{}
}

// times sets start and end of the run: the minimum and maximum over its own span and events.
func (b *builder) times() {
	var start, end uint64
	take := func(from, to uint64) {
		if from != 0 && (start == 0 || from < start) {
			start = from
		}
		end = max(end, to)
	}
	for _, n := range []*node{b.fragment.root, b.fragment.ending()} {
		if n != nil {
			take(n.start, n.end)
		}
	}
	for _, k := range b.ordered {
		if len(k.nodes) > 0 {
			take(k.start-k.shift, k.end-k.shift)
		}
	}
	if start == 0 {
		return
	}
	r := &b.tape.Run
	r.StartedAt, r.EndedAt, r.DurationMS = instant(start), instant(max(start, end)), milliseconds(max(start, end)-start)
}

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
	if root != nil {
		if text := lastUserText(root.obs.Input); text != "" {
			in.UserMessage = &text
		}
	}
	var system string
	if firstModel != nil {
		for _, m := range firstModel.request[:len(firstModel.request)-since] {
			in.Messages = append(in.Messages, b.pool(m))
		}
		if in.UserMessage != nil && firstModel.obs.RequestLabel == "" {
			last := afterHistory(*in.UserMessage, firstModel.request)
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
			case label == "" && list == tape.Recovered:
				in.Provenance["user_message"] = tape.Recovered
			case !b.whole(in.Provenance, "input.user_message", text):
				in.UserMessage = nil
			case label != "" && in.Provenance["user_message"] == "":
				in.Provenance["user_message"] = label
				b.finding(codeOf(label), 0, "input.user_message", "the user's message is not whole")
			}
		}
		system = systemText(firstModel.request)
	} else if sent := b.fragment.kept(); sent != nil {
		if in.UserMessage == nil {
			prompt, _ := lastUser(sent)
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
	for agent := root; system == "" && agent != nil; agent = sameAgent(agent) {
		system = partsText(agent.obs.System)
	}
	if b.whole(in.Provenance, "input.system_prompt", system) && system != "" {
		in.SystemPrompt = &system
		sum := sha256.Sum256([]byte(system))
		b.tape.Config.SystemPromptSHA256 = hex.EncodeToString(sum[:])
	}
	if root != nil && in.UserMessage == nil && !root.obs.WeakAgent {
		if text := given(root.obs.InputData); text != "" {
			in.UserMessage = &text
		}
	}
	if in.UserMessage != nil && in.Provenance["user_message"] == "" && !b.whole(in.Provenance, "input.user_message", *in.UserMessage) {
		in.UserMessage = nil
	}
	if in.UserMessage == nil && in.Provenance["user_message"] == "" {
		label, code := tape.Missing, tape.CodeContentAbsent
		if firstModel != nil && firstModel.obs.RequestLabel == tape.Truncated {
			label, code = tape.Truncated, tape.CodeTruncated
		}
		in.Provenance["user_message"] = label
		b.finding(code, 0, "input.user_message", "no record holds the user's message")
	}
	switch {
	case system != "":
	case firstModel == nil || len(firstModel.request) == 0:
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "no record holds what was sent")
	case strings.HasPrefix(firstModel.obs.ResponseID, "resp_") || firstModel.obs.Operation == "response":
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "the Responses API takes instructions beside the messages, and the span holds none")
	case firstModel.obs.Provider == "anthropic": // Traceloop in JavaScript leaves them out
		b.finding(tape.CodeContentAbsent, 0, "input.system_prompt", "the Messages API takes instructions beside the messages, and the span holds none")
	case goesOn(firstModel.request):
		b.finding(tape.CodeNoInstructions, 0, "input.system_prompt", "the run goes on from earlier turns, and what was sent holds no instructions")
	}
	b.a2a()
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

// finish settles how the run ended and what it answered.
func (b *builder) finish() {
	r, out := &b.tape.Run, &b.tape.Output
	out.Provenance = tape.Provenance{}
	last := b.lastModel()
	if text, from := b.answer(last); from != nil && last.obs.ResponseLabel == tape.Truncated { // ADK for Go before 1.0 keeps the first chunk of a stream
		b.finding(tape.CodeTruncated, 0, "output.text", "the last answer was recorded cut")
	} else if text != "" {
		out.Text = &text
		if from != nil {
			out.Message = b.pool(from)
			if last.obs.ResponseLabel == tape.Recovered {
				out.Provenance["text"] = tape.Recovered
			}
		}
	}
	lastFailed := last != nil && (last.obs.Failed || last.obs.StatusError) && last.response == nil
	if lastFailed && out.Text != nil && isErrorOf(*out.Text, last) {
		out.Text = nil
	}
	root := b.fragment.ending()
	var failed *node
	r.Status = tape.StatusOK
	switch {
	case b.interrupted(last):
		r.Status = tape.StatusInterrupted
		b.finding(tape.CodeInterrupted, 0, "run.status", "the run waits for a person or a resume")
	case root != nil && root.obs.Failed:
		r.Status = tape.StatusError
	case root != nil && root.obs.StatusError:
		r.Status = tape.StatusError
		if out.Text != nil && !lastFailed && finalAnswer(last) {
			r.Status = tape.StatusOK
			b.finding(tape.CodeStatusDisputed, 0, "run.status", "the root span says error, the run has an answer")
		}
	case lastFailed && out.Text == nil:
		r.Status = tape.StatusError
	case root == nil && b.rootExpected():
		r.Status = tape.StatusIncomplete
		b.finding(tape.CodeRootMissing, 0, "run.root_span_id", "the run span that these calls name never came")
	default:
		if why := b.unfinished(last); why != "" {
			r.Status = tape.StatusIncomplete
			if failed = b.failedAround(); out.Text == nil && failed != nil {
				r.Status = tape.StatusError
			} else {
				b.finding(tape.CodeUnfinished, 0, "run.status", why)
			}
		}
	}
	if root == nil {
		b.finding(tape.CodeNoRoot, 0, "run.root_span_id", "no agent span; the calls were grouped")
	}
	if r.Status == tape.StatusError {
		r.Error = b.runError(last, failed)
		out.Error = r.Error
	}
	out.Status = string(r.Status)
	switch {
	case out.Text != nil:
		if !b.whole(out.Provenance, "output.text", *out.Text) {
			out.Text = nil
		}
	case r.Status != tape.StatusError:
		if last != nil && last.response != nil && hasToolCall(last.response) && textOf(last.response) == "" {
			b.finding(tape.CodeContentAbsent, 0, "output.text", "the last response asks for tools and holds no text")
		} else {
			b.finding(tape.CodeContentAbsent, 0, "output.text", "no record holds the final answer")
		}
		out.Provenance["text"] = tape.Missing
	}
}

// isErrorOf reports an answer that is the error of the model call with which the loop ended: frameworks return it instead of raising it.
func isErrorOf(text string, last *call) bool {
	return last.obs.Error != nil && sameWords(text, last.obs.Error.Message)
}

// sameWords reports two texts that are the same, or of which one holds the other.
func sameWords(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == b && a != "" || min(len(a), len(b)) >= minQuoted && (strings.Contains(a, b) || strings.Contains(b, a))
}

// interrupted reports that the run ended by waiting for a person or a resume.
func (b *builder) interrupted(last *call) bool {
	root := b.fragment.ending()
	if root == nil {
		return false
	}
	if root.obs.Interrupted {
		return true
	}
	found := false
	walk(root, func(n *node) bool {
		found = found || n.obs.Interrupted && (last == nil || n.end >= last.end)
		return !found
	})
	return found
}

// lastModel is the model call that ended the run: the last one of the run's own agent, else of any. When that one hands over or asks
// for tools, an agent that went on after it and answered, unless that agent is itself a tool, whose answer is a result.
func (b *builder) lastModel() *call {
	var own, any *call
	for _, k := range b.ordered {
		if k.kind == tape.EventModelCall {
			any = k
			if k.agent == nil && (own == nil || !belowTool(k) || belowTool(own)) {
				own = k
			}
		}
	}
	if own == nil || !finalAnswer(own) && own.response != nil && finalAnswer(any) && !isTool(any.agent) {
		return any
	}
	return own
}

// belowTool reports a call whose span lies below that of a tool: what it answered is for the tool, and no agent need be recorded between them.
func belowTool(k *call) bool {
	if len(k.nodes) == 0 {
		return false
	}
	for n := k.nodes[0].up; n != nil && n.obs.Class != genai.Agent; n = n.up {
		if n.obs.Class == genai.Tool {
			return true
		}
	}
	return false
}

// isTool reports that an agent, or one around it, was called as a tool and returns to its caller.
func isTool(agent *call) bool {
	for ; agent != nil; agent = agent.agent {
		if agent.via != nil && !agent.via.obs.Handoff && transferTarget(agent.via) == "" {
			return true
		}
	}
	return false
}

// rootExpected reports that a run span must exist and has not come: the calls name a parent, and their dialect puts every call
// below a run span.
func (b *builder) rootExpected() bool {
	return slices.ContainsFunc(b.fragment.heads, func(n *node) bool { return n.rooted && n.missing })
}

// finalAnswer reports that a model call ended the run by answering, not by asking for tools.
func finalAnswer(k *call) bool {
	return k != nil && k.response != nil && !hasToolCall(k.response) && !stopsForTools(k)
}

// answer finds the final answer: the run span's own record, else the text of the last response that asks for nothing more.
func (b *builder) answer(last *call) (string, *message) {
	root := b.fragment.ending()
	text := textOf(newMessage(ownAnswer(root)))
	if root != nil && text == "" && len(root.obs.Output) == 0 && !root.obs.WeakAgent && (last == nil || !finalAnswer(last)) {
		text = given(root.obs.OutputData)
	}
	if last == nil || last.response == nil {
		return text, nil
	}
	said := textOf(last.response)
	if text != said && finalAnswer(last) && said != "" && isReprOf(text, said) {
		text = said
	}
	if text == "" && finalAnswer(last) {
		text = said
	}
	if text != "" && text == said {
		return text, last.response
	}
	return text, nil
}

// constructorRepr is how the representation of an object begins that names its members: StopEvent(result=…
var constructorRepr = regexp.MustCompile(`^\s*[A-Z]\w*\([a-z_]\w*=`)

// isReprOf reports a text that represents an object of some language in place of what was said: a constructor, or a dictionary with
// what was said inside.
func isReprOf(text, said string) bool {
	if constructorRepr.MatchString(text) {
		return true
	}
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\`, "").Replace
	return strings.HasPrefix(text, "{'") && strings.Contains(plain(text), plain(said))
}

// runError is what the root says went wrong, else the step that failed, else the last call that did.
func (b *builder) runError(last *call, failed *node) *tape.Error {
	if root := b.fragment.ending(); root != nil && root.obs.Error != nil {
		return root.obs.Error
	}
	if failed != nil && failed.obs.Error != nil {
		return failed.obs.Error
	}
	if last != nil && last.obs.Error != nil {
		return last.obs.Error
	}
	for i := len(b.tape.Events) - 1; i >= 0; i-- {
		if e := b.tape.Events[i]; e.Error != nil {
			return e.Error
		}
	}
	return &tape.Error{Message: fmt.Sprintf("the run ended with status %s", b.tape.Run.Status)}
}
