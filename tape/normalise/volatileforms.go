// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package normalise

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// volatileForm is a form that programs write around a conversation and that is another in each run.
type volatileForm struct {
	name    string
	meaning string
	find    *regexp.Regexp // within one line; where it has a group, that is the value
	// prompt forms are content in a result.
	prompt bool
	// measured values are not names: equal ones may differ in another run.
	measured bool
	// when reads the time that a value tells; nil: none.
	when func(string) (time.Time, bool)
	// holds says more about a value than the expression; nil: nothing.
	holds func(string) bool
	// beside is what the text must hold too.
	beside string
	// alike says which value may stand for which; nil: any of the form.
	alike func(a, b string) bool
}

// Names of forms that other functions know.
const (
	formDate     = "date"
	formDuration = "duration"
	formHex      = "hex id"
	formID       = "id"
	formSize     = "size of a redacted text"
)

const (
	weekdays = `(?:(?:Mon|Tue|Tues|Wed|Wednes|Thu|Thurs|Fri|Sat|Satur|Sun)(?:day)?\b,? )?`
	months   = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t|tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)`
	dayYear  = `(?:` + months + ` {1,2}\d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})|\d{1,2}\.? ` + months + `,? \d{4})`
	clock    = `\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\b\.?)?`
	zone     = `(?: ?(?:Z\b|[+-]\d{2}:?\d{2}\b|[A-Z]{3,4}\b(?:[+-]\d{1,4})?))?(?: \([A-Z][A-Za-z ]{2,40}\))?`
)

// redactedMark begins a token or a mask of a redaction.
const redactedMark = "[REDACTED"

// sizeName is the name of a member that counts what a text beside it holds.
var sizeName = regexp.MustCompile(`(?i)(?:size|length|bytes|chars|characters|tokens|token_?count)$`)

// volatileForms are tried in this order; what one of them finds is no other.
var volatileForms = []*volatileForm{
	{name: "time", meaning: "a date with a time of day, near the run: ISO 8601, `Fri Nov 27 21:49:37 UTC 2026`, `Nov 27 21:49`, `20261127-214937`", measured: true, when: readWhen, find: regexp.MustCompile(
		`\b\d{4}-\d{2}-\d{2}[T _]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?` + zone + `|\b20\d{6}[T_-]?\d{6}Z?\b|\b20\d{2}-\d{2}-\d{2}[T_-]\d{2}-\d{2}(?:-\d{2})?\b` +
			`|\b` + weekdays + dayYear + `,?(?: at)? ` + clock + zone + `|\b\d{1,2}/\d{1,2}/\d{4},? ` + clock + zone +
			`|\b` + weekdays + months + ` {1,2}\d{1,2} ` + clock + zone + `(?: \d{4}\b)?`)},
	{name: formDate, meaning: "a date, near the run: `2026-11-27`, `Friday, November 27, 2026`, `Fri Nov 27 2026`, `11/27/2026`", when: readWhen, find: regexp.MustCompile(
		`\b\d{4}-\d{2}-\d{2}\b|\b\d{4}/\d{2}/\d{2}\b|\b` + weekdays + dayYear + `\b|\b\d{1,2}/\d{1,2}/\d{4}\b`)},
	{name: "uuid", meaning: "a UUID", find: forms[slices.IndexFunc(forms, func(f form) bool { return f.name == "uuid" })].text},
	{name: "epoch", meaning: "s, ms, µs or ns since 1970, near the run", measured: true, when: readEpoch, alike: sameLength, find: regexp.MustCompile(`\b[1-9]\d{9}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?\b`)},
	{name: "port", meaning: "a port of loopback", find: regexp.MustCompile(`(?:\b127\.0\.0\.1|\blocalhost|\[::1\]|\b0\.0\.0\.0):(\d{2,5})\b`)},
	{name: "temporary path", meaning: "the random name below `/tmp` and the like", holds: randomName, alike: alikeNames, find: regexp.MustCompile(
		`(?:/tmp|/dev/shm|/var/folders/[^/\s]{1,16}/[^/\s]{1,64}/[A-Z]|\\Temp)[/\\](?:pytest-of-[A-Za-z0-9_.-]{1,64}[/\\])?([A-Za-z0-9_.-]{3,96})`)},
	{name: "process id", meaning: "a number behind `pid`, `PGID`, `process id`, `/proc/` or `[1]`", find: regexp.MustCompile(
		`(?i:\b(?:p|pp|pg|t)id|\bprocess(?: group)?(?: id)?(?: pgid)?)["'` + "`" + `]?(?: ?[:=#] ?| )["'` + "`" + `(]?(\d{1,8})\b|/proc/(\d{1,8})\b|^\[\d{1,3}\] (\d{1,8})$`)},
	{name: formDuration, meaning: "how long something took, in a result: `Wall time: 0.01 seconds`, `took 35 ms`, `in 0.12s`, `real 0m0.003s`", measured: true, find: regexp.MustCompile(
		`(?i:\b(?:wall[ _]?time|elapsed(?: time)?|took|duration|finished in|done in|completed in|ran in|time taken|real|user|sys)\b["']?[ :=\t]{1,8}["'(]?)(\d{1,9}(?:\.\d{1,9})?(?:m\d{1,2}\.\d{1,9}s| ?(?:ns|µs|us|ms|s|secs?|seconds?|m|min|minutes?)\b)?)` +
			`|\bin (\d{1,6}\.\d{1,9} ?(?:ns|µs|us|ms|s|secs?|seconds?)\b)|\((\d{1,9}(?:\.\d{1,9})? ?ms)\)`)},
	{name: formSize, meaning: "a count of tokens, characters or bytes, in a text that holds tokens of a redaction, or beside one: `token count: 49`, `file_size`", measured: true, beside: redactedMark, find: regexp.MustCompile(
		`(?i:\b(?:token|char|character|byte)s?[ _]count\b["']?[ :=]{1,3})(\d{1,12})\b|\b(\d{1,12}) (?i:tokens|chars|characters|bytes)\b`)},
	{name: "address", meaning: "an address in memory, `0x7f3a10`", find: regexp.MustCompile(`\b0x[0-9a-fA-F]{6,16}\b`)},
	{name: formID, meaning: "what stands behind `session id`, `chunk id` and the like, with a digit, and behind `req_`, `msg_`, `call_` and the like; where the environment is described also 20 or more letters and digits", holds: isID, alike: alikeIDs, find: regexp.MustCompile(
		`(?i:\b(?:chunk|session|run|task|trace|span|request|response|thread|turn|job|shell|terminal|container|conversation|message|call|prompt|build|instance|cell|execution|invocation|correlation|device|agent|your)[ _-]?id)["'` + "`" + `]?(?: ?[:=] ?| is | )["'` + "`" + `<(]?([A-Za-z0-9][A-Za-z0-9_-]{1,79})\b`)},
	{name: "commit", meaning: "the id of a commit: behind `commit` or a branch in brackets, and at the beginning of a line of a log", alike: alikeCommits, find: regexp.MustCompile(
		`^[*|\\/ ]{0,8}([0-9a-f]{7,12}) \S|\[[\w./-]{1,80}(?: \(root-commit\))? ([0-9a-f]{7,40})\]|\b(?:commit|HEAD is now at) ([0-9a-f]{7,40})\b`)},
	{name: formHex, meaning: "7 or more hexadecimal digits, of both kinds; in a result none as long as a digest", holds: mixedHex, alike: sameLength, find: regexp.MustCompile(`\b(?:[0-9a-f]{7,128}|[0-9A-F]{7,128})\b`)},
	{name: formID, holds: isID, alike: alikeIDs, find: regexp.MustCompile(`\b(?:req|resp|msg|call|toolu|chatcmpl|cmpl|run|thread|ses|sess|session|task|job|step|evt|event|item|part|prt|trace|span|fc|conv|agent)[_-][A-Za-z0-9]{8,80}\b`)},
	{name: formID, holds: isID, alike: alikeIDs, prompt: true, find: regexp.MustCompile(`\b[A-Za-z]{2,12}[_-][A-Za-z0-9]{12,80}\b|\b[A-Za-z0-9]{20,80}\b`)},
}

// VolatileTable is the table of volatile forms as Markdown, for the documents.
func VolatileTable() string {
	table := "| form | |\n|---|---|\n"
	for _, f := range volatileForms {
		if f.meaning == "" { // that of the form of this name
			continue
		}
		table += "| " + f.name + " | " + f.meaning + " |\n"
	}
	return table + "| " + formOrder + " | lines that name files, and points of a list where the environment is described, in another order |\n"
}

// atom is a value of a volatile form within a text.
type atom struct {
	form     *volatileForm
	from, to int
	when     time.Time
}

// atoms finds the volatile values of a text, in order. What it finds of long texts is kept.
func (v *Volatile) atoms(text string) []atom {
	if len(text) < minKnown {
		return findAtoms(text)
	}
	v.mu.Lock()
	found, known := v.known[text]
	v.mu.Unlock()
	if known {
		return found
	}
	found = findAtoms(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil || len(v.known) >= maxKnown || v.bytes+len(text) > maxKnownBytes {
		v.known, v.bytes = map[string][]atom{}, 0
	}
	v.known[text] = found
	v.bytes += len(text)
	return found
}

func findAtoms(text string) (found []atom) {
	for from := 0; from < len(text) && len(found) < maxAtoms; {
		to := len(text)
		if end := strings.IndexByte(text[from:], '\n'); end >= 0 {
			to = from + end
		}
		found = lineAtoms(found, text, from, to)
		from = to + 1
	}
	return found
}

// maxVolatileLine bounds, in bytes, a line that is looked at.
const maxVolatileLine = 1 << 16

func lineAtoms(found []atom, text string, from, to int) []atom {
	line := text[from:to]
	if len(line) > maxVolatileLine || !strings.ContainsAny(line, "0123456789") && !strings.Contains(line, "/tmp") {
		return found
	}
	first := len(found)
	for _, f := range volatileForms {
		if f.beside != "" && !strings.Contains(text, f.beside) {
			continue
		}
		for _, m := range f.find.FindAllStringSubmatchIndex(line, maxAtoms) {
			a := atom{form: f, from: from + m[0], to: from + m[1]}
			for g := 2; g < len(m); g += 2 {
				if m[g] >= 0 {
					a.from, a.to = from+m[g], from+m[g+1]
				}
			}
			value, ok := text[a.from:a.to], true
			if f.holds != nil && !f.holds(value) || slices.ContainsFunc(found[first:], func(b atom) bool { return a.from < b.to && b.from < a.to }) {
				continue
			}
			if f.when != nil {
				a.when, ok = f.when(value)
			}
			if ok && len(found) < maxAtoms {
				found = append(found, a)
			}
		}
	}
	slices.SortFunc(found[first:], func(a, b atom) int { return cmp.Compare(a.from, b.from) })
	return found
}

func sameLength(a, b string) bool { return len(a) == len(b) }

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// isID reports a text with a digit, or one of hexadecimal digits that has none by chance.
func isID(s string) bool { return hasDigit(s) || len(s) >= 6 && strings.Trim(s, "abcdef") == "" }

func mixedHex(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdefABCDEF")
}

// alikeCommits reports two ids of which at least one is none of the numbers that stand there too.
func alikeCommits(a, b string) bool { return len(a) == len(b) && (mixedHex(a) || mixedHex(b)) }

// alikeIDs reports two ids of one kind: of equal length behind the same prefix, or two numbers.
func alikeIDs(a, b string) bool {
	if strings.Trim(a, "0123456789") == "" && strings.Trim(b, "0123456789") == "" {
		return true
	}
	before := func(s string) string { return s[:strings.IndexAny(s, "_-")+1] }
	return len(a) == len(b) && (before(a) == before(b) || hasDigit(before(a)) && hasDigit(before(b)))
}

var (
	randomRun = regexp.MustCompile(`[A-Za-z0-9]{6,}|\d{5,}`)
	madeName  = regexp.MustCompile(`^(?:\.?tmp[._-]?[A-Za-z0-9_]{6,}|pytest-\d+$)`)
)

// randomName reports a name that a program made up: behind tmp, or with a run of letters and digits that no
// word has.
func randomName(s string) bool {
	if madeName.MatchString(s) {
		return true
	}
	for _, run := range randomRun.FindAllString(s, -1) {
		digits := strings.ContainsAny(run, "0123456789")
		lower, upper := run != strings.ToUpper(run), run[1:] != strings.ToLower(run[1:])
		if digits || lower && upper {
			return true
		}
	}
	return false
}

// alikeNames reports two made up names of one kind: what stands before the random part is the same.
func alikeNames(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	digits := strings.Trim(a[n:], "0123456789") == "" && strings.Trim(b[n:], "0123456789") == ""
	begin := strings.FieldsFunc(a, func(r rune) bool { return r == '-' || r == '.' || r == '_' })
	return digits && n > 0 || len(a) == len(b) && (madeName.MatchString(a) && madeName.MatchString(b) || len(begin) > 1 && strings.HasPrefix(b, begin[0]))
}

var (
	letters   = regexp.MustCompile(`[A-Za-z]+`)
	dayNumber = regexp.MustCompile(`\d+`)
	twoBlanks = regexp.MustCompile(` {2,}`)
)

// shape is a date or time without what differs between dates and times of one form.
func shape(s string) string {
	s = letters.ReplaceAllStringFunc(s, func(w string) string {
		switch {
		case monthOf(w) > 0:
			return "M"
		case len(w) > 3 && strings.HasSuffix(w, "day"):
			return "W"
		case slices.Contains([]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}, w):
			return "w"
		case slices.Contains([]string{"AM", "PM", "am", "pm"}, w):
			return "p"
		case slices.Contains([]string{"st", "nd", "rd", "th"}, w):
			return "o"
		}
		return w
	})
	return twoBlanks.ReplaceAllString(dayNumber.ReplaceAllString(s, "d"), " ")
}

func monthOf(word string) int {
	if len(word) < 3 {
		return 0
	}
	at := strings.Index("jan feb mar apr may jun jul aug sep oct nov dec", strings.ToLower(word[:3]))
	if at < 0 || at%4 != 0 || !wholeMonth.MatchString(word) {
		return 0
	}
	return at/4 + 1
}

var wholeMonth = regexp.MustCompile(`^` + months + `$`)

// readEpoch reads the years 2001 to 2286.
func readEpoch(s string) (time.Time, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	switch len(whole) {
	case 10:
		t := time.Unix(n, 0).UTC()
		if frac != "" {
			f, _ := strconv.ParseFloat("0."+frac, 64)
			t = t.Add(time.Duration(f * float64(time.Second)))
		}
		return t, true
	case 13:
		return time.UnixMilli(n).UTC(), true
	case 16:
		return time.UnixMicro(n).UTC(), true
	case 19:
		return time.Unix(0, n).UTC(), true
	}
	return time.Time{}, false
}

var (
	isoDay    = regexp.MustCompile(`(\d{4})[-/](\d{2})[-/](\d{2})`)
	packed    = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})[T_-]?(\d{2})(\d{2})(\d{2})`)
	slashed   = regexp.MustCompile(`(\d{1,2})/(\d{1,2})/(\d{4})`)
	monthDay  = regexp.MustCompile(`(` + months + `) {1,2}(\d{1,2})(?:st|nd|rd|th)?\b`)
	dayMonth  = regexp.MustCompile(`\b(\d{1,2})\.? (` + months + `)\b`)
	year      = regexp.MustCompile(`\b(\d{4})\b`)
	clockTime = regexp.MustCompile(`\b(\d{1,2})[:-](\d{2})(?:[:-](\d{2})(?:[.,](\d{1,9}))?)?(?: ?([AaPp])\.?[Mm])?`)
	zoneTime  = regexp.MustCompile(`\d ?([+-])(\d{2}):?(\d{2})\b`)
)

// readWhen reads the forms of the table of dates and times, in UTC where no offset is told. One without a
// year is of the year that is called yearless.
func readWhen(s string) (t time.Time, ok bool) {
	if t, ok := readEpoch(s); ok {
		return t, true
	}
	num := func(s string) int { n, _ := strconv.Atoi(s); return n }
	if m := packed.FindStringSubmatch(s); m != nil {
		return checkedDate(num(m[1]), num(m[2]), num(m[3]), num(m[4]), num(m[5]), num(m[6]), 0)
	}
	y, mo, d, rest := 0, 0, 0, s
	switch {
	case isoDay.MatchString(s):
		m := isoDay.FindStringSubmatchIndex(s)
		y, mo, d, rest = num(s[m[2]:m[3]]), num(s[m[4]:m[5]]), num(s[m[6]:m[7]]), s[m[1]:]
		rest = strings.TrimLeft(rest, "T_- ")
	case slashed.MatchString(s):
		m := slashed.FindStringSubmatchIndex(s)
		mo, d, y, rest = num(s[m[2]:m[3]]), num(s[m[4]:m[5]]), num(s[m[6]:m[7]]), s[m[1]:]
		if mo > 12 {
			mo, d = d, mo
		}
	default:
		if m := monthDay.FindStringSubmatchIndex(s); m != nil {
			mo, d, rest = monthOf(s[m[2]:m[3]]), num(s[m[4]:m[5]]), s[m[1]:]
		} else if m := dayMonth.FindStringSubmatchIndex(s); m != nil {
			d, mo, rest = num(s[m[2]:m[3]]), monthOf(s[m[4]:m[5]]), s[m[1]:]
		} else {
			return t, false
		}
		if m := year.FindStringSubmatchIndex(rest); m != nil {
			y = num(rest[m[2]:m[3]])
			rest = rest[:m[0]] + rest[m[1]:]
		} else {
			y = yearless
		}
	}
	h, mi, sec, ns := 0, 0, 0, 0
	if m := clockTime.FindStringSubmatch(rest); m != nil {
		h, mi, sec = num(m[1]), num(m[2]), num(m[3])
		ns = num((m[4] + "000000000")[:9])
		if p := strings.ToLower(m[5]); p == "p" && h < 12 {
			h += 12
		} else if p == "a" && h == 12 {
			h = 0
		}
	}
	t, ok = checkedDate(y, mo, d, h, mi, sec, ns)
	if m := zoneTime.FindStringSubmatch(rest); m != nil && ok {
		off := time.Duration(num(m[2]))*time.Hour + time.Duration(num(m[3]))*time.Minute
		if m[1] == "+" {
			off = -off
		}
		t = t.Add(off)
	}
	return t, ok
}

// yearless stands for the year that a text does not tell. It has a 29th of February.
const yearless = 4

func checkedDate(y, mo, d, h, mi, sec, ns int) (time.Time, bool) {
	t := time.Date(y, time.Month(mo), d, h, mi, sec, ns, time.UTC)
	return t, t.Year() == y && int(t.Month()) == mo && t.Day() == d && h < 24 && mi < 60 && sec < 61
}
