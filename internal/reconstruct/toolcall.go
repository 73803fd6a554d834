// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// toolCall writes a tool call: what was asked for, what the tool received where that differs, and what it returned.
func (b *builder) toolCall(k *call) tape.Event {
	e, o := b.event(k), k.obs
	e.Name, e.ToolKind, e.Server = o.Name, o.ToolKind, o.Server
	e.ToolCallID = o.CallID
	if k.by != nil {
		if k.by.model.seq < k.seq {
			e.RequestedBy = k.by.model.seq
		}
		if k.by.part.ID != "" {
			e.ToolCallID = k.by.part.ID
		}
		if k.by.part.Name != "" {
			e.Name = k.by.part.Name // as offered to the model
		}
	}
	if k.unnamed {
		e.Provenance["name"] = tape.Missing
	}
	switch {
	case k.holds != nil || o.Handoff || strings.HasPrefix(e.Name, "transfer_to_"):
		e.ToolKind = tape.ToolAgent
	case e.ToolKind == "":
		e.ToolKind = tape.ToolFunction
	}
	b.toolArgs(k, &e)
	b.toolResult(k, &e)
	return e
}

func (b *builder) toolArgs(k *call, e *tape.Event) {
	received := k.obs.Args
	if k.obs.Handoff {
		received = genai.Content{} // a hand-off span describes the transfer, not the call
	}
	var asked exactjson.Value
	var askedLabel tape.Label
	masked := received.Masked
	if k.by != nil {
		asked, askedLabel = k.by.part.Args, k.by.part.Label
		masked = masked || k.by.part.Masked
	}
	byID := k.by != nil && (k.obs.CallID != "" && k.obs.CallID == k.by.part.ID || len(k.nodes) == 0 || k.obs.Handoff)
	if received.Label == "" && (asked.IsAbsent() || askedLabel != "") {
		received.Value, received.Label = b.calls.withoutOptional(e.Name, received.Value)
	}
	source := received
	label := received.Label
	switch {
	case asked.IsAbsent() && k.by != nil && received.Label == "" && received.Value.Len() > 0 && sameArgs(k, k.by): // {} was left out where it was asked for
		source, label = genai.Content{Value: exactjson.ObjectValue()}, tape.Recovered
	case asked.IsAbsent():
	case k.by.part.Emptied && received.Present() && received.Label == "":
		if !equalArgs(received.Value, asked, sameValue) {
			b.finding(tape.CodeArgsDiffer, k.seq, "args", "the response asked for other arguments than the tool span holds")
		}
	case !received.Present():
		source, label = genai.Content{Value: asked}, askedLabel
		if label == "" && k.by.part.Emptied {
			label = tape.Lossy
		}
		if label == "" && (len(k.nodes) > 0 && !k.obs.Handoff || k.by.model.enriched) {
			label = tape.Recovered
		}
	case received.Label == tape.Lossy && len(k.nodes) > 0 && inGo(k.nodes[0]) && sameBigInts(received.Value, asked): // rounded before the tool was called
		label = tape.Recovered
	case received.Label != "" && askedLabel == "":
		source, label = genai.Content{Value: asked}, tape.Recovered
	case askedLabel == "" && (byID || sameArgs(k, k.by)):
		source, label = genai.Content{Value: asked}, ""
		b.compareArgs(k, e, asked, received)
	case askedLabel == "":
		b.finding(tape.CodeArgsDiffer, k.seq, "args", "the response asked for other arguments than the tool span holds")
	}
	if !source.Present() && label == "" && b.calls.signature(e.Name).nothing {
		source, label = genai.Content{Value: exactjson.ObjectValue()}, tape.Recovered
		b.finding(tape.CodeArgsEmpty, k.seq, "args", "no record holds arguments, and the recorded definition of the tool takes none")
	}
	if !source.Present() && label == "" && b.calls.leavesOutEmpty(k) {
		source, label = genai.Content{Value: exactjson.ObjectValue()}, tape.Recovered
		b.finding(tape.CodeArgsEmpty, k.seq, "args", "no record holds arguments, and the answers of the run lack those of calls alone that had none")
	}
	if !source.Present() {
		e.Provenance["args"] = tape.Missing
		b.finding(tape.CodeArgsMissing, k.seq, "args", "no record holds the arguments")
		return
	}
	if label == tape.Masked { // what stands in its place is no value
		e.Provenance["args"] = tape.Masked
		b.finding(tape.CodeMasked, k.seq, "args", "the producer masked the arguments")
		return
	}
	e.Args = source.Value
	if e.Args.Kind() == exactjson.Null || e.Args.Kind() == exactjson.String && strings.TrimSpace(e.Args.Str()) == "" || source.Text == "None" {
		e.Args = exactjson.ObjectValue()
		b.finding(tape.CodeArgsEmpty, k.seq, "args", "the recorded arguments are empty")
	}
	if label != "" {
		e.Provenance["args"] = label
		switch {
		case source.Suspected != "":
			b.suspected(k, "args", source)
		case label != tape.Recovered:
			b.finding(lossCode(label, masked), k.seq, "args", "the recorded arguments are not what was sent")
		}
	}
	if e.Args.Kind() == exactjson.String && label == "" {
		b.finding(tape.CodeArgsNotJSON, k.seq, "args", "the arguments are text that is not JSON")
	}
	if e.Args.HasBigInt() {
		b.finding(tape.CodeBigInt, k.seq, "args", "an integer of 2^53 or more stands in the arguments; a program that holds numbers as doubles may have rounded it")
	}
	e.ArgsHash = tape.ArgsHash(e.Args)
}

// compareArgs keeps what the tool received when it is not what was asked for.
func (b *builder) compareArgs(k *call, e *tape.Event, asked exactjson.Value, received genai.Content) {
	if equalArgs(received.Value, asked, exactjson.Value.Equal) {
		return
	}
	if received.Value.Kind() == exactjson.String && received.Value.Str() == "" && asked.Len() == 0 {
		return
	}
	e.ExecutedArgs = received.Value
	if sameValue(asked, received.Value) {
		b.finding(tape.CodeBigInt, k.seq, "args", "the tool received rounded numbers")
		return
	}
	b.finding(tape.CodeArgsDiffer, k.seq, "args", "the tool received other arguments than were asked for")
}

// isNull reports null, as a value or as its text.
func isNull(v exactjson.Value) bool { return v.Kind() == exactjson.Null || v.Str() == "null" }

// wordsOf reports a result in the words of the error: what a framework tells the model of it, as a text or as an object of the message alone.
func wordsOf(e *tape.Error, result exactjson.Value) bool {
	if e == nil || e.Message == "" {
		return false
	}
	if result.Kind() == exactjson.String && sameWords(result.Str(), e.Message) {
		return true
	}
	object := result
	if inner, ok := decoded(result); ok {
		object = inner
	}
	if object.Kind() != exactjson.Object || object.Len() != 1 {
		return false
	}
	message := object.First("error", "message", "error_message", "errorMessage")
	return message.Kind() == exactjson.String && strings.TrimSpace(message.Str()) == strings.TrimSpace(e.Message)
}

// happenedIn reports a failure that says in which tool it happened, by a name that is no common word: it is of that call, and what the span holds beside it is what the model was told of it.
func happenedIn(e *tape.Error, name string) bool {
	return e != nil && strings.ContainsAny(name, "_-") && slices.Contains(strings.FieldsFunc(e.Message, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}

// quotedInPython returns the text of a literal of Python: hand-written spans record repr(result). A tool may well return a text in quotes, so what the model was
// shown has to say which of the two it was.
func quotedInPython(v exactjson.Value) (exactjson.Value, bool) {
	text := v.Str()
	if len(text) < 2 || text[0] != '\'' && text[0] != '"' || text[len(text)-1] != text[0] {
		return exactjson.Value{}, false
	}
	list, lossy, ok := decode.Python("[" + text + "]")
	return list.At(0), ok && !lossy && list.Len() == 1 && list.At(0).Kind() == exactjson.String
}

// roundedBefore reports a result with large integers of which the model was shown the same to the last digit: that repairs no rounding (ADK for Go rounds
// before it writes either). What else makes a result lossy is repaired by what the model was shown, and the digits in a text are nobody's number.
func roundedBefore(result, shown exactjson.Value) bool {
	if inner, ok := decoded(shown); ok {
		shown = inner
	}
	return result.HasBigInt() && result.Equal(shown)
}

// inGo reports a span of the SDK for Go. Frameworks there decode what the model asked for into a map of values, in which every number is a double, before they
// write it or hand it to a tool: two records of the arguments are then rounded alike, and so is what the tool received.
func inGo(n *node) bool {
	language, _ := n.resource.Get("telemetry.sdk.language")
	return language.Str() == "go"
}

// sameBigInts reports values that hold the same integers of 2^53 or more, to the last digit, and at least one.
func sameBigInts(a, b exactjson.Value) bool {
	of := bigInts(nil, a)
	slices.Sort(of)
	others := bigInts(nil, b)
	slices.Sort(others)
	return len(of) > 0 && slices.Equal(of, others)
}

func bigInts(of []string, v exactjson.Value) []string {
	if v.Kind() == exactjson.Number && v.HasBigInt() {
		return append(of, v.Text())
	}
	for _, m := range v.Members() {
		of = bigInts(of, m.Value)
	}
	return of
}

func (b *builder) toolResult(k *call, e *tape.Event) {
	o := k.obs
	result := o.Result
	if o.Handoff { // what a span says of the transfer is not what the model is told
		result = genai.Content{}
	}
	var shown *genai.Part
	if k.by != nil {
		shown = k.by.shown
	}
	if o.Handoff && shown == nil && !o.HandedOver.IsAbsent() {
		result = genai.Content{Value: o.HandedOver, Label: tape.Recovered}
	}
	if o.StatusError && (result.Value.Kind() == exactjson.Object && result.Value.Len() == 0 || result.Value.Str() == "{}") && (shown == nil || !sameContent(result.Value, shown.Result)) {
		result = genai.Content{} // written where the tool threw
	}
	if o.StatusError && isNull(result.Value) && o.Error != nil && o.Error.Message != "" {
		result = genai.Content{} // written where the tool threw, and told to the model
		if shown != nil && isNull(shown.Result) {
			shown = nil
		}
	}
	if shown != nil && shown.Label == "" && result.Label == "" {
		if said, ok := quotedInPython(result.Value); ok && !sameContent(result.Value, shown.Result) && sameValue(said, shown.Result) {
			result.Value, result.Envelope = said, append(slices.Clip(result.Envelope), "python.str")
		}
	}
	if shown != nil && shown.Label == "" && result.Label == "" {
		if whole, ok := withEnvelope(result); ok && !sameContent(result.Value, shown.Result) && sameContent(whole, shown.Result) {
			result.Value, result.Envelope = whole, nil // it was no envelope: the tool returned an object of this one member
		}
	}
	threw := shown != nil && shown.Label == "" && shown.IsError && (isNull(result.Value) || result.Value.Str() == "None") && !sameContent(result.Value, shown.Result)
	if threw {
		result = genai.Content{} // the model was told of a failure, and the span holds what Python writes of no value (agno before 2)
	}
	wrapped := ""
	if shown != nil && shown.Label == "" && result.Label == "" && !o.Failed {
		if wrapped = errorIn(result.Value, shown.Result); wrapped != "" {
			result = genai.Content{}
		}
	}
	waits := o.Interrupted && !result.Present()
	// a result that is not what the model was told is none, if the span says error
	contradicted := shown != nil && shown.Label == "" && result.Label == "" && !sameContent(result.Value, shown.Result) && pathTo(shown.Result, result.Value, maxEnvelopes, room(result.Value)) == nil
	failed := !waits && (o.Failed || threw || wrapped != "" || o.StatusError && (!result.Present() || shown != nil && shown.IsError || contradicted || wordsOf(o.Error, result.Value) || happenedIn(o.Error, o.Name)))
	if o.StatusError && !failed && !waits {
		b.finding(tape.CodeStatusDisputed, k.seq, "status", "the span says error, the tool returned a result")
	}
	switch {
	case result.Label == tape.Masked && (shown == nil || shown.Label != ""):
		e.Provenance["result"] = tape.Masked
		b.finding(tape.CodeMasked, k.seq, "result", "the producer masked the result")
	case result.Present() && (undamaged(result.Label) || shown == nil || shown.Label != "" || result.Label == tape.Lossy && roundedBefore(result.Value, shown.Result)):
		e.Result, e.Envelope = result.Value, result.Envelope
		switch result.Label {
		case "":
		case tape.Recovered:
			e.Provenance["result"] = tape.Recovered
			b.finding(tape.CodeResultRecovered, k.seq, "result", "taken from a record beside the span")
		case tape.Disputed:
			e.Provenance["result"] = tape.Disputed
			b.finding(tape.CodeResultDisputed, k.seq, "result", "payloads of one span hold other results, and nothing decides between them")
		default:
			e.Provenance["result"] = result.Label
			if result.Suspected != "" {
				b.suspected(k, "result", result)
			} else {
				b.finding(lossCode(result.Label, result.Masked), k.seq, "result", "the recorded result is not what the tool returned")
			}
		}
	case shown != nil && failed && !result.Present():
		// a failed call has no result; what the model was told is the framework's wording
		if o.Error == nil || o.Error.Message == "" || o.Error.Message == o.Error.Type {
			e.Error = &tape.Error{Message: textResult(shown.Result)}
			if o.Error != nil {
				e.Error.Type = o.Error.Type
			}
			e.Provenance["error"] = tape.Recovered
		}
	case shown != nil:
		e.Result, e.Envelope = shown.Result, shown.Envelope
		if len(k.nodes) == 0 {
			e.Result, e.Envelope = shown.Returned()
		}
		if literal, ok := decode.PythonStr(shown.Result.Str()); ok && !saysError(literal) {
			e.Result, e.Envelope = literal, append(slices.Clip(shown.Envelope), "python.str")
		}
		e.Provenance["result"] = tape.Recovered
		if shown.Emptied && shown.Label == "" {
			e.Provenance["result"] = tape.Lossy
			b.finding(tape.CodeLossyRepr, k.seq, "result", "the recorded result may not be what the tool returned: its record writes nulls as a text")
		} else if shown.Label != "" {
			e.Provenance["result"] = shown.Label
			b.finding(lossCode(shown.Label, shown.Masked), k.seq, "result", "the recorded result is not what the tool returned")
		}
		b.finding(tape.CodeResultRecovered, k.seq, "result", "taken from a later model request")
		failed = failed || shown.IsError
	case waits:
		e.Status = tape.EventError
		e.Provenance["result"] = tape.Missing
		b.finding(tape.CodeUnansweredToolCall, k.seq, "result", "the call waits for a person or a resume")
	case len(k.nodes) == 0 && b.wentOnUnseen(k):
		e.Provenance["result"] = tape.Missing
		b.finding(tape.CodeResultMissing, k.seq, "result", "the request that would show the result was not recorded whole")
	case b.begun(k) != nil:
		e.SpanIDs = append(e.SpanIDs, b.begun(k).spanID())
		e.Status = tape.EventError
		e.Provenance["result"] = tape.Missing
		b.finding(tape.CodeResultMissing, k.seq, "result", "the step that ran the call failed before it returned; what the tool came to is recorded nowhere")
	case len(k.nodes) == 0 || k.obs.Handoff:
		e.Status = tape.EventError
		e.Provenance["result"] = tape.Missing
		b.finding(tape.CodeUnansweredToolCall, k.seq, "result", "the model asked for the call and nothing shows an answer")
	case failed && (k.maybe || wasStopped(o.Error)):
		e.Provenance["result"] = tape.Missing
		b.finding(tape.CodeUnansweredToolCall, k.seq, "result", "the program around the call ended it; what the tool came to, no record tells")
	case !failed:
		if e.Error = b.endedBy(k); e.Error != nil {
			failed = true
			e.Provenance["error"] = tape.Recovered
			break
		}
		e.Provenance["result"] = tape.Missing
		b.finding(tape.CodeResultMissing, k.seq, "result", "no record holds the result")
	}
	for _, other := range k.others {
		e.OtherResults = append(e.OtherResults, tape.OtherResult{Result: other, From: tape.FromSpan})
	}
	if failed {
		e.Status, e.IsError = tape.EventError, true
		if wrapped != "" {
			e.Error = &tape.Error{Message: wrapped}
			delete(e.Provenance, "error")
		}
		if e.Error == nil {
			e.Error = o.Error
		}
		if e.Result.IsAbsent() && e.Provenance["error"] == "" && wasGivenUp(e.Error) {
			e.Provenance["result"] = tape.Missing
			b.finding(tape.CodeResultMissing, k.seq, "result", "the call was given up; what the tool came to is recorded nowhere")
		}
	}
	if !e.Result.IsAbsent() {
		e.ResultSHA256 = e.AnswerSHA256()
		if e.Result.HasBigInt() {
			b.finding(tape.CodeBigInt, k.seq, "result", "an integer of 2^53 or more stands in the result; a program that holds numbers as doubles may have rounded it")
		}
	}
}

// endedBy is the failure of a call that says nothing of how it ended, where what is around it failed and says that this tool did: "Error executing tool search: …" (streams of the AI SDK
// 4). Nothing was asked after the turn that called it, and no other call of that turn with the same name is left without an outcome.
func (b *builder) endedBy(k *call) *tape.Error {
	around := b.fragment.root
	if k.agent != nil && len(k.agent.nodes) > 0 {
		around = k.agent.nodes[0]
	}
	if around == nil || around.obs.Error == nil || k.by == nil || !namesTool(around.obs.Error.Message, k.by.part.Name) {
		return nil
	}
	for i := len(b.ordered) - 1; i >= 0 && b.ordered[i].seq > k.by.model.seq; i-- {
		if later := b.ordered[i]; later.kind == tape.EventModelCall && later.agent == k.agent {
			return nil
		}
	}
	for _, other := range k.by.model.asked {
		if other != k.by && other.part.Name == k.by.part.Name && other.shown == nil && (other.tool == nil || !other.tool.obs.Result.Present() && !failedCall(other.tool)) {
			return nil
		}
	}
	return around.obs.Error
}

// wasStopped reports what runtimes throw into a call that somebody else ended, as LangGraph in JavaScript ends the calls beside one that failed: not a failure of the tool.
func wasStopped(e *tape.Error) bool {
	if e == nil {
		return false
	}
	first, _, _ := strings.Cut(e.Message, "\n")
	if class, rest, ok := strings.Cut(first, ": "); ok && stopped.MatchString(class) { // which stands before the message
		first = rest
	}
	return stopped.MatchString(e.Type) || first == "This operation was aborted" || first == "context canceled"
}

var stopped = regexp.MustCompile(`(^|\.)(AbortError|CancelledError|CancellationException|TaskCanceledException|OperationCanceledException)$`)

// namesTool reports a message in which the name of a tool stands behind that word.
func namesTool(message, name string) bool {
	for rest := message; name != ""; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		before, after := strings.TrimRight(rest[:i], " :'\"`"), rest[i+len(name):]
		if word := strings.ToLower(before); strings.HasSuffix(word, "tool") && before != rest[:i] && (after == "" || !wordByte(after[0])) {
			return true
		}
		rest = after
	}
	return false
}

// saysError reports an object of nothing but a failure: a framework may have made it of what was thrown, and then the text that the model was told is all that there is.
func saysError(v exactjson.Value) bool {
	return v.Kind() == exactjson.Object && v.Len() == 1 && v.Get("error").Kind() == exactjson.String
}

// wasGivenUp reports an error that says no more than that nobody waited for the call any longer: the tool may have gone on, and returned.
func wasGivenUp(e *tape.Error) bool {
	return e != nil && (e.Message == "" || e.Message == e.Type) && givenUp.MatchString(e.Type)
}

// givenUp are the names of what is thrown into a task that is told to stop.
var givenUp = regexp.MustCompile(`(?:^|\.)(?:CancelledError|CancellationException|OperationCanceledException|TaskCanceledException|AbortError|GeneratorExit)$`)

// errorIn returns the message of a failure that a reporter recorded as an object of nothing else, where the model was told of it in other words: with
// the message in it. What the model was shown as it is recorded is what the tool answered.
func errorIn(recorded, shown exactjson.Value) string {
	object := recorded
	if inner, ok := decoded(recorded); ok {
		object = inner
	}
	if object.Kind() != exactjson.Object || sameContent(recorded, shown) {
		return ""
	}
	message := object.First("error", "error_message", "errorMessage")
	if message.Kind() == exactjson.Object {
		message = message.Get("message")
	}
	for _, m := range object.Members() {
		switch m.Name {
		case "error", "error_message", "errorMessage", "error_type", "status", "success", "ok", "is_error", "isError":
		case "result", "output", "data":
			if m.Value.Kind() != exactjson.Null {
				return ""
			}
		default:
			return ""
		}
	}
	text := strings.TrimSpace(message.Str())
	if told := textResult(shown); text == "" || !strings.Contains(told, text) || shown.Kind() == exactjson.String && strings.HasPrefix(told, "{") {
		return ""
	}
	return text
}

// withEnvelope puts a result back into the one envelope that was taken off around it, where that is named after its member (langsmith.output).
func withEnvelope(c genai.Content) (exactjson.Value, bool) {
	if len(c.Envelope) != 1 || !c.Present() {
		return exactjson.Value{}, false
	}
	_, name, ok := strings.Cut(c.Envelope[0], ".")
	return exactjson.ObjectValue(exactjson.Member{Name: name, Value: c.Value}), ok
}

// wentOnUnseen reports a call after which its agent asked the model again, in a request that was not recorded whole: what came of the call may stand
// in the rest.
func (b *builder) wentOnUnseen(k *call) bool {
	return slices.ContainsFunc(b.calls.models, func(m *call) bool {
		return m.agent == k.agent && m.seq > k.seq && !undamaged(m.obs.RequestLabel)
	})
}

// suspected names what may be an envelope around the value of a tool call.
func (b *builder) suspected(k *call, field string, c genai.Content) {
	b.finding(tape.CodeEnvelopeSuspected, k.seq, field, "the value of "+c.Suspected+" may be all of it: "+c.Suspected+" looks like an envelope, and no record shows what was inside")
}

// undamaged reports a value that is what it was, wherever it was found.
func undamaged(l tape.Label) bool { return l == "" || l == tape.Recovered }

// lossCode names why a value is not what it was: masked in part, or the code of its label.
func lossCode(label tape.Label, masked bool) tape.Code {
	if masked {
		return tape.CodeMasked
	}
	return codeOf(label)
}

func textResult(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	return v.JSON()
}

// wordByte reports a byte of a name of a tool.
func wordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}
