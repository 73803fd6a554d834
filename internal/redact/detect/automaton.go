// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/binary"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// matcher is a regular expression that most texts which it is given do not match. Package regexp prepares memory for all of a text before it looks at
// the first byte of it. So an automaton looks first, and ends where nothing can match any more.
type matcher struct {
	*regexp.Regexp
	auto *automaton
}

// newMatcher compiles a pattern. floating: a match may begin anywhere, not only where the text does.
func newMatcher(pattern string, floating bool) *matcher {
	if !floating {
		pattern = `\A(?:` + pattern + `)`
	}
	m := &matcher{Regexp: regexp.MustCompile(pattern)}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return m // regexp has compiled it
	}
	if prog, err := syntax.Compile(parsed.Simplify()); err == nil {
		m.auto = newAutomaton(prog, floating) // nil if it has too many classes
	}
	return m
}

// may is false if the pattern does not match. It returns how many bytes it has looked at.
func (m *matcher) may(s string) (looked int, matches bool) {
	if m.auto == nil {
		return 0, true
	}
	return m.auto.run(s)
}

// automaton is a deterministic automaton of a pattern, whose states are made when a text leads to them. It says whether a text holds a match, not where.
type automaton struct {
	prog     *syntax.Prog
	floating bool
	ascii    [utf8.RuneSelf]uint8 // the classes of characters; those of one class lead from every state to the same one
	bounds   []rune               // where other characters begin that the pattern tells from those before them
	others   []uint8              // their classes
	classes  int                  // the class behind all of them is the end of the text
	start    atomic.Pointer[autoState]

	mu     sync.Mutex
	states map[string]*autoState
	// made counts states, walked the bytes that were looked at in steps that were known. A text that leads to ever new states costs more than it
	// is worth: package regexp is asked then.
	made, walked atomic.Int64
}

const (
	maxAutoStates = 512     // of an automaton; when there are more, all are made anew
	autoCredit    = 4 << 10 // states that may be made anyway
	autoPrice     = 64      // known steps for each state beyond that
)

// autoState is a place between two characters of a text.
type autoState struct {
	at   []uint32                    // the instructions that wait for a character, or for what is to be seen of it, in order
	last rune                        // what stands before: -1 at the begin of the text, else 'a' for a word character, '\n', or ' '
	next []atomic.Pointer[autoState] // by class
}

// autoDead and autoMatch are where a text can lead to no match, and where it has led to one.
var autoDead, autoMatch = &autoState{}, &autoState{}

func newAutomaton(prog *syntax.Prog, floating bool) *automaton {
	a := &automaton{prog: prog, floating: floating, bounds: boundsOf(prog)}
	classes := map[string]uint8{}
	kinds := map[string]bool{}
	var takers []*syntax.Inst // one of each kind: repetitions are spelled out in a program
	for i := range prog.Inst {
		if in := &prog.Inst[i]; takesRune(in) {
			if kind := string(append([]rune{rune(in.Op), rune(in.Arg)}, in.Rune...)); !kinds[kind] {
				kinds[kind] = true
				takers = append(takers, in)
			}
		}
	}
	classOf := func(r rune) uint8 {
		signature := []byte{byte(lastOf(r))}
		for i, in := range takers {
			if in.MatchRune(r) {
				signature = binary.AppendUvarint(signature, uint64(i))
			}
		}
		id, ok := classes[string(signature)]
		if !ok {
			id = uint8(len(classes))
			classes[string(signature)] = id
		}
		return id
	}
	for c := range a.ascii {
		a.ascii[c] = classOf(rune(c))
	}
	for _, r := range a.bounds {
		a.others = append(a.others, classOf(r))
	}
	if a.classes = len(classes); a.classes > math.MaxUint8 {
		return nil
	}
	a.reset()
	return a
}

// boundsOf returns where the characters behind ASCII begin that a program tells from those before them.
func boundsOf(prog *syntax.Prog) []rune {
	bounds := []rune{utf8.RuneSelf}
	for i := range prog.Inst {
		in := &prog.Inst[i]
		if !takesRune(in) {
			continue
		}
		if len(in.Rune) == 1 { // in every case, if it has the flag
			for r := in.Rune[0]; ; {
				bounds = append(bounds, r, r+1)
				if r = unicode.SimpleFold(r); r == in.Rune[0] {
					break
				}
			}
			continue
		}
		for j := 0; j+1 < len(in.Rune); j += 2 {
			bounds = append(bounds, in.Rune[j], in.Rune[j+1]+1)
		}
	}
	slices.Sort(bounds)
	return slices.Compact(slices.DeleteFunc(bounds, func(r rune) bool { return r < utf8.RuneSelf || r > utf8.MaxRune }))
}

// reset forgets all states. Walks that are under way keep theirs.
func (a *automaton) reset() {
	a.states = map[string]*autoState{}
	a.start.Store(a.state([]uint32{uint32(a.prog.Start)}, -1))
}

// lastOf is what a state knows of the character before it.
func lastOf(r rune) rune {
	switch {
	case syntax.IsWordChar(r):
		return 'a'
	case r == '\n':
		return r
	}
	return ' '
}

func takesRune(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// state returns the state with these instructions.
func (a *automaton) state(at []uint32, last rune) *autoState {
	if len(at) == 0 {
		return autoDead
	}
	key := make([]byte, 0, 4*len(at)+1)
	for _, pc := range at {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	key = append(key, byte(last))
	s := a.states[string(key)]
	if s == nil {
		s = &autoState{at: at, last: last, next: make([]atomic.Pointer[autoState], a.classes+1)}
		a.states[string(key)] = s
		a.made.Add(1)
	}
	return s
}

// run says whether s can hold a match, and how many bytes it has looked at to say so.
func (a *automaton) run(s string) (looked int, matches bool) {
	at := a.start.Load()
	fresh := 0 // steps that were not known
	i := 0
	for i < len(s) && at != autoDead && at != autoMatch {
		r, size := rune(s[i]), 1
		var class uint8
		if r < utf8.RuneSelf {
			class = a.ascii[r]
		} else {
			r, size = utf8.DecodeRuneInString(s[i:])
			n, found := slices.BinarySearch(a.bounds, r)
			if !found {
				n--
			}
			class = a.others[n]
		}
		to := at.next[class].Load()
		if to == nil {
			if to = a.step(at, r, int(class)); to == nil {
				return i, true
			}
			fresh++
		}
		at = to
		i += size
	}
	a.walked.Add(int64(i - fresh))
	if at != autoDead && at != autoMatch {
		end := at.next[a.classes].Load()
		if end == nil {
			end = a.step(at, -1, a.classes)
		}
		return i, end == nil || end == autoMatch
	}
	return i, at == autoMatch
}

// step finds out where a character of a class leads to, or the end of the text (-1), and notes it. It returns nil when that costs too much.
func (a *automaton) step(from *autoState, r rune, class int) *autoState {
	if a.made.Load() > autoCredit+a.walked.Load()/autoPrice {
		return nil
	}
	flags := syntax.EmptyOpContext(from.last, r)
	var next []uint32
	seen := make([]bool, 2*len(a.prog.Inst)) // as themselves, and in next
	stack := slices.Clone(from.at)
	to := autoDead
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			to = autoMatch
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				stack = append(stack, in.Out)
			}
		case syntax.InstFail:
		default:
			if ahead := &seen[len(a.prog.Inst)+int(in.Out)]; r >= 0 && !*ahead && in.MatchRune(r) {
				*ahead = true
				next = append(next, in.Out)
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if to != autoMatch && r >= 0 {
		if start := a.prog.Start; a.floating && !seen[len(a.prog.Inst)+start] {
			next = append(next, uint32(start))
		}
		slices.Sort(next)
		if len(a.states) >= maxAutoStates {
			a.reset()
		}
		to = a.state(next, lastOf(r))
	}
	from.next[class].Store(to)
	return to
}
