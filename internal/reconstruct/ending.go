// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// finish settles how the run ended and what it answered.
func (b *builder) finish() {
	r, out := &b.tape.Run, &b.tape.Output
	out.Provenance = tape.Provenance{}
	last := b.lastModel()
	own := newMessage(ownAnswer(b.fragment.ending()))
	toldWhole := damage(own.parts) == "" && textOf(own) != ""
	if damage(own.parts) == tape.Truncated && !(finalAnswer(last) && damage(last.response.parts) == "") {
		b.finding(tape.CodeTruncated, 0, "output.text", "the answer of the run was recorded cut")
	} else if text, from := b.answer(last); from != nil && last.obs.ResponseLabel == tape.Truncated && !toldWhole { // ADK for Go before 1.0 keeps the first chunk of a stream
		b.finding(tape.CodeTruncated, 0, "output.text", "the last answer was recorded cut")
	} else if text != "" {
		out.Text = &text
		if root := b.fragment.ending(); from == nil && root != nil && root.obs.HandsAll {
			out.Provenance["text"] = tape.Recovered
		}
		if from != nil {
			out.Message = b.pool(from)
			if last.obs.ResponseLabel == tape.Recovered {
				out.Provenance["text"] = tape.Recovered
			}
		}
	} else if text := b.answeredAround(); text != "" {
		out.Text = &text
		out.Provenance["text"] = tape.Recovered
	}
	broke := out.Text != nil && b.brokeBehind(last, *out.Text)
	if broke {
		out.Text, out.Message, out.Provenance = nil, "", tape.Provenance{}
	}
	lastFailed := last != nil && (last.obs.Failed || last.obs.StatusError) && last.response == nil
	if lastFailed && out.Text != nil && isErrorOf(*out.Text, last) {
		out.Text, out.Provenance = nil, tape.Provenance{}
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
		switch {
		case out.Text == nil || lastFailed || !finalAnswer(last):
		case refusedBelow(root, last), threwBehind(root, last):
			out.Text, out.Message, out.Provenance = nil, "", tape.Provenance{}
		default:
			r.Status = tape.StatusOK
			b.finding(tape.CodeStatusDisputed, 0, "run.status", "the root span says error, the run has an answer")
		}
	case lastFailed && out.Text == nil:
		r.Status = tape.StatusError
	case root == nil && b.rootExpected():
		r.Status = tape.StatusIncomplete
		b.finding(tape.CodeRootMissing, 0, "run.root_span_id", "the run span that these calls name never came")
	default:
		why := b.unfinished(last)
		if out.Text == nil && (broke || why != "" || root != nil && root.span.Status().Code() == ptrace.StatusCodeUnset) {
			failed = b.failedAround()
		}
		switch {
		case failed != nil: // also where a span around it, as of a workflow, tells no status
			r.Status = tape.StatusError
		case why != "":
			r.Status = tape.StatusIncomplete
			b.finding(tape.CodeUnfinished, 0, "run.status", why)
		}
	}
	if last == nil && !slices.ContainsFunc(b.tape.Events, func(e tape.Event) bool { return e.Type == tape.EventToolCall }) {
		b.finding(tape.CodeContentAbsent, 0, "events", "no record holds a call of a model or a tool: what the run did before it ended is not known")
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
		out.Text = b.settle(unmasked(b, claim{text: *out.Text, label: out.Provenance["text"]}), out.Provenance, "output.text")
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

// sameWords reports two texts that are the same, or of which one holds the other. A few words stand in another text by chance: there all that is said besides is the class of an error.
func sameWords(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == b && a != "" || min(len(a), len(b)) >= minQuoted && (strings.Contains(a, b) || strings.Contains(b, a)) || withoutClass(a) == b && b != "" || withoutClass(b) == a && a != ""
}

// withoutClass is what an error says behind its class: of "ToolError: timeout" the last word.
func withoutClass(text string) string {
	if class, rest, ok := strings.Cut(text, ": "); ok && isErrorClass.MatchString(class) {
		return strings.TrimSpace(rest)
	}
	return text
}

var isErrorClass = regexp.MustCompile(`^[\w.]*(Error|Exception)$`)

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
	var own, any, step *call
	for _, k := range b.ordered {
		if k.kind == tape.EventModelCall {
			any = k
			if !belowTool(k) && !isTool(k.agent) {
				step = k
			}
			if k.agent == nil && (own == nil || !belowTool(k) || belowTool(own)) {
				own = k
			}
		}
	}
	if own != nil && belowTool(own) && step != nil { // the loop's own calls are those of steps
		own = step
	}
	if own == nil || !finalAnswer(own) && own.response != nil && finalAnswer(any) && !isTool(any.agent) {
		return any
	}
	return own
}

// belowTool reports a call whose span lies below that of a tool: what it answered is for the tool, and no agent need be recorded between them.
func belowTool(k *call) bool {
	if k.within != nil || len(k.nodes) == 0 {
		return k.within != nil
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
		if agent.via != nil && agent.relation != tape.RelationHandoff && !agent.via.obs.Handoff && transferTarget(agent.via) == "" {
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
	own := newMessage(ownAnswer(root))
	text := textOf(own)
	if text != "" && damage(own.parts) == tape.Truncated && finalAnswer(last) && damage(last.response.parts) == "" {
		text = "" // the model's own record of it is whole
	}
	if root != nil && text == "" && len(root.obs.Output) == 0 && !root.obs.WeakAgent && (last == nil || !finalAnswer(last)) {
		text = given(root.obs.OutputData)
	}
	if text == "" && root != nil && len(root.obs.Output) == 0 && !finalAnswer(last) {
		text = onlyText(root.obs.OutputData)
	}
	if last == nil && text == "" {
		if s := b.fragment.stepped(); s.answer != nil {
			text = partsText(s.answer.Parts)
		}
	}
	if last == nil || last.response == nil {
		return text, nil
	}
	said := textOf(last.response)
	if text != said && finalAnswer(last) && said != "" && (isReprOf(text, said) || root != nil && isAnswerIn(text, said) && (tellsText(root, said) || cameOut(root, said))) {
		text = said
	}
	if text == "" && finalAnswer(last) {
		text = said
		if before := b.handedBefore(root, last); before != "" {
			return before + text, nil
		}
	}
	if text == "" && b.handedOn(last, said) {
		return said, nil
	}
	if text == "" && !finalAnswer(last) {
		text = b.concludedAround(last)
	}
	if by := answerBy(last); by != "" && (text == "" || holdsJSON(text, by) && !isArgsOf(text, last)) {
		text = by
	}
	if closing := b.calls.closing; text == "" && closing != nil && b.needsNoAnswer(last) {
		text = textOf(closing)
	}
	if text != "" && text == said {
		return text, last.response
	}
	return text, nil
}

// concludedAround is what the assistant says at the end of the state that a step around all calls ended with, behind the request of the last model call, none of whose calls ran: a
// framework that stops at a limit answers in words of its own, and where no span stands for the run they are nowhere else.
func (b *builder) concludedAround(last *call) string {
	sent := afterSystem(last.request)
	if len(last.nodes) == 0 || len(sent) == 0 || slices.ContainsFunc(last.asked, func(a *asked) bool { return a.shown != nil || a.tool != nil && len(a.tool.nodes) > 0 }) {
		return ""
	}
	for n := last.nodes[0].up; n != nil; n = n.up {
		out := n.obs.OutputData
		if called := n.obs.Called; called != nil && !out.Present() {
			out.Value = called.Out
		}
		if !out.Present() || out.Label != "" || !b.surrounds(n) {
			continue
		}
		state := conversationIn(out)
		if len(state) != len(sent)+1 || state[len(sent)].Role != tape.RoleAssistant || decode.HasCalls(state[len(sent)]) {
			continue
		}
		same := true
		for i, m := range sent {
			equal, _ := newMessage(state[i]).equal(m)
			same = same && equal
		}
		if same {
			return textOf(newMessage(state[len(sent)]))
		}
	}
	return ""
}

// handedOn reports that the program took what the model said beside calls for the answer: a span tells that text and no other, whatever it calls it. None of the calls ran, and it is the run
// span, a span around all calls, or a step of the program that began when the model had answered (Koog's node __finish__), or the run span says that the run ended with it. Or all of them ran,
// the program asked no more, and it is a span around that answer and all calls, which ended well after them: the run was at the limit of its steps (the AI SDK).
func (b *builder) handedOn(last *call, said string) (found bool) {
	ran := count(last.asked, func(a *asked) bool { return a.shown != nil || a.tool != nil && len(a.tool.nodes) > 0 })
	root := b.fragment.ending()
	if ran == 0 && said != "" && endsWith(root, said) && stopsForTools(last) {
		return true
	}
	short := len(said) < minQuoted // a span may tell it by chance, but a step that was given it and gave it on
	if short && (len(said) < minPassedOn || ran > 0) {
		return false
	}
	if ran > 0 {
		if ran < len(last.asked) || len(last.nodes) == 0 {
			return false
		}
		for n := last.nodes[0].up; n != nil && !found; n = n.up {
			found = (n == root || b.surrounds(n)) && n.obs.Class != genai.Model && n.obs.Class != genai.Tool && !n.obs.Failed && !n.obs.StatusError && tellsText(n, said)
		}
		return found
	}
	for _, h := range b.fragment.heads {
		around := h.obs.Class != genai.Model && b.surrounds(h)
		walk(h, func(n *node) bool {
			later := (n.obs.Class == genai.Structure || n.obs.Class == genai.Unclassified) && n.start >= last.end
			if n.obs.Failed || n.obs.StatusError {
				return !found
			}
			found = found || later && tellings(n, said) > 1 || !short && (later || n == root || n == h && around) && tellsText(n, said)
			return !found
		})
	}
	return found
}

// endsWith reports a run span that recorded a text as what it ended with, beside calls maybe: by a finish reason of its own, which asks for no tools (AgentScope for Java at its limit).
func endsWith(root *node, text string) bool {
	if root == nil || len(root.obs.Output) == 0 {
		return false
	}
	final := root.obs.Output[len(root.obs.Output)-1]
	return strings.TrimSpace(final.FinishReason) != "" && !tape.AsksForTools(final.FinishReason) && partsText(final.Parts) == text
}

// surrounds reports a span that lies around all calls in time.
func (b *builder) surrounds(n *node) bool {
	return !slices.ContainsFunc(b.ordered, func(k *call) bool { return k.start < n.start || k.end > n.end })
}

// minPassedOn is the length of the shortest text that is known again in what went into a span and in what came out of it.
const minPassedOn = 4

// tellsText reports a span of which an attribute is the text, as it is or as JSON.
func tellsText(n *node, text string) bool { return tellings(n, text) > 0 }

// tellings is how many attributes of a span are the text, as it is or as JSON.
func tellings(n *node, text string) (found int) {
	for _, v := range n.source.Span.Attributes().All() {
		if v.Type() != pcommon.ValueTypeStr {
			continue
		}
		held := strings.TrimSpace(v.Str())
		if held == text {
			found++
			continue
		}
		if strings.HasPrefix(held, `"`) {
			if inner, err := exactjson.Parse(held); err == nil && strings.TrimSpace(inner.Str()) == text {
				found++
			}
		}
	}
	return found
}

// onlyText is the text of an object that holds nothing else, whatever the program calls it: the answer of the function around a run. A mere word may as well be a status.
func onlyText(c genai.Content) string {
	v, ok := decode.Structure(c.Value)
	if !ok || c.Label != "" || v.Kind() != exactjson.Object || v.Len() != 1 {
		return ""
	}
	if endsInState.MatchString(v.Members()[0].Name) { // {"status": "completed with warnings"}
		return ""
	}
	if text := v.Members()[0].Value.Str(); len(text) >= minQuoted && strings.ContainsAny(strings.TrimSpace(text), " \n") {
		return text
	}
	return ""
}

// endsInState is the name of a member that says how something ended or where it stands, and not what came of it.
var endsInState = regexp.MustCompile(`(?i)(status|state|outcome|phase|stage|reason|error|level|kind|type|code)$`)

// answerBy is the answer that a model gave by a call, as the framework has it do.
func answerBy(k *call) string {
	if k == nil || k.response == nil {
		return ""
	}
	calls := callsOf(k.response.parts)
	if len(calls) != 1 || !slices.Contains(k.obs.OutputTools, calls[0].Name) {
		return ""
	}
	if k.obs.OutputWhole && calls[0].Args.Kind() == exactjson.Object {
		return calls[0].Args.JSON()
	}
	return saidBy(calls[0])
}

// saidBy is what a model answered by a call.
func saidBy(p *genai.Part) string {
	if text, ok := decode.AnswerBy(p); ok {
		return text
	}
	args := p.Args
	if args.Kind() == exactjson.Object && args.Len() == 1 && args.Members()[0].Value.Kind() == exactjson.String {
		return args.Members()[0].Value.Str()
	}
	return args.JSON()
}

// isArgsOf reports a text that is all that a model answered by a call: who asks for an object answers with it (the output type of a Pydantic AI agent), whatever it holds.
func isArgsOf(text string, k *call) bool {
	v, ok := decode.ParseStructure(text)
	return ok && slices.ContainsFunc(callsOf(k.response.parts), func(p *genai.Part) bool {
		return p.Args.Kind() == exactjson.Object && equalArgs(p.Args, v, exactjson.Value.Equal)
	})
}

// holdsJSON reports a text that holds another one as a value of JSON: what a framework says of an answer beside it.
func holdsJSON(text, said string) bool {
	quoted := exactjson.StringValue(said).JSON()
	if said != "" && (said[0] == '{' || said[0] == '[') && !strings.Contains(text, quoted) {
		quoted = said
	}
	return len(text) > len(quoted) && strings.Contains(text, quoted)
}

// isAnswerIn reports a text that is a member of the object which a model answered with: an envelope of who recorded it, or a part of what the model said itself. It is the latter where the run
// span holds the object as a whole.
func isAnswerIn(text, said string) bool {
	v, ok := decode.ParseStructure(said)
	return ok && text != "" && isMember(v, text)
}

// cameOut reports that a text is a value in what came out of a span.
func cameOut(n *node, text string) bool {
	v, ok := decode.Structure(n.obs.OutputData.Value)
	for range maxEnvelopes {
		if ok = ok && v.Kind() == exactjson.Object; ok && isMember(v, text) {
			return true
		}
		v = v.First("outputs", "output", "result", "response", "return_values")
	}
	return false
}

// constructorRepr is how the representation of an object begins that names its members: StopEvent(result=…
var constructorRepr = regexp.MustCompile(`^\s*[A-Z]\w*\([a-z_]\w*=`)

// isReprOf reports a text that represents an object of some language in place of what was said: a constructor, a dictionary with
// what was said inside, or an object of JSON of which it is a member.
func isReprOf(text, said string) bool {
	if constructorRepr.MatchString(text) {
		return true
	}
	if v, ok := decode.ParseStructure(text); ok && isMember(v, said) {
		return true
	}
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\`, "").Replace
	return strings.HasPrefix(text, "{'") && strings.Contains(plain(text), plain(said))
}

// unfinished says why nothing shows that a run without a failure ended; "" when it did: by an answer, or in a way that needs none.
func (b *builder) unfinished(last *call) string {
	root := b.fragment.ending()
	switch {
	case root != nil && root.end == root.start && root.span.EndTimestamp() == 0:
		return "the run span never ended"
	case root == nil && slices.ContainsFunc(b.tape.Events, neverRan) && !b.answeredSince(last) && (last == nil || b.concludedAround(last) == ""):
		return "a tool that was asked for shows no answer"
	case b.askedWhileItAnswered(last):
		return "tools ran while the last model call answered, as in the turns before it, and no call followed: what the run recorded as its answer may be what was said beside them"
	case root != nil && (answersWithoutText(root) || b.tape.Output.Text != nil && b.tape.Output.Message == ""):
		return ""
	case last == nil && root != nil && !root.obs.WeakAgent && root.span.Status().Code() == ptrace.StatusCodeOk:
		return "" // no model call was recorded, and the run span does not merely lack an error: it says that it ended well
	case last == nil && root != nil && b.recordsNothing():
		return "" // the run span ended well, and who records no content at all does not show an answer either
	case last == nil && root != nil && b.steppedOn():
		return "" // nothing is known of the model, but the program went on after the last tool and ended well
	case last == nil && root == nil && b.returnedAround():
		return "" // nothing is known of the model, but the function that was asked and holds the whole run returned
	case last == nil:
		return "no record holds an answer"
	case b.wentOn(last):
		return "a tool ran after the last model call, and no record shows what the model made of it"
	case b.tape.Output.Text != nil:
		return ""
	case root == nil && b.hidesCalls(last):
		return "the last model call shows an empty answer, as those do that asked for tools"
	case root == nil && emptyAnswer(last):
		return "the last model call shows an empty answer"
	case finalAnswer(last) && answered(last), last.response == nil && answered(last) && !stopsForTools(last):
		return ""
	case root != nil && !root.obs.WeakAgent && last.response == nil && silent(last.obs) && len(last.nodes) > 0 && last.nodes[0].span.Status().Code() == ptrace.StatusCodeOk:
		return "" // who records nothing of a call but that it ended well does not show an answer either
	case b.answersUnheard(last):
		return "" // who records no answer of any call shows none of the last either, and its span says that it ended well
	case last.response == nil || !hasToolCall(last.response) && !stopsForTools(last):
		return "the last model call shows no answer"
	case b.needsNoAnswer(last):
		return ""
	default:
		return "the last response asks for tools, and no record shows what the model made of them"
	}
}

// answersUnheard reports that no model call of the run recorded an answer, nor why it ended, while the last one says that it ended well.
func (b *builder) answersUnheard(last *call) bool {
	return len(last.nodes) > 0 && last.nodes[0].spans > 0 && last.nodes[0].span.Status().Code() == ptrace.StatusCodeOk && !slices.ContainsFunc(b.calls.models, func(k *call) bool {
		return k.response != nil && len(k.obs.Response) > 0 || len(k.obs.FinishReasons) > 0
	})
}

// hidesCalls reports an answer that was recorded as empty in a run whose answers with calls, as later requests show them, were so too.
func (b *builder) hidesCalls(last *call) bool {
	empty := func(k *call) bool {
		return len(k.obs.Request) > 0 && len(k.obs.Response) > 0 && len(k.obs.Response[0].Parts) == 0
	}
	return empty(last) && !slices.ContainsFunc(b.calls.models, func(k *call) bool {
		return k != last && k.agent == last.agent && !(empty(k) && k.response != nil && hasToolCall(k.response))
	}) && len(b.calls.models) > 1
}

// recordsNothing reports a run of which neither input nor any argument or result of a tool was recorded.
func (b *builder) recordsNothing() bool {
	return b.tape.Input.UserMessage == nil && !slices.ContainsFunc(b.tape.Events, func(e tape.Event) bool {
		return e.Type == tape.EventToolCall && (!e.Args.IsAbsent() || !e.Result.IsAbsent())
	})
}

// steppedOn reports that several steps of the program, which are neither tools nor model calls nor agents, began when all tool calls of the run had ended and what the model was to be sent at
// last was ready: the first of them asks the model, and may have failed.
func (b *builder) steppedOn() bool {
	end := uint64(0)
	for _, k := range b.ordered {
		if k.kind == tape.EventToolCall {
			end = max(end, k.end)
		}
	}
	var steps []*node
	for _, h := range b.fragment.heads {
		walk(h, func(n *node) bool {
			if n.obs.Class == genai.Structure && n != b.fragment.root {
				steps = append(steps, n)
			}
			return true
		})
	}
	for i, n := range steps {
		if i == maxTranscripts {
			return false
		}
		if sent := conversationIn(n.obs.OutputData); len(sent) > 0 && sent[len(sent)-1].Role != tape.RoleAssistant {
			end = max(end, n.end)
		}
	}
	return count(steps, func(n *node) bool { return n.start >= end }) > 1
}

// wentOn reports a tool call of the run's own agent after what would be its last model call, or within it where no answer was recorded (call_llm of the Agent Development Kit lies around the
// tools too). That model call asked for it, whatever was recorded of its answer.
func (b *builder) wentOn(last *call) bool {
	return slices.ContainsFunc(b.ordered, func(k *call) bool {
		return k.kind == tape.EventToolCall && len(k.nodes) > 0 && k.by == nil && k.agent == last.agent && (k.start >= last.end || last.response == nil && hangsBelow(last, k))
	})
}

// askedWhileItAnswered reports a last model call whose answer was not recorded, and which asked for tools: one began beside its span while that was open. So did all tool calls of the
// earlier turns, at least one, so in this program a tool runs when its stream tells of it (Rig, which records what each turn said as the answer of the run).
func (b *builder) askedWhileItAnswered(last *call) bool {
	if last == nil || last.response != nil || len(last.nodes) == 0 {
		return false
	}
	before, now := false, false
	for _, k := range b.ordered {
		if k.kind != tape.EventToolCall || len(k.nodes) == 0 || k.agent != last.agent {
			continue
		}
		i := slices.IndexFunc(b.calls.models, func(m *call) bool {
			return m.agent == k.agent && m.response == nil && len(m.nodes) > 0 && m.nodes[0].up == k.nodes[0].up && m.start < k.start && k.start < m.end
		})
		if i < 0 {
			return false
		}
		before, now = before || b.calls.models[i] != last, now || b.calls.models[i] == last
	}
	return before && now
}

// answeredSince reports that the last model call, whose request goes on from those of the calls that asked for tools without an answer, ended with one: their results were not recorded, and the
// run went on all the same.
func (b *builder) answeredSince(last *call) bool {
	ended := answerBy(last) != "" || last != nil && finalAnswer(last) && answered(last) && textOf(last.response) != ""
	return ended && !slices.ContainsFunc(b.ordered, func(k *call) bool {
		if k.kind != tape.EventToolCall || k.seq < 1 || k.seq > len(b.tape.Events) || !neverRan(b.tape.Events[k.seq-1]) {
			return false
		}
		if k.by == nil {
			return true
		}
		m := k.by.model
		return m == last || m.agent != last.agent || m.end > last.start || len(m.request) == 0 || !goesOnFrom(m.request, last.request)
	})
}

// goesOnFrom reports that a request begins with an earlier one, whose last message may say by now that the step failed.
func goesOnFrom(before, request []*message) bool {
	n := len(before)
	same := commonPrefix(before, request)
	return same == n || same == n-1 && len(request) >= n && withoutTail(before[n-1]) == withoutTail(request[n-1])
}

// neverRan is a tool call that was asked for, which no span and no request answers.
func neverRan(e tape.Event) bool {
	return e.Type == tape.EventToolCall && e.Provenance["result"] == tape.Missing && e.Status == tape.EventError && len(e.SpanIDs) == 0
}

// answersWithoutText reports a run span that recorded an answer which is no text, or is not kept. Such an answer is media, a masked
// value, or the result of a tool with which the run ended.
func answersWithoutText(root *node) bool {
	if len(root.obs.Output) == 0 {
		return root.obs.OutputData.Label != "" && !root.obs.WeakAgent
	}
	return slices.ContainsFunc(ownAnswer(root).Parts, isContent)
}

// ownAnswer is the last message of what a run span recorded as its output, unless that asks for a tool, or is null as Python writes it.
func ownAnswer(root *node) genai.Message {
	if root == nil || len(root.obs.Output) == 0 {
		return genai.Message{}
	}
	final := root.obs.Output[len(root.obs.Output)-1]
	if endsAsking(final.Parts) || len(final.Parts) == 1 && final.Parts[0].Text == "None" {
		return genai.Message{}
	}
	return final
}

// isContent reports a part that answers: anything but thoughts and empty text.
func isContent(p genai.Part) bool {
	return p.Type != tape.PartReasoning && (p.Type != tape.PartText || p.Text != "" || p.Label != "")
}

// endsAsking reports that the last thing said is a request for a tool. Some packages record several turns as one message.
func endsAsking(parts []genai.Part) bool {
	for _, p := range slices.Backward(parts) {
		if isContent(p) {
			return p.Type == tape.PartToolCall
		}
	}
	return false
}

// emptyAnswer reports an answer that was recorded and holds nothing, where calls may be missing.
func emptyAnswer(k *call) bool {
	return k.response != nil && len(k.response.parts) > 0 && !slices.ContainsFunc(k.response.parts, func(p genai.Part) bool { return p.Type != tape.PartText || p.Text != "" || p.Label != "" })
}

// answered reports a model call that got an answer: the answer itself, or what only comes with one.
func answered(k *call) bool {
	o := k.obs
	return k.response != nil && slices.ContainsFunc(k.response.parts, isContent) || o.ResponseLabel != "" || o.ResponseID != "" ||
		slices.ContainsFunc(o.FinishReasons, func(reason string) bool { return strings.TrimSpace(reason) != "" }) ||
		o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0
}

// stopsForTools reports a finish reason that tells of calls, whether they were recorded or not.
func stopsForTools(k *call) bool { return slices.ContainsFunc(k.obs.FinishReasons, tape.AsksForTools) }

// needsNoAnswer reports that the calls with which a run ended are an end. Such calls are structured output, a hand-off, or tools whose
// results are the answer of an agent of that kind.
func (b *builder) needsNoAnswer(last *call) bool {
	root := b.fragment.ending()
	results := root != nil && root.obs.EndsWithTools && len(last.asked) > 0
	for _, a := range last.asked {
		if slices.Contains(last.obs.OutputTools, a.part.Name) {
			return true
		}
		ran := a.shown != nil || a.tool != nil && len(a.tool.nodes) > 0
		if ran && a.tool != nil && (a.tool.obs.Handoff || transferTarget(a.tool) != "") {
			return true
		}
		results = results && ran
	}
	return results
}
