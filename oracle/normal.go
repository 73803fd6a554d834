// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Normal is the form in which recorded values and live ones are compared. Both sides go through it, and are
// compared once: verified tokens stand in place of what was redacted, what merely carries a result is taken
// off, the rules are applied, volatile values have their recorded names, and white space counts as one space.
type Normal struct {
	Rules    *normalise.Rules
	Verifier TokenVerifier       // nil: tokens stand for nothing
	Volatile *normalise.Volatile // nil: nothing is volatile
}

// Tolerance is a set of ways in which values agree that are not equal.
type Tolerance uint8

// The tolerances. The later ones are given up first: what is needed has none that is not.
const (
	NeedsTokens Tolerance = 1 << iota
	NeedsRules
	NeedsSpacing
	NeedsForm // an envelope, another encoding
	NeedsVolatile

	allTolerances = NeedsTokens | NeedsRules | NeedsSpacing | NeedsForm | NeedsVolatile
)

// Compared are two values, and what they belong to.
type Compared struct {
	Tool, Field    string // as the rules name them
	Recorded, Live exactjson.Value
	Result         bool // of a tool: it may have another form
	Lines          bool // white space counts, but at the ends of lines
	Place          normalise.Place
	Known          *normalise.Renaming
	Open           func(text string) [][2]int // of texts, the ranges that the place holds for; nil: all
}

// Agreement is what came of a comparison.
type Agreement struct {
	Agrees bool
	Cut    bool             // the live value is the beginning of the recorded one
	Needs  Tolerance        // of values that agree
	Pairs  []normalise.Pair // what the renaming has to take, with NeedsVolatile
	// Recorded and Live are the values in the normal form, of values that do not agree.
	Recorded, Live exactjson.Value
}

// Agree compares two values.
func (n *Normal) Agree(c Compared) Agreement {
	if sameValue(c.Recorded, c.Live) {
		return Agreement{Agrees: true}
	}
	use := n.possible(&c)
	a := n.under(use, &c)
	if !a.Agrees {
		return a
	}
	for drop := allTolerances + 1; drop > 1; {
		drop >>= 1
		if use&drop == 0 {
			continue
		}
		if less := n.under(use&^drop, &c); less.Agrees {
			use, a = use&^drop, less
		}
	}
	a.Needs = use
	return a
}

// possible are the tolerances that can make a difference.
func (n *Normal) possible(c *Compared) (use Tolerance) {
	use = NeedsSpacing
	if holdsToken(c.Recorded, false) || holdsToken(c.Live, false) {
		use |= NeedsTokens
	}
	if n.Rules != nil {
		use |= NeedsRules
	}
	if c.Result {
		use |= NeedsForm
	}
	if n.Volatile != nil {
		use |= NeedsVolatile
	}
	return use
}

// under compares with some tolerances.
func (n *Normal) under(use Tolerance, c *Compared) Agreement {
	r, l := c.Recorded, c.Live
	rules := func() {
		if use&NeedsRules != 0 {
			r, l = n.Rules.Apply(c.Tool, c.Field, r), n.Rules.Apply(c.Tool, c.Field, l)
		}
	}
	tokens := func() {
		if use&NeedsTokens != 0 {
			m := tokenMatch{verifier: n.Verifier, left: maxCandidates}
			l = m.fold(r, l, maxTextLayers)
			own := tokenMatch{verifier: asterisks{}, left: maxCandidates}
			r = own.fold(l, r, maxTextLayers)
		}
	}
	tokens()
	rules()
	if use&NeedsForm != 0 {
		if x, y := plain(r), plain(l); !x.Equal(r) || !y.Equal(l) {
			r, l = x, y
			tokens()
			rules()
		}
	}
	var pairs []normalise.Pair
	if use&NeedsVolatile != 0 {
		if c.Open != nil && r.Kind() == exactjson.String && l.Kind() == exactjson.String {
			var text string
			text, pairs = n.Volatile.Text(c.Place, c.Known, c.Open, r.Str(), l.Str())
			l = exactjson.StringValue(text)
		} else {
			l, pairs = n.Volatile.Value(c.Place, c.Known, r, l)
		}
	}
	cut := cutShort(textOf(c.Recorded), textOf(c.Live)) || cutShort(textOf(r), textOf(l))
	same := sameValue(r, l) || use&NeedsSpacing != 0 && sameButSpaces(r, l, c.Lines) ||
		use&NeedsForm != 0 && !cut && (n.Verifier == nil || tokensIn(l, r) && tokensIn(r, l)) && SameAnswer(r, l)
	return Agreement{Agrees: same, Cut: cut, Pairs: pairs, Recorded: r, Live: l}
}

// tokensIn reports that a value holds each token of another. SameAnswer takes a token for any words; with the
// key it is known what it stands for.
func tokensIn(v, of exactjson.Value) bool {
	text := textOf(v)
	return !slices.ContainsFunc(tokenForm.FindAllString(textOf(of), -1), func(token string) bool { return !strings.Contains(text, token) })
}

// sameButSpaces reports that two values differ in white space alone: in one that separates words, or with
// lines in that at their ends, for indentation tells code apart.
func sameButSpaces(a, b exactjson.Value, lines bool) bool {
	if !lines {
		return slices.Equal(strings.Fields(textOf(a)), strings.Fields(textOf(b)))
	}
	return trimmedLines(a).Equal(trimmedLines(b))
}

func trimmedLines(v exactjson.Value) exactjson.Value {
	switch v.Kind() {
	case exactjson.String:
		lines := strings.Split(strings.TrimRight(v.Str(), " \t\r\n"), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " \t\r")
		}
		return exactjson.StringValue(strings.Join(lines, "\n"))
	case exactjson.Array, exactjson.Object:
		return v.Map(func(_ int, m exactjson.Member) exactjson.Value { return trimmedLines(m.Value) })
	}
	return v
}

// asterisks verifies what a program puts in place of a secret that it finds. Where it reads a token instead,
// as in a copy of files, it finds none.
type asterisks struct{}

func (asterisks) VerifyToken(_, text string) bool {
	return len(text) >= 3 && strings.Trim(text, "*") == ""
}

// cutShort reports that live is the beginning of what the model was shown: an agent that loses the rest does
// something else.
func cutShort(shown, live string) bool {
	live = strings.TrimRight(live, " .…\n")
	return live != "" && len(live) < len(strings.TrimRight(shown, " .…\n")) && strings.HasPrefix(shown, live)
}

// sameValue compares JSON and text that holds JSON alike: what one side carries as a value the other carries
// as text.
func sameValue(a, b exactjson.Value) bool {
	if a.Equal(b) {
		return true
	}
	if (a.Kind() == exactjson.String) == (b.Kind() == exactjson.String) {
		return false
	}
	return Hash(parsedText(a)) == Hash(parsedText(b))
}

func parsedText(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String {
		if inner, err := exactjson.Parse(v.Str()); err == nil {
			return inner
		}
	}
	return v
}

func textOf(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	return v.JSON()
}

// fold returns the live value with the tokens of the recorded one in the places of what they stand for,
// whatever else differs between the two.
func (m *tokenMatch) fold(recorded, live exactjson.Value, layers int) exactjson.Value {
	if recorded.Equal(live) || !holdsToken(recorded, false) {
		return live
	}
	if m.value(recorded, live, maxTextLayers) == verified {
		return recorded
	}
	switch {
	case recorded.Kind() == exactjson.String && live.Kind() == exactjson.String:
		if text := m.foldText(recorded.Str(), live.Str()); text != live.Str() {
			return exactjson.StringValue(text)
		}
		if x, y := jsonpath.Decoded(recorded), jsonpath.Decoded(live); layers > 0 && x.Kind() != exactjson.String && x.Kind() == y.Kind() {
			if folded := m.fold(x, y, layers-1); !folded.Equal(y) {
				return exactjson.StringValue(folded.JSON())
			}
		}
	case recorded.Kind() == exactjson.Array && live.Kind() == exactjson.Array && recorded.Len() == live.Len():
		return live.Map(func(i int, l exactjson.Member) exactjson.Value { return m.fold(recorded.At(i), l.Value, layers) })
	case recorded.Kind() == exactjson.Object && live.Kind() == exactjson.Object:
		return live.Map(func(_ int, l exactjson.Member) exactjson.Value { return m.fold(recorded.Get(l.Name), l.Value, layers) })
	case recorded.Kind() == exactjson.String && live.Kind() != exactjson.String && layers > 0:
		if x := jsonpath.Decoded(recorded); x.Kind() == live.Kind() {
			return m.fold(x, live, layers-1)
		}
	case live.Kind() == exactjson.String && layers > 0:
		if y := jsonpath.Decoded(live); y.Kind() == recorded.Kind() {
			return m.fold(recorded, y, layers-1)
		}
	}
	return live
}

// foldText puts the tokens of a recorded text into a live one, in order: where what stands around a token
// stands in the live text too, and the token stands for what is between.
func (m *tokenMatch) foldText(recorded, live string) string {
	if m.verifier == nil || len(recorded)+len(live) > maxFolded {
		return live
	}
	at := tokenForm.FindAllStringIndex(recorded, -1)
	var out strings.Builder
	end := 0
	for i, t := range at {
		from, to := 0, len(recorded)
		if i > 0 {
			from = at[i-1][1]
		}
		if i+1 < len(at) {
			to = at[i+1][0]
		}
		start, stop, found := m.place(recorded[t[0]:t[1]], recorded[from:t[0]], recorded[t[1]:to], live, end)
		if found {
			out.WriteString(live[end:start])
			out.WriteString(recorded[t[0]:t[1]])
			end = stop
		}
	}
	out.WriteString(live[end:])
	return out.String()
}

// Bounds of a search for what tokens stand for, in bytes and in ends that are tried of one beginning.
const (
	maxFolded  = 4 << 20
	maxContext = 48
	maxSecret  = 4096
	maxEnds    = 8
)

// place finds what a token stands for behind an offset of a live text.
func (m *tokenMatch) place(token, before, after, live string, from int) (start, stop int, found bool) {
	for _, left := range []string{before[max(0, len(before)-maxContext):], before[strings.LastIndexAny(before, " \t\r\n0123456789")+1:]} {
		for at := from; at <= len(live); {
			next := begins(live, left, at, from, before == "")
			if next < 0 {
				break
			}
			for _, right := range []string{after[:min(len(after), maxContext)], firstWord(after)} {
				if stop, found := m.ends(token, live, next, right, after == ""); found {
					return next, stop, true
				}
			}
			if m.left < 0 {
				return 0, 0, false
			}
			at = next + 1
		}
	}
	return 0, 0, false
}

// firstWord is what stands at the beginning of a text up to white space or a digit.
func firstWord(text string) string {
	if end := strings.IndexAny(text, " \t\r\n0123456789"); end >= 0 {
		return text[:end]
	}
	return text
}

// begins is the next place behind left at or behind an offset; without one, behind white space. only says
// that nothing can stand between the offset and the token.
func begins(live, left string, at, from int, only bool) int {
	switch {
	case left != "":
		since := max(from, at-len(left))
		if next := strings.Index(live[since:], left); next >= 0 {
			return since + next + len(left)
		}
		return -1
	case only && at == from:
		return at
	case only:
		return -1
	}
	for ; at <= len(live); at++ {
		if at == 0 || strings.ContainsRune(" \t\r\n", rune(live[at-1])) {
			return at
		}
	}
	return -1
}

// ends tries the places at which what a token stands for may end: before right, or before white space.
func (m *tokenMatch) ends(token, live string, start int, right string, last bool) (int, bool) {
	if last && right == "" {
		return len(live), m.token(token, live[start:]) == verified
	}
	at := start + 1
	for range maxEnds {
		if at > len(live) || at-start > maxSecret {
			return 0, false
		}
		next := -1
		if right != "" {
			next = strings.Index(live[at:], right)
		} else if next = strings.IndexAny(live[at:], " \t\r\n"); next < 0 {
			next = len(live) - at
		}
		if next < 0 || at+next-start > maxSecret {
			return 0, false
		}
		if m.token(token, live[start:at+next]) == verified {
			return at + next, true
		}
		at += next + 1
	}
	return 0, false
}
