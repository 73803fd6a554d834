// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package normalise

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// Place says who wrote a text. It decides what counts as volatile there.
type Place uint8

// The places.
const (
	// Said is what a person, a model or a recorded tool said. Nothing there is volatile. A name counts only
	// where the renaming has it already.
	Said Place = iota
	// Prompt is what a program writes around a conversation: instructions, descriptions of the environment.
	Prompt
	// Output is the result of a tool that ran in the replay.
	Output
)

// Volatile finds values that differ from run to run although nothing differs: ids, dates and times of the run
// itself, process ids, durations, names of temporary files, addresses. It takes none for another: a Renaming
// has to explain all of them. It is safe for concurrent use.
type Volatile struct {
	// From and To are the time of the recorded run. A date or time is volatile when it lies near the run on
	// its side; any other is content.
	From, To time.Time
	// Now is the clock of the replay; nil is that of the system.
	Now func() time.Time

	mu    sync.Mutex
	known map[string][]atom
	bytes int
}

// timeSlack is how far from a run a date may lie that tells of it: zones differ, and files were written
// before.
const timeSlack = 48 * time.Hour

// Bounds of one text, and of what is kept of texts.
const (
	maxAtoms      = 4096
	maxKnown      = 256
	maxKnownBytes = 16 << 20
	minKnown      = 256 // bytes: shorter texts are read again
)

func (v *Volatile) now() time.Time {
	if v.Now == nil {
		return time.Now()
	}
	return v.Now()
}

func near(t, from, to time.Time) bool {
	if t.Year() == yearless { // the night of the new year lies in two
		return slices.ContainsFunc([]int{from.Year() - 1, from.Year(), to.Year(), to.Year() + 1}, func(year int) bool {
			return year != yearless && near(t.AddDate(year-yearless, 0, 0), from, to)
		})
	}
	return !from.IsZero() && !t.Before(from.Add(-timeSlack)) && !t.After(to.Add(timeSlack))
}

// ofRecorded reports that a time is that of the recorded run, ofLive that it is that of the replay, whose
// clock may be the recorded one.
func (v *Volatile) ofRecorded(t time.Time) bool { return near(t, v.From, later(v.From, v.To)) }

func (v *Volatile) ofLive(t time.Time) bool {
	now := v.now()
	return near(t, now, now) || v.ofRecorded(t)
}

func later(a, b time.Time) time.Time {
	if b.Before(a) {
		return a
	}
	return b
}

// Pair is a volatile value, and what stands in its place in the replay.
type Pair struct {
	Form     string
	Recorded string
	Live     string
	measured bool
}

// same reports that nothing is renamed.
func (p *Pair) same() bool { return p.Recorded == p.Live }

// Text returns the live text with the recorded values in place of the volatile ones, and what was taken for
// what. open lists the ranges of a text that the place holds for, by offsets; nil is all of it. Where one
// value contradicts the renaming, nothing is explained.
func (v *Volatile) Text(p Place, known *Renaming, open func(string) [][2]int, recorded, live string) (string, []Pair) {
	if recorded == live || len(recorded)+len(live) > maxVolatileText {
		return live, nil
	}
	a, b := v.atoms(recorded), v.atoms(live)
	if open != nil {
		a, b = within(a, open(recorded)), within(b, open(live))
	}
	trial := &Renaming{parent: known}
	var pairs []Pair
	out, end := strings.Builder{}, 0
	for _, at := range aligned(recorded, live, a, b) {
		x, y := &a[at[0]], &b[at[1]]
		r, l := recorded[x.from:x.to], live[y.from:y.to]
		pair := Pair{Form: x.form.name, Recorded: r, Live: l, measured: x.form.measured}
		if !v.fits(p, known, x, y, r, l) {
			continue
		}
		if !trial.Take([]Pair{pair}) {
			return live, nil // also what is the same on both sides can contradict
		}
		pairs = append(pairs, pair)
		out.WriteString(live[end:y.from])
		out.WriteString(r)
		end = y.to
	}
	out.WriteString(live[end:])
	explained := out.String()
	if p != Said && open == nil && explained != recorded && reordered(p, recorded, explained) {
		return recorded, append(pairs, Pair{Form: formOrder, Recorded: "one order of a list", Live: "another", measured: true})
	}
	return explained, pairs
}

// maxVolatileText bounds, in bytes, two texts that are compared so.
const maxVolatileText = 2 << 20

// formOrder names a list that stands in another order.
const formOrder = "order"

// Value is Text for values: their texts, those that hold JSON too, and numbers under names that say what they
// are.
func (v *Volatile) Value(p Place, known *Renaming, recorded, live exactjson.Value) (exactjson.Value, []Pair) {
	w := valueWalk{v: v, place: p, trial: &Renaming{parent: known}}
	out := w.value("", recorded, live)
	return out, w.pairs
}

type valueWalk struct {
	v     *Volatile
	place Place
	trial *Renaming
	pairs []Pair
	// redacted says that a member beside the current one holds a token of a redaction.
	redacted bool
}

func (w *valueWalk) take(pairs ...Pair) bool {
	if !w.trial.Take(pairs) {
		return false
	}
	w.pairs = append(w.pairs, pairs...)
	return true
}

func (w *valueWalk) value(name string, r, l exactjson.Value) exactjson.Value {
	switch {
	case r.Kind() == exactjson.String && l.Kind() == exactjson.String:
		if x, y := jsonpath.Decoded(r), jsonpath.Decoded(l); x.Kind() != exactjson.String && x.Kind() == y.Kind() {
			if explained := w.value(name, x, y); explained.Equal(x) {
				return r
			}
			return l
		}
		if r.Str() != l.Str() && w.member(name, r.Str(), l.Str()) {
			return r
		}
		text, pairs := w.v.Text(w.place, w.trial, nil, r.Str(), l.Str())
		if text != l.Str() && w.take(pairs...) {
			return exactjson.StringValue(text)
		}
	case r.Kind() == exactjson.Number && l.Kind() == exactjson.Number:
		if !r.Equal(l) && w.member(name, r.Text(), l.Text()) {
			return r
		}
	case r.Kind() == exactjson.Array && l.Kind() == exactjson.Array && r.Len() == l.Len():
		return l.Map(func(i int, m exactjson.Member) exactjson.Value { return w.value(name, r.At(i), m.Value) })
	case r.Kind() == exactjson.Object && l.Kind() == exactjson.Object:
		before := w.redacted
		defer func() { w.redacted = before }()
		w.redacted = slices.ContainsFunc(r.Members(), func(m exactjson.Member) bool {
			return m.Value.Kind() == exactjson.String && strings.Contains(m.Value.Str(), redactedMark)
		})
		return l.Map(func(_ int, m exactjson.Member) exactjson.Value { return w.value(m.Name, r.Get(m.Name), m.Value) })
	}
	return l
}

// member reads a value of which the name says what it is, as a text says it: session_id, pid, duration_ms.
func (w *valueWalk) member(name, r, l string) bool {
	if name == "" || len(name) > 64 || len(r) > 128 || len(l) > 128 {
		return false
	}
	line := func(s string) string { return strings.ReplaceAll(name, "_", " ") + ": " + s }
	if durationName.MatchString(name) && decimal.MatchString(r) && decimal.MatchString(l) && w.place == Output {
		return w.take(Pair{Form: formDuration, Recorded: r, Live: l, measured: true})
	}
	if w.redacted && sizeName.MatchString(name) && decimal.MatchString(r) && decimal.MatchString(l) && w.place == Output {
		return w.take(Pair{Form: formSize, Recorded: r, Live: l, measured: true})
	}
	text, pairs := w.v.Text(w.place, w.trial, nil, line(r), line(l))
	return text == line(r) && len(pairs) > 0 && w.take(pairs...)
}

var (
	durationName = regexp.MustCompile(`(?i)(?:^|[_-]|[a-z](?:D|E|T))(?:uration|duration|elapsed|lapsed|took|ook|(?:wall|execution|exec|run|response|processing)_?time|latency)(?:$|[_A-Z-])|(?i:_(?:ms|secs?|seconds?))$`)
	decimal      = regexp.MustCompile(`^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$`)
)

// fits reports that a volatile value of the recording may stand for one of the replay.
func (v *Volatile) fits(p Place, known *Renaming, x, y *atom, r, l string) bool {
	switch {
	case r == l:
		return true
	case p == Said:
		return known.has(Pair{Form: x.form.name, Recorded: r, Live: l, measured: x.form.measured})
	case p == Output && x.form.prompt:
		return false // a key, or content that was encoded
	case p != Output && x.form.name == formDuration:
		return false // instructions measure nothing
	case !x.when.IsZero() || !y.when.IsZero():
		return shape(r) == shape(l) && v.ofRecorded(x.when) && v.ofLive(y.when)
	case p == Output && x.form.name == formHex && slices.Contains(digestLengths, len(r)):
		return false // the digest of content
	}
	return x.form.alike == nil || x.form.alike(r, l)
}

// digestLengths are those of MD5, SHA-1 and the SHA-2 family in hexadecimal digits.
var digestLengths = []int{32, 40, 56, 64, 96, 128}

// within keeps the values that lie in one of the ranges.
func within(atoms []atom, ranges [][2]int) (kept []atom) {
	for _, a := range atoms {
		if slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= a.from && a.to <= r[1] }) {
			kept = append(kept, a)
		}
	}
	return kept
}

// maxAligned bounds the table of an alignment.
const maxAligned = 1 << 20

// aligned pairs the values of two texts: by their order where both have the same forms, else so that most of
// them have a partner of the form behind the same words.
func aligned(recorded, live string, a, b []atom) (pairs [][2]int) {
	if len(a) == len(b) && slices.EqualFunc(a, b, func(x, y atom) bool { return x.form == y.form }) {
		for i := range a {
			pairs = append(pairs, [2]int{i, i})
		}
		return pairs
	}
	if len(a)*len(b) > maxAligned {
		return nil
	}
	key := func(text string, x *atom) string {
		const words = 12 // bytes
		return x.form.name + "\x00" + text[max(0, x.from-words, strings.LastIndexByte(text[:x.from], '\n')+1):x.from]
	}
	keysA, keysB := make([]string, len(a)), make([]string, len(b))
	for i := range a {
		keysA[i] = key(recorded, &a[i])
	}
	for j := range b {
		keysB[j] = key(live, &b[j])
	}
	width := len(b) + 1
	most := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if keysA[i] == keysB[j] {
				most[i*width+j] = most[(i+1)*width+j+1] + 1
			} else {
				most[i*width+j] = max(most[(i+1)*width+j], most[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case keysA[i] == keysB[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case most[(i+1)*width+j] >= most[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// maxReordered bounds the lines of a list that may stand in another order.
const maxReordered = 10_000

// reordered reports that two texts differ in the order of a list alone: in lines that name files, or that are
// points of a list where a program describes its environment.
func reordered(p Place, recorded, live string) bool {
	if len(recorded) != len(live) {
		return false
	}
	a, b := strings.Split(recorded, "\n"), strings.Split(live, "\n")
	if len(a) != len(b) {
		return false
	}
	from, to := 0, len(a)
	for from < to && a[from] == b[from] {
		from++
	}
	for to > from && a[to-1] == b[to-1] {
		to--
	}
	a, b = slices.Clone(a[from:to]), slices.Clone(b[from:to])
	if len(a) < 2 || len(a) > maxReordered {
		return false
	}
	of := fileLine
	if p == Prompt {
		of = listLine
	}
	if slices.ContainsFunc(a, func(line string) bool { return !of.MatchString(line) }) {
		return false
	}
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

var (
	fileLine = regexp.MustCompile(`^\s*(?:[-*•├└│─ ]+\s*)?[^\s:]*[/.][^\s:]*(?::\d+(?::.*)?)?\s*$`)
	listLine = regexp.MustCompile(`^\s*(?:[-*•├└│─]+\s*\S.*|[^\s:]*[/.][^\s:]*)\s*$`)
)

// Renaming is what volatile values of a recording are called in a replay: one to one, over all of it. Times
// are measured, not named: they keep their order. The zero value is empty. It is safe for concurrent use. A
// nil *Renaming has nothing.
type Renaming struct {
	parent *Renaming

	mu       sync.Mutex
	live     map[string]string // key of a recorded value → the live one
	recorded map[string]string
	times    map[string][]instant // by the shape of the text
	counts   map[Pair]int         // of what is not the same
}

type instant struct{ recorded, live time.Time }

// Bounds of a renaming.
const (
	maxNames = 1 << 16
	maxTimes = 1 << 11 // of one shape; beyond it the order is not looked at
)

// key makes the spellings of one name alike. Numbers name other things in other forms, everything else is
// what it is.
func (p *Pair) key(value string) string {
	if p.Form == formDate {
		if t, ok := readWhen(value); ok {
			return formDate + "\x00" + t.Format(time.DateOnly)
		}
	}
	if strings.Trim(value, "0123456789") == "" {
		return p.Form + "\x00" + value
	}
	return value
}

// has reports that a pair was taken, or a pair of other spellings of the same names.
func (r *Renaming) has(p Pair) bool {
	if r == nil || p.measured {
		return false
	}
	r.mu.Lock()
	live, known := r.live[p.key(p.Recorded)]
	r.mu.Unlock()
	return known && live == p.key(p.Live) || r.parent.has(p)
}

// contradicts reports that a name has another partner.
func (r *Renaming) contradicts(p *Pair) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.measured {
		a, okA := readWhen(p.Recorded)
		b, okB := readWhen(p.Live)
		return okA && okB && slices.ContainsFunc(r.times[shape(p.Recorded)], func(i instant) bool {
			return i.recorded.Before(a) && i.live.After(b) || i.recorded.After(a) && i.live.Before(b)
		}) || r.parent.contradicts(p)
	}
	recorded, live := p.key(p.Recorded), p.key(p.Live)
	if to, known := r.live[recorded]; known && to != live {
		return true
	}
	if from, known := r.recorded[live]; known && from != recorded {
		return true
	}
	return r.parent.contradicts(p)
}

// Allows reports that pairs, which do not contradict one another, contradict nothing that was taken.
func (r *Renaming) Allows(pairs []Pair) bool {
	for i := range pairs {
		if r.contradicts(&pairs[i]) {
			return false
		}
	}
	return true
}

// Take adds pairs. It reports false, and adds nothing, where one of them contradicts another or what was
// taken before.
func (r *Renaming) Take(pairs []Pair) bool {
	trial := &Renaming{parent: r}
	for i := range pairs {
		if trial.contradicts(&pairs[i]) {
			return false
		}
		trial.add(&pairs[i])
	}
	if r == nil {
		return true
	}
	r.mu.Lock()
	full := len(r.live)+len(pairs) > maxNames
	r.mu.Unlock()
	if full {
		return false
	}
	for i := range pairs {
		r.add(&pairs[i])
	}
	return true
}

func (r *Renaming) add(p *Pair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil {
		r.live, r.recorded, r.times, r.counts = map[string]string{}, map[string]string{}, map[string][]instant{}, map[Pair]int{}
	}
	if !p.same() {
		r.counts[*p]++
	}
	if !p.measured {
		recorded, live := p.key(p.Recorded), p.key(p.Live)
		r.live[recorded], r.recorded[live] = live, recorded
		return
	}
	a, okA := readWhen(p.Recorded)
	b, okB := readWhen(p.Live)
	if of := shape(p.Recorded); okA && okB && len(r.times[of]) < maxTimes {
		r.times[of] = append(r.times[of], instant{a, b})
	}
}

// Pairs lists what was taken for something else, in a fixed order.
func (r *Renaming) Pairs() (list []Pair) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.counts {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Pair) int {
		if c := strings.Compare(a.Form, b.Form); c != 0 {
			return c
		}
		if c := strings.Compare(a.Recorded, b.Recorded); c != 0 {
			return c
		}
		return strings.Compare(a.Live, b.Live)
	})
	return list
}

// Distinct reports a pair of two names that mean nothing else wherever they stand: no date and no number.
func (p *Pair) Distinct() bool {
	return !p.same() && !p.measured && p.Form != formDate && strings.Trim(p.Recorded, "0123456789") != "" && len(p.Recorded) >= minDistinct && len(p.Live) >= minDistinct
}

// minDistinct is how long a name is, in bytes, that stands in no text by chance.
const minDistinct = 8

// Contradicted is the first of some pairs that contradicts what was taken, nil for none.
func (r *Renaming) Contradicted(pairs []Pair) *Pair {
	for i := range pairs {
		if r.contradicts(&pairs[i]) {
			return &pairs[i]
		}
	}
	return nil
}
