// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// run is what happened since /begin.
type run struct {
	group, model string
	scenario     scenario
	answerTool   *answerTool // nil: the model answers with a text

	mu        sync.Mutex
	served    [2]int // turns of the main agent and of the other one
	turns     []modelTurn
	asked     []*askedCall
	executed  []*toolCall
	completed int
	failures  int
}

// answerTool is the tool that a framework gives its model to answer with, and the argument that takes the answer.
type answerTool struct{ Name, Argument string }

// turn is the turn with which the model says its text by this tool; one that calls tools or fails stays what it is.
func (t *answerTool) turn(said turn) turn {
	if t == nil || len(said.calls) > 0 || said.fail != 0 {
		return said
	}
	return turn{calls: []call{{name: t.Name, args: encode(m{t.Argument: said.text})}}}
}

// askedCall is a call that the model asked for.
type askedCall struct {
	call
	offered string // its name there, where a framework offers the tool under another one
	id      string
	turn    int
	ran     *toolCall
}

// toolCall is a call that ran, as the truth tells it.
type toolCall struct {
	Order       int             `json:"order"`
	Name        string          `json:"name"`
	OfferedName string          `json:"offered_name,omitempty"`
	Args        json.RawMessage `json:"args"`
	Result      json.RawMessage `json:"result"`
	Error       *string         `json:"error"`
	Completion  int             `json:"completion_order"`
	CallID      *string         `json:"call_id"`
	ArgsRaw     string          `json:"args_raw"`
	Turn        *int            `json:"llm_order"`
	SentToModel *string         `json:"sent_to_model,omitempty"`

	script call
}

// modelTurn is one request that reached the model.
type modelTurn struct {
	Order  int          `json:"order"`
	API    string       `json:"api"`
	Model  string       `json:"model"`
	Stream bool         `json:"stream"`
	Status int          `json:"status"`
	Text   string       `json:"text"`
	Calls  []wantedCall `json:"tool_calls"`
}

type wantedCall struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	ArgsRaw string `json:"args_raw"`
}

// truth is the document beside the telemetry of a run.
type truth struct {
	Framework   string            `json:"framework"`
	Scenario    string            `json:"scenario"`
	User        string            `json:"user_input"`
	System      string            `json:"system_prompt"`
	History     []message         `json:"history"`
	Agents      map[string]string `json:"agents,omitempty"`
	Output      *string           `json:"final_output"`
	Status      string            `json:"status"`
	Error       *string           `json:"error"`
	Model       string            `json:"model"`
	ToolCalls   []*toolCall       `json:"tool_calls"`
	NotExecuted []wantedCall      `json:"requested_but_not_executed"`
	Turns       int               `json:"llm_turns"`
	Failures    int               `json:"llm_failures"`
	Log         []modelTurn       `json:"llm_log"`
	Secrets     []string          `json:"secrets"`
}

func newRun(s scenario, group, model string, by *answerTool) *run {
	return &run{scenario: s, group: group, model: model, answerTool: by}
}

// asked is a request to a model, as every API tells it.
type asked struct {
	api, model string
	stream     bool
	shown      []shownResult
	idPrefix   string // of the ids of calls; "" where the API has none

	instructions any   // what the Responses API
	tools        []any // says again in its answer
}

// shownResult is the result of a call as the model is shown it. id is "" where the API has none.
type shownResult struct{ id, name, text string }

// answer is what the model says, with the ids of its calls.
type answer struct {
	turn
	number int
	id     string // of the answer, as a provider's: never given twice
	ids    []string
}

// answer says the next turn of the agent that asks. Its last turn stands for all that follow when it failed; after a script that ended
// otherwise, there is nothing to say but "Done."
func (r *run) answer(a asked, body []byte) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	who, script := 0, r.scenario.main.turns
	sub := r.scenario.sub
	if sub != nil && bytes.Contains(body, []byte(sub.system[:strings.IndexByte(sub.system, ' ')])) && !bytes.Contains(body, []byte(r.scenario.main.system)) {
		who, script = 1, sub.turns
		if r.served[1] == 0 {
			for _, want := range r.asked {
				if want.name == sub.name && want.ran == nil {
					ran := r.start(want, json.RawMessage(want.args))
					if told := transfer.Find(body); told != nil && want.id != "" && bytes.Contains(body, []byte(want.id)) {
						text := strings.ReplaceAll(string(told), `\`, "")
						ran.SentToModel = &text
					}
					break
				}
			}
		}
	}
	r.show(a) // the first request of an agent that was handed the conversation tells what its model is shown of the hand-over
	said := turn{text: "Done."}
	if n := r.served[who]; n < len(script) {
		said = script[n]
	}
	text := said.text
	if who == 0 || r.answerTool != nil && bytes.Contains(body, []byte(r.answerTool.Name)) { // an agent below need not answer by it
		said = r.answerTool.turn(said)
	}
	record := modelTurn{Order: len(r.turns), API: a.api, Model: a.model, Stream: a.stream, Status: 200, Text: said.text, Calls: []wantedCall{}}
	if said.fail != 0 {
		record.Status, record.Text = said.fail, ""
		r.failures++
		r.turns = append(r.turns, record)
		return answer{turn: said}
	}
	r.served[who]++
	given := answer{turn: said, number: len(r.turns), id: rand.Text()}
	given.calls = slices.Clone(said.calls)
	for i, c := range said.calls {
		offered := offeredName(c.name, body)
		given.calls[i].name = cmp.Or(offered, c.name)
		id := ""
		if a.idPrefix != "" {
			id = a.idPrefix + rand.Text()[:22]
		}
		given.ids = append(given.ids, id)
		record.Calls = append(record.Calls, wantedCall{id, given.calls[i].name, c.args})
		r.asked = append(r.asked, &askedCall{call: c, offered: offered, id: id, turn: len(r.turns)})
	}
	r.turns = append(r.turns, record)
	if who == 1 && r.served[1] == len(script) {
		for _, ran := range r.executed {
			if ran.Name == sub.name && ran.Result == nil {
				ran.Result = json.RawMessage(quoted(text))
				ran.Completion = r.completed
				r.completed++
			}
		}
	}
	return given
}

// transfer is what the Agents SDK tells a model of a hand-over, also where it hands over the conversation as one text.
var transfer = regexp.MustCompile(`\{\\*"assistant\\*": \\*"[^"\\]+\\*"\}`)

// offeredName is the name under which a request offers a tool of the script, where that is not its own: frameworks put the name of an MCP server before it (mcp__office__look_up), or write it
// in another case (look_up of lookUp, CrewAI). It is "" where the tool is offered as it is called, not at all, or under several names.
func offeredName(name string, body []byte) (offered string) {
	if bytes.Contains(body, []byte(quoted(name))) {
		return ""
	}
	either := `[A-Za-z0-9_.-]+(?:__|[-.:/])` + regexp.QuoteMeta(name)
	if words := strings.Join(regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`).FindAllString(name, -1), "_"); words != "" { // none in another script
		either += "|" + strings.ToLower(words)
	}
	for _, found := range regexp.MustCompile(`"(`+either+`)"`).FindAllSubmatch(body, -1) {
		if offered != "" && offered != string(found[1]) {
			return ""
		}
		offered = string(found[1])
	}
	return offered
}

// settle gives equal calls of one turn the outcomes that the model was shown for them: such calls run at the same time, and are taken in the order in which
// they arrive.
func (r *run) settle(told map[*askedCall]string) {
	shows := func(want *askedCall, ran *toolCall) int {
		outcome := plain(string(ran.Result))
		if ran.Error != nil {
			outcome = plain(*ran.Error)
		}
		if outcome != "" && strings.Contains(plain(told[want]), outcome) {
			return 1
		}
		return 0
	}
	for i, want := range r.asked {
		for _, other := range r.asked[i+1:] {
			if other.turn != want.turn || other.name != want.name || want.ran == nil || other.ran == nil || !same([]byte(want.args), []byte(other.args)) {
				continue
			}
			one, two := want.ran, other.ran
			if shows(want, two)+shows(other, one) > shows(want, one)+shows(other, two) {
				one.Result, two.Result = two.Result, one.Result
				one.Error, two.Error = two.Error, one.Error
				one.Completion, two.Completion = two.Completion, one.Completion
				one.script, two.script = two.script, one.script
			}
		}
	}
}

var escapes = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// plain is what a text says, however it is written: its letters and digits without their case, JSON's null as Python writes it.
func plain(text string) string {
	text = escapes.ReplaceAllStringFunc(text, func(e string) string {
		if n, err := strconv.ParseUint(e[2:], 16, 16); err == nil && e[1] == 'u' {
			return string(rune(n))
		}
		return " "
	})
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text), "null", "none")
}

// show keeps how the results of calls were told to the model.
func (r *run) show(a asked) {
	told := map[*askedCall]string{}
	for _, shown := range a.shown {
		for _, want := range r.asked {
			if _, used := told[want]; used || want.ran == nil || shown.id != want.id || (shown.id == "" && shown.name != want.name && shown.name != want.offered) {
				continue
			}
			told[want] = shown.text
			break
		}
	}
	r.settle(told)
	for want, text := range told {
		if ran := want.ran; ran.SentToModel == nil && !exact(ran.Result, text) && !exact(ran.Result, quoted(text)) {
			ran.SentToModel = &text
		}
	}
}

// start notes that a call runs.
func (r *run) start(want *askedCall, args json.RawMessage) *toolCall {
	ran := &toolCall{Order: len(r.executed), Name: want.name, OfferedName: want.offered, Args: args, Completion: -1, ArgsRaw: want.args, Turn: &want.turn, script: want.call}
	if want.id != "" {
		ran.CallID = &want.id
	}
	if ran.script.result != "" {
		ran.Result = json.RawMessage(ran.script.result)
	}
	want.ran = ran
	r.executed = append(r.executed, ran)
	return ran
}

// execute is a call of a tool: of those with this name that were asked for and did not run, the first of the latest turn that asked for it with these arguments, else the one that
// has most of them in common (what an earlier turn asked for and did not run, the framework dropped), else one that runs again as the last of this name did, or one nobody asked for.
func (r *run) execute(name string, body []byte) *toolCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	args := json.RawMessage(`{}`)
	if json.Valid(body) && len(bytes.TrimSpace(body)) > 0 {
		args = bytes.Clone(body)
	}
	var byName *askedCall
	best := -1
	for _, want := range r.asked {
		if want.name != name || want.ran != nil {
			continue
		}
		if fit := common([]byte(want.args), args); fit > best || fit == best && want.turn > byName.turn {
			byName, best = want, fit
		}
	}
	var ran *toolCall
	switch {
	case byName != nil:
		ran = r.start(byName, args)
	default:
		ran = &toolCall{Order: len(r.executed), Name: name, Args: args, ArgsRaw: string(args)}
		for _, before := range r.executed {
			if before.Name == name {
				ran.script, ran.Result = before.script, before.Result
			}
		}
		if ran.script.name == "" {
			ran.script.err = "no such tool: " + name
		}
		r.executed = append(r.executed, ran)
	}
	if failure := ran.script.err; failure != "" {
		ran.Error, ran.Result = &failure, nil
	}
	return ran
}

func (r *run) complete(ran *toolCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ran.Completion = r.completed
	r.completed++
}

func (r *run) truth(output, failed *string) truth {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := truth{
		Framework: r.group, Scenario: r.scenario.name, User: r.scenario.user, System: r.scenario.main.system, History: append([]message{}, r.scenario.history...),
		Output: output, Status: "ok", Error: failed, Model: r.model, ToolCalls: append([]*toolCall{}, r.executed...), NotExecuted: []wantedCall{},
		Turns: len(r.turns) - r.failures, Failures: r.failures, Log: append([]modelTurn{}, r.turns...), Secrets: []string{},
	}
	if failed != nil {
		t.Status = "error"
	}
	if sub := r.scenario.sub; sub != nil {
		t.Agents = map[string]string{sub.name: sub.system}
		for i, ran := range t.ToolCalls {
			if failed != nil && ran.Name == sub.name && ran.Completion < 0 && ran.Result == nil && ran.Error == nil { // the agent threw what ended the run, and answered nothing
				threw := *ran
				threw.Error = failed
				t.ToolCalls[i] = &threw
			}
		}
	}
	for _, want := range r.asked {
		if want.ran == nil {
			t.NotExecuted = append(t.NotExecuted, wantedCall{want.id, cmp.Or(want.offered, want.name), want.args})
		}
	}
	return t
}

// common counts the members that two JSON objects share; objects that are the same share more than any others. A framework adds those that a model left out.
func common(a, b []byte) (shared int) {
	if same(a, b) {
		return math.MaxInt
	}
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return 0
	}
	for name, value := range x {
		if other, ok := y[name]; ok && same(value, other) {
			shared++
		}
	}
	return shared
}

// same tells whether two JSON texts hold the same value; numbers are compared as a program that reads them as floats sees them.
func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// exact tells whether two JSON texts hold the same value, numbers digit by digit: a runtime that rounds a result shows the model another one.
func exact(a json.RawMessage, b string) bool {
	digits := func(text io.Reader) (value any, err error) {
		decoder := json.NewDecoder(text)
		decoder.UseNumber()
		err = decoder.Decode(&value)
		return value, err
	}
	x, ofA := digits(bytes.NewReader(a))
	y, ofB := digits(strings.NewReader(b))
	return ofA == nil && ofB == nil && reflect.DeepEqual(x, y)
}

func now() int64 { return time.Now().Unix() }
