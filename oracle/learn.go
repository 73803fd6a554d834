// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Proposal is a rule that recordings of one task suggest.
type Proposal struct {
	ToolName string
	Path     string // JSONPath; elements of arrays are not told apart
	As       string // the form, "" to ignore the value
	Sure     bool   // propose it; else Why says what speaks against it
	Why      string
}

// Rule returns the rule that is proposed. It holds for arguments only.
func (p Proposal) Rule() normalise.Rule {
	r := normalise.Rule{Tool: p.ToolName, Path: p.Path, Action: normalise.Ignore, As: p.As, In: normalise.Arguments}
	if p.As != "" {
		r.Action = normalise.Normalise
	}
	return r
}

// Learn proposes rules from several runs of one task. A rule is proposed for values of the arguments that vary although everything else
// agrees, the answer included. A value that has the form of a normaliser is normalised, any other is ignored. A value is not proposed when the answer
// varies with it, or when it tells calls of one run apart. Proposals come by tool and path.
func Learn(runs [][]Entry) []Proposal {
	type toolRuns = [][]*Entry
	tools := map[string]toolRuns{}
	for n, run := range runs {
		for i := range run {
			e := &run[i]
			if e.Args.Len() == 0 || !e.Servable() {
				continue
			}
			if tools[e.ToolName] == nil {
				tools[e.ToolName] = make(toolRuns, len(runs))
			}
			tools[e.ToolName][n] = append(tools[e.ToolName][n], e)
		}
	}
	var all []Proposal
	for _, name := range sortedKeys(tools) {
		all = append(all, learnTool(name, tools[name])...)
	}
	return all
}

// pair is a call in two runs.
type pair struct {
	varying []varying
	alike   bool // the answers
}

// varying is a value that differs between two calls.
type varying struct {
	path string
	a, b exactjson.Value
}

func learnTool(name string, runs [][]*Entry) []Proposal {
	var pairs []pair
	for n := range runs {
		for m := n + 1; m < len(runs); m++ {
			pairs = append(pairs, pairUp(runs[n], runs[m])...)
		}
	}
	// What varies in a pair explains the pair only when each of its values may.
	candidates := map[string]*evidence{}
	for _, p := range pairs {
		for _, v := range p.varying {
			e := candidates[v.path]
			if e == nil {
				e = &evidence{forms: learnedForms}
				candidates[v.path] = e
			}
			e.see(v, p.alike)
		}
	}
	var all []normalise.Rule
	var proposals []Proposal
	for _, path := range sortedKeys(candidates) {
		e := candidates[path]
		p := Proposal{ToolName: name, Path: path, As: e.form(), Why: fmt.Sprintf("varies in %d of %d pairs of calls, the answer does not", e.pairs, len(pairs))}
		switch _, err := normalise.New([]normalise.Rule{p.Rule()}); {
		case err != nil:
			p.Why = "it has no path that a rule could name"
		case e.answers > 0:
			p.Why = fmt.Sprintf("the answer varies with it in %d of %d pairs of calls", e.answers, e.pairs)
		default:
			p.Sure = true
			all = append(all, p.Rule())
		}
		proposals = append(proposals, p)
	}
	if merges(name, runs, Rules{Values: all}) {
		for i := range proposals {
			if proposals[i].Sure {
				proposals[i].Sure, proposals[i].Why = false, "without it calls of one run that had different answers are no longer told apart"
			}
		}
	}
	return proposals
}

// evidence is what is known of the values at a path.
type evidence struct {
	pairs   int
	answers int    // pairs in which the answer varies too
	forms   []form // that explain all the differences
}

func (e *evidence) see(v varying, alike bool) {
	e.pairs++
	if !alike {
		e.answers++
	}
	e.forms = slices.DeleteFunc(slices.Clone(e.forms), func(f form) bool { return !f.explains(v) })
}

func (e *evidence) form() string {
	if len(e.forms) == 0 {
		return ""
	}
	return e.forms[0].name
}

// form is one of normalise.Forms.
type form struct {
	name  string
	rules *normalise.Rules
}

// learnedForms are those that tell enough to be proposed, the most specific first.
var learnedForms = func() []form {
	var all []form
	for _, name := range []string{"uuid", "timestamp", "date", "hex", "request_id"} {
		rules, err := normalise.New([]normalise.Rule{{Path: "$", Action: normalise.Normalise, As: name}})
		if err != nil {
			panic(err) // the table has these
		}
		all = append(all, form{name, rules})
	}
	return all
}()

// explains reports whether two values differ in nothing but what has the form.
func (f form) explains(v varying) bool { return f.of(v.a).Equal(f.of(v.b)) }

func (f form) of(v exactjson.Value) exactjson.Value { return f.rules.Apply("", argsField, v) }

// pairUp finds for each call of one run the call of the other that differs least. Equal calls pair first and say nothing.
func pairUp(a, b []*Entry) []pair {
	const most = 300 // calls of a tool in a run; comparing grows with the square
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	taken := make([]bool, len(b))
	var open []*Entry
	for _, x := range a {
		if i := slices.IndexFunc(b, func(y *Entry) bool { return y.ArgsHash == x.ArgsHash && y.Caller == x.Caller }); i >= 0 && !taken[i] {
			taken[i] = true
			continue
		}
		open = append(open, x)
	}
	var pairs []pair
	for _, x := range open {
		best, least := -1, []varying(nil)
		for i, y := range b {
			if taken[i] || y.Caller != x.Caller {
				continue
			}
			if v, same := varies("$", x.Args, y.Args, nil); same && (best < 0 || unlike(v) < unlike(least) || unlike(v) == unlike(least) && len(v) < len(least)) {
				best, least = i, v
			}
		}
		if n := unlike(least); best < 0 || n > 1 && 2*n > leaves(x.Args) {
			continue // another call, not the same one anew
		}
		taken[best] = true
		pairs = append(pairs, pair{least, answersAlike(x, b[best])})
	}
	return pairs
}

// varies lists the values that differ; same is false when the shapes do.
func varies(path string, a, b exactjson.Value, found []varying) (list []varying, same bool) {
	if a.Kind() == exactjson.Object || a.Kind() == exactjson.Array {
		if a.Kind() != b.Kind() || a.Len() != b.Len() {
			return nil, false
		}
		for i, m := range a.Members() {
			other, below := b.At(i), jsonpath.AppendMember(path, m.Name)
			if a.Kind() == exactjson.Object {
				other = b.Get(m.Name)
			} else {
				below = path + "[*]"
			}
			if found, same = varies(below, m.Value, other, found); !same {
				return nil, false
			}
		}
		return found, true
	}
	switch {
	case a.Equal(b):
		return found, true
	case b.IsAbsent() || b.Len() > 0 || path == "$":
		return nil, false
	default:
		return append(found, varying{path, a, b}), true
	}
}

// answersAlike reports whether two answers are the same but for values of the known forms, such as the time or an echoed id.
func answersAlike(a, b *Entry) bool {
	if sameAnswer(a, b) {
		return true
	}
	x, errX := exactjson.Parse(a.Response)
	y, errY := exactjson.Parse(b.Response)
	if errX != nil || errY != nil || a.IsError != b.IsError {
		return false
	}
	found, same := varies("$", x, y, nil)
	return same && unlike(found) == 0
}

// unlike counts the values that do not even have one form in common.
func unlike(found []varying) int {
	n := 0
	for _, v := range found {
		if !slices.ContainsFunc(learnedForms, func(f form) bool { return f.explains(v) }) {
			n++
		}
	}
	return n
}

// merges reports whether the rules make calls of a tool in one run equal that had different answers.
func merges(tool string, runs [][]*Entry, rules Rules) bool {
	compiled := rules.values(tool)
	if compiled == nil {
		return false
	}
	for _, run := range runs {
		first := map[string]*Entry{}
		for _, e := range run {
			key := strings.Join([]string{e.Caller, Hash(compiled.Apply(tool, argsField, e.Args))}, "\x00")
			switch f := first[key]; {
			case f == nil:
				first[key] = e
			case f.ArgsHash != e.ArgsHash && !answersAlike(f, e):
				return true
			}
		}
	}
	return false
}
