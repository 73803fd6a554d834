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

// Envelopes that no table knows come off when the conversation proves them: what stands inside equals what the model asked for, or what
// it was shown. One that is proved for one call of a reporter comes off the others of the same shape too. Where no record of the
// conversation shows what was inside, the shape of a value and of its neighbours says whether it may be an envelope. Such a value stays as it
// is, with the label lossy and a finding that names the envelope.

// maxBesides bounds how many characters may stand beside the content of an envelope; more is content itself.
const maxBesides = 64

// wrappable is one of the values of a tool call that a reporter may have put into an envelope.
type wrappable struct {
	of      func(*genai.Observation) *genai.Content
	against func(*call) exactjson.Value // what the conversation shows of it
	alike   bool                        // the values of different tools have nothing in common of their own
}

var wrappables = []wrappable{
	{of: func(o *genai.Observation) *genai.Content { return &o.Args }, against: func(k *call) exactjson.Value {
		if k.by == nil || k.by.part.Label != "" || k.by.part.Args.Len() == 0 {
			return exactjson.Value{}
		}
		return k.by.part.Args
	}},
	{of: func(o *genai.Observation) *genai.Content { return &o.Result }, against: func(k *call) exactjson.Value {
		if k.by == nil || k.by.shown == nil || k.by.shown.Label != "" || k.by.shown.IsError {
			return exactjson.Value{}
		}
		return k.by.shown.Result
	}, alike: true},
}

// openEnvelopes takes proved envelopes off the arguments and results of tool calls, and marks suspected ones. Their names are the members that
// lead inside.
func (b *builder) openEnvelopes() {
	for _, w := range wrappables {
		calls := slices.DeleteFunc(slices.Clone(b.ordered), func(k *call) bool {
			return k.kind != tape.EventToolCall || len(k.nodes) == 0 || !w.of(k.obs).Present()
		})
		proved, bare := map[reporter][][]string{}, map[reporter]bool{}
		small := map[reporter]map[string][]exactjson.Value{} // by path, what may stand there by chance
		for _, k := range calls {
			recorded, inside := w.of(k.obs), w.against(k)
			switch {
			case !undamaged(recorded.Label) || inside.IsEmpty():
			case sameContent(recorded.Value, inside):
				bare[k.reporter()] = bare[k.reporter()] || telling(inside)
			default:
				r := k.reporter()
				if path := pathTo(recorded.Value, inside, maxEnvelopes, room(inside)); path != nil {
					proved[r] = append(proved[r], path)
					continue
				}
				if telling(inside) {
					continue
				}
				path := pathTo(recorded.Value, inside, maxEnvelopes, maxBesides)
				if path == nil {
					continue
				}
				if small[r] == nil {
					small[r] = map[string][]exactjson.Value{}
				}
				key := strings.Join(path, "\x00")
				if slices.ContainsFunc(small[r][key], func(v exactjson.Value) bool { return !sameValue(v, inside) }) {
					proved[r] = append(proved[r], path) // not twice
				}
				small[r][key] = append(small[r][key], inside)
			}
		}
		whole := w.wholes(calls)
		calls = slices.DeleteFunc(calls, func(k *call) bool { return w.open(k, proved[k.reporter()]) })
		w.suspect(b.calls, calls, bare, whole)
	}
	b.suspectFrames()
}

// suspectFrames marks results that are a text in a frame: of a result that was shown to the model alone, and of one that the conversation does not
// show, nothing proves where the frame ends and the answer begins.
func (b *builder) suspectFrames() {
	for _, k := range b.ordered {
		if k.kind != tape.EventToolCall || k.obs.Handoff {
			continue
		}
		shown := k.by != nil && k.by.shown != nil
		result := k.obs.Result
		switch recorded := result.Present(); {
		case recorded && shown || recorded && result.Label != "" || !recorded && (!shown || k.by.shown.Label != "" || k.by.shown.IsError):
			continue
		case recorded:
			result.Suspected = frameOf(result.Value)
		default:
			result = genai.Content{Value: k.by.shown.Result, Envelope: k.by.shown.Envelope, Suspected: frameOf(k.by.shown.Result)}
		}
		if result.Suspected == "" {
			continue
		}
		result.Label = tape.Lossy
		o := *k.obs
		o.Result = result
		k.obs = &o
		if shown {
			part := *k.by.shown
			part.Label = tape.Lossy
			k.by.shown = &part
		}
	}
}

// textHeader is what a program puts before the answer of a tool: lines of a name and a value each, then the name of what follows.
var textHeader = regexp.MustCompile(`^(?:[A-Z][A-Za-z ]{0,40}: [^\n]{1,80}\n)+(Output|Result|Response|Content):\n`)

// frameOf names the frame around a text, or around the text that is the only member of a value: a header, or a tag of several words around all of
// it, which no markup language has. It returns "" when there is none.
func frameOf(v exactjson.Value) string {
	if name, inner, ok := sole(v); ok && slices.Contains(valueNames, name) {
		v = inner
	}
	text := strings.TrimSpace(v.Str())
	if strings.Contains(text, ":\n") { // of which the pattern has one: a long text without is not matched
		if m := textHeader.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	if end := strings.IndexByte(text, '>'); end > 1 && end <= maxBesides && text[0] == '<' {
		tag := text[1:end]
		if strings.ContainsAny(tag, "_-") && !strings.ContainsAny(tag, " /!?\"'=") && strings.HasSuffix(text, "</"+tag+">") {
			return tag
		}
	}
	return ""
}

// wholes are what tells of the results of one tool that they are in no envelope.
type wholes struct {
	alone map[aloneIn]map[string]bool // the names of only members with an object or list in them
	plain map[aloneIn]bool            // it returned what is no object, in no envelope
}

type aloneIn struct {
	reporter reporter
	tool     string
}

func (w wrappable) wholes(calls []*call) wholes {
	o := wholes{map[aloneIn]map[string]bool{}, map[aloneIn]bool{}}
	for _, k := range calls {
		content, in := w.of(k.obs), aloneIn{k.reporter(), k.obs.Name}
		if k.obs.Failed || k.obs.StatusError || content.Label != "" {
			continue // a failure may be told in another form
		}
		v := content.Value
		if name, inner, ok := sole(v); ok && inner.Kind() >= exactjson.Array {
			if o.alone[in] == nil {
				o.alone[in] = map[string]bool{}
			}
			o.alone[in][name] = true
		}
		if v.Kind() == exactjson.String {
			v, _ = decoded(v)
		}
		if v.Kind() != exactjson.Object && v.Kind() != exactjson.Null && !v.IsEmpty() && len(content.Envelope) == 0 {
			o.plain[in] = true
		}
	}
	return o
}

// otherMembers reports that the only member of a value is no envelope of its reporter: the same tool has another only member.
func (o wholes) otherMembers(k *call) bool {
	return len(o.alone[aloneIn{k.reporter(), k.obs.Name}]) > 1
}

// toldModel reports a result that is what the model was told, as it was taken out of the message that a framework made of it: all of that counts.
func toldModel(c *genai.Content) bool {
	return c.Told || slices.ContainsFunc(c.Envelope, func(e string) bool {
		return e == "langchain.repr" || e == "langchain.tool_message" || e == "llamaindex.tool_output"
	})
}

// uniform are the reporters of which all values, of several, have one and the same only member: what else they say of these, something was put around them.
func (w wrappable) uniform(calls []*call) map[reporter]bool {
	names, several := map[reporter]string{}, map[reporter]bool{}
	for _, k := range calls {
		name, inner, ok := sole(w.of(k.obs).Value)
		r := k.reporter()
		if before, seen := names[r]; !ok || inner.Kind() < exactjson.Array || seen && before != name {
			names[r] = "" // which no member is called
			several[r] = false
		} else {
			names[r], several[r] = name, seen && before != ""
		}
	}
	return several
}

// saysFailure reports a call that failed, and a result with nothing but its error: so frameworks tell the model of it, whichever tool it was.
func saysFailure(k *call, v exactjson.Value) bool {
	name, inner, ok := sole(v)
	return ok && name == "error" && inner.Kind() == exactjson.String && (k.obs.Failed || k.obs.StatusError || k.obs.Error != nil)
}

// open takes an envelope of a proved shape off the value of a call.
func (w wrappable) open(k *call, proved [][]string) bool {
	for _, path := range proved {
		inner, ok := follow(w.of(k.obs).Value, path)
		if !ok {
			continue
		}
		if inside := w.against(k); !inside.IsEmpty() {
			if telling(inside) && !sameContent(inner, inside) {
				continue
			}
			if text, ok := decoded(inner); ok && inner.Kind() == exactjson.String && text.Kind() == exactjson.String && text.Equal(inside) {
				inner = text // encoded once more
			}
		}
		o := *k.obs
		content := w.of(&o)
		content.Value, content.Envelope = inner, append(slices.Clip(content.Envelope), strings.Join(path, "."))
		k.obs = &o
		return true
	}
	return false
}

// suspect marks values that may be envelopes, among calls of which the conversation does not show the value. A reporter of which another value
// was shown as it was recorded puts none into an envelope. One that puts objects into an envelope puts all results, or arguments, into it: where others of it stand
// outside of that envelope, these are what the tool returned or received. What the definition of a tool names as its parameter is none either. What the server of a tool wraps is not up to it. That a tool has a server few
// reporters say: a lone number or truth value is suspected of any tool, a text or list below such a name as often has it from the tool itself.
func (w wrappable) suspect(c *collector, calls []*call, bare map[reporter]bool, whole wholes) {
	tools := map[reporter]map[string]map[string]bool{} // by the only member of the value: which tools it is of
	unwrapped := map[reporter]*outside{}
	for _, k := range calls {
		if content := w.of(k.obs); undamaged(content.Label) {
			r := k.reporter()
			if unwrapped[r] == nil {
				unwrapped[r] = &outside{naming: map[string]int{}}
			}
			if w.alike {
				unwrapped[r].addResult(content.Value)
			} else {
				unwrapped[r].addArgs(content.Value)
			}
		}
	}
	last := map[*call]*call{} // model calls, by agent
	for _, m := range c.models {
		if l := last[m.agent]; l == nil || m.start >= l.start {
			last[m.agent] = m
		}
	}
	uniform := w.uniform(calls)
	calls = slices.DeleteFunc(calls, func(k *call) bool {
		return w.of(k.obs).Label != "" || !w.against(k).IsAbsent() || toldModel(w.of(k.obs)) && !(w.of(k.obs).Told && uniform[k.reporter()]) || saysFailure(k, w.of(k.obs).Value) ||
			w.alike && k.holds != nil && saidLast(last[k.holds], w.of(k.obs).Value)
	})
	if w.alike {
		w.suspectAlike(calls)
	}
	for _, k := range calls {
		if name, _, ok := sole(w.of(k.obs).Value); ok && w.alike {
			r := k.reporter()
			if tools[r] == nil {
				tools[r] = map[string]map[string]bool{}
			}
			if tools[r][name] == nil {
				tools[r][name] = map[string]bool{}
			}
			tools[r][name][k.obs.Name] = true
		}
	}
	for _, k := range calls {
		v := w.of(k.obs).Value
		name, inner, ok := sole(v)
		wrapped := looksWrapped(inner, w.alike) && (w.alike || !c.takes(k.obs.Name, name))
		byReporter := !bare[k.reporter()] && (wrapped || len(tools[k.reporter()][name]) > 1) && !(wrapped && (unwrapped[k.reporter()].of(name) || whole.otherMembers(k)))
		plain := whole.plain[aloneIn{k.reporter(), k.obs.Name}] // its server wraps no value then
		byServer := w.alike && !plain && wrapsValue(name, inner) && (k.obs.ToolKind == tape.ToolMCP || inner.Kind() == exactjson.Number || inner.Kind() == exactjson.Bool)
		hollow := ""
		if w.alike && !plain && !bare[k.reporter()] {
			hollow = hollowValue(v)
		}
		if hollow == "" && (!ok || !byReporter && !byServer) {
			continue
		}
		o := *k.obs
		content := w.of(&o)
		content.Label, content.Suspected = tape.Lossy, cmp.Or(hollow, suspectedPath(v))
		k.obs = &o
	}
}

// saidLast reports the result of an agent that ran as a tool which is what its model answered at last, in JSON: nothing was put around that.
func saidLast(last *call, result exactjson.Value) bool {
	if !finalAnswer(last) {
		return false
	}
	answer, ok := decoded(exactjson.StringValue(textOf(last.response)))
	return ok && sameValue(answer, result)
}

// outside counts the values of a reporter that an envelope around objects does not hold.
type outside struct {
	all    int
	naming map[string]int // of these, by the names of their members
}

// addArgs counts arguments, but for those that may lie in another envelope.
func (o *outside) addArgs(v exactjson.Value) {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	if _, inner, ok := sole(v); v.Len() == 0 || ok && looksWrapped(inner, false) {
		return
	}
	o.all++
	for _, m := range v.Members() {
		o.naming[m.Name]++
	}
}

// addResult counts lists, numbers, truth values and objects with several members. Texts may be recorded as they are by who wraps objects, and an object with one member may be another envelope.
func (o *outside) addResult(v exactjson.Value) {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	switch v.Kind() {
	case exactjson.Object:
		if v.Len() < 2 {
			return
		}
		for _, m := range v.Members() {
			o.naming[m.Name]++
		}
	case exactjson.Array, exactjson.Number, exactjson.Bool:
	default:
		return
	}
	o.all++
}

// of reports a value outside of an envelope whose member has this name.
func (o *outside) of(name string) bool { return o != nil && o.all > o.naming[name] }

// takes reports a parameter of a tool that a request offered, or that the span of a call defines.
func (c *collector) takes(tool, parameter string) bool {
	if c.parameters == nil {
		c.parameters = map[[2]string]bool{}
		for _, k := range slices.Concat(c.models, c.tools) {
			for _, t := range k.obs.Tools {
				for _, p := range t.Parameters.Get("properties").Members() {
					c.parameters[[2]string{t.Name, p.Name}] = true
				}
			}
		}
	}
	return c.parameters[[2]string{tool, parameter}]
}

// hollowValue names the member of an object below which an empty text stands as values do, beside nothing but short plain values.
func hollowValue(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	name := ""
	for _, m := range v.Members() {
		switch {
		case v.Kind() != exactjson.Object || m.Value.Kind() >= exactjson.Array:
			return ""
		case name == "" && slices.Contains(valueNames, m.Name) && m.Value.Kind() == exactjson.String && m.Value.Str() == "":
			name = m.Name
		}
	}
	if name == "" || besides(v, name) > maxBesides {
		return ""
	}
	return name
}

// suspectAlike marks results that no request shows, where all those of a reporter are objects of the same few members, of which one is named as values are and holds now this kind of
// value, now another, and the others are short and the same: {"ok": true, "data": …}.
func (w wrappable) suspectAlike(calls []*call) {
	type shape struct {
		members string // names, and the values of all but one
		value   string // the name of that
		kinds   map[exactjson.Kind]bool
		calls   []*call
	}
	shapes := map[reporter]*shape{}
	for _, k := range calls {
		if k.obs.Failed || k.obs.StatusError {
			continue
		}
		r, v := k.reporter(), w.of(k.obs).Value
		if v.Kind() == exactjson.String {
			v, _ = decoded(v)
		}
		one := shape{kinds: map[exactjson.Kind]bool{}}
		for _, m := range v.Members() {
			if one.value == "" && slices.Contains(valueNames, m.Name) {
				one.value = m.Name
				one.members += m.Name + "\x00"
			} else {
				one.members += m.Name + "=" + m.Value.JSON() + "\x00"
			}
		}
		s := shapes[r]
		if s == nil {
			s = &one
			shapes[r] = s
		}
		if v.Kind() != exactjson.Object || v.Len() < 2 || one.value == "" || one.members != s.members || len(one.members) > maxBesides {
			s.members = "\x00" // another one: no envelope of the reporter's
			continue
		}
		s.kinds[v.Get(one.value).Kind()] = true
		s.calls = append(s.calls, k)
	}
	for _, s := range shapes {
		if s.members == "\x00" || len(s.kinds) < 2 {
			continue
		}
		for _, k := range s.calls {
			o := *k.obs
			content := w.of(&o)
			content.Label, content.Suspected = tape.Lossy, s.value
			k.obs = &o
		}
	}
}

// opened is the value of a text that is JSON, and a value that is no text itself.
func opened(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	return v
}

// sole returns the member of an object that has one, also of one that is JSON text.
func sole(v exactjson.Value) (name string, inner exactjson.Value, ok bool) {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	if v.Kind() != exactjson.Object || v.Len() != 1 {
		return "", v, false
	}
	m := v.Members()[0]
	return m.Name, m.Value, true
}

// looksWrapped reports that the only member of a value is an envelope in all likelihood. The member of a result is an object. Arguments may well
// be one object; of these it is an object with nothing but an object or list.
func looksWrapped(inner exactjson.Value, result bool) bool {
	if result {
		if inner.Kind() == exactjson.String {
			inner, _ = decoded(inner)
		}
		return inner.Kind() == exactjson.Object
	}
	_, inner, ok := sole(inner)
	return ok && inner.Kind() >= exactjson.Array
}

// valueNames are what servers call a value that is no object: the structured result of an MCP tool has to be one.
var valueNames = []string{"value", "result", "output", "response", "return", "returns", "return_value", "content", "data"}

// wrapsValue reports the member into which a server put a value that is no object.
func wrapsValue(name string, inner exactjson.Value) bool {
	return slices.Contains(valueNames, name) && inner.Kind() != exactjson.Object
}

// suspectedPath names the members that lead to what may be the content of an envelope.
func suspectedPath(v exactjson.Value) string {
	var path []string
	for len(path) < maxEnvelopes {
		if v.Kind() == exactjson.String {
			v, _ = decoded(v)
		}
		var within []exactjson.Member // with what has members of its own
		for _, m := range v.Members() {
			if m.Value.Kind() >= exactjson.Array && besides(v, m.Name) <= maxBesides {
				within = append(within, m)
			}
		}
		switch {
		case v.Kind() == exactjson.Object && v.Len() == 1:
			path, v = append(path, v.Members()[0].Name), v.Members()[0].Value
		case v.Kind() == exactjson.Object && len(path) == 1 && len(within) == 1:
			return path[0] + "." + within[0].Name
		default:
			return strings.Join(path, ".")
		}
	}
	return strings.Join(path, ".")
}

// sameContent compares a recorded value with what the conversation shows of it: the same value, encoded once more, or as Python writes it.
func sameContent(recorded, shown exactjson.Value) bool {
	if sameValue(recorded, shown) {
		return true
	}
	if shown.Kind() != exactjson.String {
		return false
	}
	if literal, ok := decode.PythonStr(shown.Str()); ok {
		return sameValue(recorded, literal)
	}
	text, ok := decoded(recorded)
	return ok && recorded.Kind() == exactjson.String && text.Kind() == exactjson.String && text.Equal(shown)
}

// telling reports a value that does not stand inside of another by chance.
func telling(v exactjson.Value) bool {
	switch v.Kind() {
	case exactjson.Object, exactjson.Array:
		return v.Len() > 0
	case exactjson.String:
		return len(v.Str()) >= 8
	default:
		return false
	}
}

// room is how many characters may stand beside a value in an envelope; none beside one that may be the same by chance.
func room(inside exactjson.Value) int {
	if telling(inside) {
		return maxBesides
	}
	return 0
}

// pathTo returns the names of the members that lead from a value to an equal one inside of it, where little else stands: as many characters as there is
// room for. It returns nil when there is none.
func pathTo(outer, inner exactjson.Value, depth, room int) []string {
	if depth == 0 {
		return nil
	}
	if outer.Kind() == exactjson.String {
		v, ok := decoded(outer)
		if !ok || v.Kind() != exactjson.Object {
			return nil
		}
		outer = v
	}
	if outer.Kind() != exactjson.Object {
		return nil
	}
	for _, m := range outer.Members() {
		if besides(outer, m.Name) > room {
			continue
		}
		if sameContent(m.Value, inner) {
			return []string{m.Name}
		}
		if rest := pathTo(m.Value, inner, depth-1, room); rest != nil {
			return append([]string{m.Name}, rest...)
		}
	}
	return nil
}

// besides counts the characters of the other members' values.
func besides(v exactjson.Value, name string) (n int) {
	for _, m := range v.Members() {
		if m.Name != name {
			n += len(m.Value.JSON())
		}
	}
	return n
}

// follow steps along the names, into JSON texts too.
func follow(v exactjson.Value, path []string) (exactjson.Value, bool) {
	for _, name := range path {
		if v.Kind() == exactjson.String {
			inner, ok := decoded(v)
			if !ok {
				return v, false
			}
			v = inner
		}
		next := v.Get(name)
		if next.IsAbsent() || besides(v, name) > maxBesides {
			return v, false
		}
		v = next
	}
	return v, true
}
