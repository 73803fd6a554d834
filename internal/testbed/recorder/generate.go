// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// generated returns count scenarios that nobody wrote: tools, arguments, results, errors, texts, turns, histories, agents below, streams, limits and failures are
// drawn, each scenario from its own number, so the same seed and number give the same script. They are what a reader that was tuned on the written scenarios has not seen.
func generated(seed uint64, count int) []scenario {
	made := make([]scenario, 0, count)
	for i := range count {
		g := generator{rand.New(rand.NewPCG(seed, uint64(i)))}
		made = append(made, g.scenario(fmt.Sprintf("gen_%d_%02d", seed, i)))
	}
	return made
}

type generator struct{ *rand.Rand }

// one tells whether a thing that happens once in n times happens.
func (g generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g generator, of []T) T { return of[g.IntN(len(of))] }

var (
	nouns = strings.Fields("order parcel ticket account shelf recipe flight sensor branch bucket lecture garden tariff vessel contract ledger patient queue region sample")
	verbs = strings.Fields("get find list create update close move check count fetch open publish remove rename sort verify")
	words = strings.Fields("the of and late blue north harbour seven ready never almost before customer because invoice delayed warm engine letter bridge result again " +
		"forty-two Zürich naïve 東京 кабель 🙂 e.g. 3.14 50% A/B it's o'clock (draft) done")
	keys = strings.Fields("id name state total items note ref-no price_eur createdAt ok error output content result type Wert 鍵")
)

func (g generator) phrase(least, most int) string {
	out := make([]string, least+g.IntN(most-least+1))
	for i := range out {
		out[i] = pick(g, words)
	}
	return strings.Join(out, " ")
}

// prose is a text that a person or a model writes: never empty, without blanks around it.
func (g generator) prose() string {
	switch g.IntN(14) {
	case 0:
		return "# " + g.phrase(1, 3) + "\n\n- " + g.phrase(1, 4) + "\n- **" + g.phrase(1, 2) + "**\n\n```\n" + g.phrase(2, 5) + "\n```"
	case 1:
		return string(g.object(1))
	case 2:
		return "He said \"" + g.phrase(2, 4) + "\" and 'left' \\ " + g.phrase(1, 3) + "."
	case 3:
		return "<answer lang=\"en\">" + g.phrase(2, 6) + " & more</answer>"
	case 4:
		return fmt.Sprint(g.IntN(100_000))
	case 5:
		return strings.TrimSpace(strings.Repeat(g.phrase(8, 16)+".\n", 20+g.IntN(60)))
	case 6:
		return g.phrase(3, 6) + ":\n\n  " + g.phrase(2, 4) + "\n\t" + g.phrase(2, 4)
	default:
		return g.phrase(4, 14) + pick(g, []string{".", "?", "!", ""})
	}
}

// scalar is a JSON value of a type of JSON Schema.
func (g generator) scalar(kind string) json.RawMessage {
	switch kind {
	case "integer":
		return json.RawMessage(fmt.Sprint(g.IntN(2000) - 500))
	case "number":
		return json.RawMessage(fmt.Sprintf("%d.%d", g.IntN(90), 1+2*g.IntN(4)))
	case "boolean":
		return json.RawMessage(pick(g, []string{"true", "false"}))
	case "array":
		list := make([]string, g.IntN(4))
		for i := range list {
			list[i] = quoted(g.phrase(1, 2))
		}
		return json.RawMessage("[" + strings.Join(list, ", ") + "]")
	case "object":
		return g.object(2)
	default:
		if g.one(6) {
			return json.RawMessage(quoted(g.prose()))
		}
		return json.RawMessage(quoted(g.phrase(1, 4)))
	}
}

// object is a JSON object with values as deep as depth.
func (g generator) object(depth int) json.RawMessage {
	members := make([]string, 0, 5)
	for _, at := range g.Perm(len(keys))[:g.IntN(5)] {
		value := g.scalar(pick(g, []string{"string", "string", "integer", "number", "boolean", "array"}))
		switch {
		case g.one(8):
			value = json.RawMessage("null")
		case depth > 0 && g.one(4):
			value = g.object(depth - 1)
		case depth > 0 && g.one(6):
			value = json.RawMessage("[" + string(g.object(depth-1)) + ", " + string(g.object(depth-1)) + "]")
		}
		members = append(members, quoted(keys[at])+": "+string(value))
	}
	return json.RawMessage("{" + strings.Join(members, ", ") + "}")
}

// result is what a tool returns, as JSON.
func (g generator) result() string {
	switch g.IntN(10) {
	case 0:
		return quoted(g.prose())
	case 1:
		return quoted(string(g.object(2)))
	case 2:
		return string(g.scalar(pick(g, []string{"integer", "number", "boolean"})))
	case 3:
		return "[" + string(g.object(1)) + ", " + string(g.object(1)) + "]"
	case 4:
		return string(g.scalar("array"))
	case 5:
		return pick(g, []string{"null", `""`, "{}", "[]"})
	case 6:
		return quoted(g.phrase(1, 3))
	default:
		return string(g.object(2))
	}
}

// parameter is an argument of a generated tool.
type parameter struct {
	name, kind string
	optional   bool
}

// madeTool is a generated tool with what its calls need.
type madeTool struct {
	tool
	parameters []parameter
}

func (g generator) tool(name string) madeTool {
	t := madeTool{tool: tool{Name: name, Description: g.phrase(2, 8) + "."}}
	properties, required := []string{}, []string{}
	for _, at := range g.Perm(len(nouns))[:g.IntN(4)] {
		p := parameter{nouns[at] + pick(g, []string{"", "_id", "Name"}), pick(g, []string{"string", "string", "string", "integer", "number", "boolean", "array", "object"}), g.one(6)}
		t.parameters = append(t.parameters, p)
		extra := ""
		switch p.kind {
		case "array":
			extra = `,"items":{"type":"string"}`
		case "object":
			extra = `,"additionalProperties":true`
		}
		properties = append(properties, quoted(p.name)+`:{"type":`+quoted(p.kind)+extra+`}`)
		if !p.optional {
			required = append(required, p.name)
		}
	}
	t.Parameters = object(strings.Join(properties, ","), required...)
	return t
}

// call is one call of a tool, with its arguments as a model might write them.
func (g generator) call(t madeTool) call {
	colon, comma := ": ", ", "
	if g.one(2) {
		colon, comma = ":", ","
	}
	members := []string{}
	for _, at := range g.Perm(len(t.parameters)) {
		p := t.parameters[at]
		if p.optional && g.one(2) {
			continue
		}
		members = append(members, quoted(p.name)+colon+string(g.scalar(p.kind)))
	}
	c := call{name: t.Name, args: "{" + strings.Join(members, comma) + "}", takes: ms(g.IntN(3) * 20)}
	if g.one(8) {
		c.err = pick(g, []string{g.prose(), "HTTP 500: " + string(g.object(1)), g.phrase(2, 5) + " failed", "timeout"})
	} else {
		c.result = g.result()
	}
	return c
}

// agent draws what an agent is given and what its model says: as many turns with calls as turns, and a last text.
func (g generator) agent(system string, tools []madeTool, turns int) agent {
	a := agent{system: system}
	for _, t := range tools {
		a.tools = append(a.tools, t.tool)
	}
	var before []call
	for range turns {
		if len(tools) == 0 {
			break
		}
		var said turn
		if g.one(3) {
			said.text = g.prose()
		}
		for range 1 + max(0, g.IntN(5)-2) {
			c := g.call(pick(g, tools))
			if len(before) > 0 && g.one(4) { // the same again: another try, or another state
				c.name, c.args = before[len(before)-1].name, before[len(before)-1].args
			}
			if len(before) > 0 && c.err == "" && g.one(8) { // another call that says the same
				if same := pick(g, before); same.err == "" {
					c.result = same.result
				}
			}
			before = append(before, c)
			said.calls = append(said.calls, c)
		}
		a.turns = append(a.turns, said)
	}
	last := turn{text: g.prose()}
	if len(before) > 0 && g.one(10) { // what the last tool said is the answer
		var text string
		if json.Unmarshal([]byte(before[len(before)-1].result), &text) == nil && strings.TrimSpace(text) != "" {
			last.text = text
		}
	}
	a.turns = append(a.turns, last)
	return a
}

func (g generator) scenario(name string) scenario {
	var tools []madeTool
	taken := g.Perm(len(nouns))
	for i := range g.IntN(5) {
		toolName := pick(g, verbs) + "_" + nouns[taken[i]]
		if g.one(4) {
			toolName = pick(g, verbs) + strings.ToUpper(nouns[taken[i]][:1]) + nouns[taken[i]][1:]
		}
		tools = append(tools, g.tool(toolName))
	}
	s := scenario{name: name, user: g.prose(), stream: g.one(3), main: g.agent("[main] You are the "+pick(g, nouns)+" agent. "+g.prose(), tools, g.IntN(6))}
	for range max(0, g.IntN(5)-2) {
		s.history = append(s.history, message{"user", g.prose()}, message{"assistant", g.prose()})
	}
	if len(s.history) > 0 && g.one(3) {
		s.user = s.history[0].Content // asked again
	}
	switch g.IntN(12) {
	case 0, 1:
		below := []madeTool{g.tool("inspect_" + nouns[taken[len(taken)-1]])}
		s.sub = &subagent{name: pick(g, nouns) + "_expert", description: g.phrase(3, 8) + ".", agent: g.agent("[expert] You are the expert. "+g.prose(), below, g.IntN(3))}
		asks := call{name: s.sub.name, args: `{"question": ` + quoted(g.prose()) + `}`}
		s.main.turns = append([]turn{{calls: []call{asks}}}, s.main.turns...)
	case 2:
		at := g.IntN(len(s.main.turns))
		s.main.turns = append(s.main.turns[:at:at], turn{fail: 400})
	case 3:
		if steps := len(s.main.turns) - 1; steps > 1 {
			s.maxSteps = 1 + g.IntN(steps-1)
		}
	case 4:
		never := turn{calls: []call{{name: "launch_" + pick(g, nouns), args: string(g.object(1))}}}
		s.main.turns = append([]turn{never}, s.main.turns...)
	}
	return s
}
