// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact"
)

// kind is something that has to go, as it is made anew for every place.
type kind struct {
	name, label string
	form        bool                      // it is recognised without a name
	popular     bool                      // many use the service
	table       int                       // 1, 2 or 3: which set of tables it is of
	text        string                    // for what only its own text makes a secret: the text around value
	value       func(g *generator) string // what must not be left
}

// kindsOf returns the kinds of the tables.
func kindsOf() (kinds []kind) {
	for i, t := range [][3]string{{vendorKinds, personKinds, textKinds}, {secondVendor, secondPerson, secondText}, {thirdVendor, thirdPerson, thirdText},
		{fourthVendor, fourthPerson, fourthText}, {fifthVendor, fifthPerson, fifthText}, {sixthVendor, sixthPerson, sixthText},
		{seventhVendor, seventhPerson, seventhText}, {eighthVendor, eighthPerson, eighthText}, {"", "", ninthPromised + ninthText}} {
		for _, k := range tables(t[0], t[1], t[2]) {
			k.table = i + 1
			if k.table == 9 { // the other marks of a text are values too
				k.text = aMark.ReplaceAllStringFunc(k.text, newGenerator(uint64(len(k.name))).filled)
			}
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// aMark is what stands for a value in a text, or in a number of a person.
var aMark = regexp.MustCompile(`\{(?:P|W|H|G|B|C|J|T|R|M|D43|N6|X[0-9]{2}|A[0-9]{1,2}|BC|S6|V|IR|KZ|AE|SA|K44|S12|W3|Q|Y|U|Z|A40|TG|L|CS|CU|CL|CE|CED|CDT|CAS|CTB|LP|LD|LA|S24|DJ|K18|R25|R31|W20|T16|TS|TL|N33|N3D|RC|D44|D8|RK|AK|A27|A43|U8)\}`)

func tables(vendors, persons, texts string) (kinds []kind) {
	for line := range strings.SplitSeq(strings.TrimSpace(vendors), "\n") {
		if line == "" {
			continue
		}
		name, pattern, _ := strings.Cut(line, " ")
		name, popular := strings.CutSuffix(name, "+")
		label, form := strings.CutSuffix(name, "!")
		re, err := syntax.Parse(strings.TrimSpace(pattern), syntax.Perl)
		if err != nil {
			panic(err) // the table is part of the program
		}
		kinds = append(kinds, kind{name: label, label: strings.ToLower(strings.ReplaceAll(label, "_", " ")), form: form, popular: popular, value: func(g *generator) string {
			var b strings.Builder
			g.match(&b, re.Simplify())
			return b.String()
		}})
	}
	for line := range strings.SplitSeq(strings.TrimSpace(persons), "\n") {
		if line == "" {
			continue
		}
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		kinds = append(kinds, kind{name: cells[0], label: cells[1], value: func(g *generator) string {
			v := g.pick(cells[2:]...)
			if aMark.MatchString(v) {
				v = g.filled(v)
			}
			return v
		}})
	}
	for line := range strings.SplitSeq(strings.TrimSpace(texts), "\n") {
		if line == "" {
			continue
		}
		name, text, _ := strings.Cut(line, "|")
		text = strings.NewReplacer(`\\n`, `\n`, `\n`, "\n").Replace(strings.TrimPrefix(text, " "))
		marks := aMark.FindAllStringIndex(text, -1)
		at := marks[len(marks)-1]
		if strings.Contains(name, "putty") || strings.Contains(name, "mail in url") { // the others are there to look like it
			at = marks[0]
		}
		mark := text[at[0]:at[1]]
		text = text[:at[0]] + "\x00" + text[at[1]:]
		kinds = append(kinds, kind{name: strings.TrimSpace(name), text: text, value: func(g *generator) string { return g.filled(mark) }})
	}
	return kinds
}

// filled returns what stands for a mark of textKinds.
func (g *generator) filled(mark string) string {
	switch mark {
	case "{P}":
		return g.pick("Hunter2-", "Tr0ub4dor&", "S0nnenschein", "Winter2024!", "qW3rty_", "p4ssw0rt.") + g.chars(4, lower) + g.chars(2, digit)
	case "{V}": // as managers of passwords make them
		return g.chars(3, upper) + g.chars(4, lower) + g.chars(2, digit) + g.pick("!", "#", "%", "*", "-") + g.chars(4, alnum)
	case "{Z}": // of eight letters and digits, without a sign
		return g.chars(1, upper) + g.chars(2, lower) + g.chars(1, upper) + g.chars(1, lower) + g.chars(1, digit) + g.chars(1, upper) + g.chars(1, lower)
	case "{A40}":
		return g.chars(40, alnum+"+/")
	case "{W}":
		return g.pick("correcthorse", "swordfish", "batterystaple", "mountainview", "bluebanana")
	case "{H}":
		return g.chars(28, alnum) + g.chars(2, digit)
	case "{X20}", "{X32}", "{X40}", "{X64}":
		return g.chars(atoi(mark[2:len(mark)-1]), hexa)
	case "{G}":
		return g.chars(4, lower) + " " + g.chars(4, lower) + " " + g.chars(4, lower) + " " + g.chars(4, lower)
	case "{B}":
		return base64.StdEncoding.EncodeToString([]byte(g.chars(16, alnum)))
	case "{C}":
		return base64.StdEncoding.EncodeToString([]byte("admin:" + g.chars(12, alnum)))
	case "{BC}":
		return g.chars(53, alnum+"./")
	case "{A1}":
		return g.chars(22, base)
	case "{A22}":
		return g.chars(22, alnum+"./")
	case "{D43}":
		return g.chars(43, urlish)
	case "{IR}", "{KZ}", "{AE}", "{SA}":
		return g.checked(mark[1 : len(mark)-1])
	case "{A2}":
		return g.chars(43, base)
	case "{S6}":
		return g.chars(86, alnum+"./")
	case "{J}":
		return g.chars(160, urlish)
	case "{N6}":
		return g.chars(6, "123456789")
	case "{R}":
		return g.chars(5, lower+digit) + "-" + g.chars(5, lower+digit)
	case "{T}":
		return g.chars(32, upper+"234567")
	case "{K44}":
		return g.chars(42, alnum+"+/") + g.chars(1, "AEIMQUYcgkosw048") + "="
	case "{TG}":
		return g.chars(1, "123456789") + g.chars(9, digit) + ":AA" + g.chars(33, urlish)
	case "{L}": // a line of a PEM file
		return g.chars(64, base)
	case "{CS}", "{CU}", "{CL}", "{CED}", "{CE}", "{CDT}", "{CTB}": // a card in groups
		n := g.card()
		if len(n) != 16 {
			return g.filled(mark)
		}
		if mark == "{CE}" || mark == "{CED}" {
			return n[:8] + map[string]string{"{CE}": " ", "{CED}": "-"}[mark] + n[8:]
		}
		return strings.Join([]string{n[:4], n[4:8], n[8:12], n[12:]}, map[string]string{"{CS}": "/", "{CU}": "_", "{CL}": "\n", "{CDT}": ".", "{CTB}": "\t"}[mark])
	case "{CAS}":
		n := "37" + g.chars(12, digit)
		n += luhnDigit(n)
		return n[:4] + "/" + n[4:10] + "/" + n[10:]
	case "{LP}", "{LD}", "{LA}": // a local part that has to be quoted
		return g.chars(5, lower) + map[string]string{"{LP}": " ", "{LD}": "..", "{LA}": "@"}[mark] + g.chars(7, lower)
	case "{S24}":
		return g.chars(24, lower+"012345")
	case "{DJ}":
		return "c" + g.chars(5, lower+digit) + "-" + g.chars(32, hexa)
	case "{K18}":
		return g.chars(16, alnum) + g.chars(2, digit)
	case "{R25}", "{R31}":
		return g.chars(atoi(mark[2:len(mark)-1])-2, lower+digit) + g.chars(1, lower) + g.chars(1, digit)
	case "{W20}":
		return g.chars(18, alnum) + g.chars(2, digit)
	case "{T16}":
		return g.chars(16, upper+"234567")
	case "{TS}":
		return strings.ToLower(g.chars(4, upper) + " " + g.chars(4, upper+"234567") + " " + g.chars(4, upper+"234567") + " " + g.chars(4, upper+"234567"))
	case "{TL}":
		return g.chars(30, lower+"234567") + "23"
	case "{N33}":
		return g.chars(3, "123456789") + " " + g.chars(3, "123456789")
	case "{N3D}":
		return g.chars(3, "123456789") + "-" + g.chars(3, "123456789")
	case "{RC}":
		return g.chars(3, hexa) + g.chars(1, digit) + "-" + g.chars(3, hexa) + g.chars(1, digit)
	case "{D44}":
		return g.chars(4, "123456789") + " " + g.chars(4, "123456789")
	case "{D8}":
		return g.chars(8, "123456789")
	case "{RK}":
		return g.chars(4, upper) + "-" + g.chars(4, upper+digit) + "-" + g.chars(4, upper+digit) + "-" + g.chars(4, upper+digit)
	case "{AK}":
		return "AKIA" + g.chars(16, upper+"234567")
	case "{A27}", "{A43}":
		return g.chars(atoi(mark[2:len(mark)-1]), alnum)
	case "{U8}":
		return g.chars(8, upper+"234567")
	case "{X10}":
		return g.chars(8, hexa) + g.chars(2, digit)
	case "{S12}":
		var words []string
		for range 12 {
			words = append(words, g.pick("abandon", "ability", "abstract", "accident", "acoustic", "balance", "bamboo", "cabbage", "canyon", "daring", "eagle", "fabric", "galaxy", "habit", "icon", "jungle", "kidney", "lemon", "magnet", "noodle", "ocean", "panther", "quantum", "ribbon", "salmon", "tiger", "umbrella", "velvet", "window", "zebra"))
		}
		return strings.Join(words, " ")
	case "{W3}":
		return g.pick("correct", "purple", "silent") + " " + g.pick("horse", "monkey", "river") + " " + g.pick("battery", "dishwasher", "staple")
	case "{Q}":
		return g.pick("open sesame", "value with quotes and spaces", "correct horse battery staple", "My dog ate 3 shoes!")
	case "{Y}":
		return "m{{" + g.chars(2, lower) + "}o)p${" + g.chars(1, lower) + "]nob(ody[" + g.chars(5, lower) + ">-_$#this" + g.chars(3, lower) + "}}"
	case "{U}":
		return g.pick("A,.:-¨@*¿?!", "Größe", "Ñandú", "Пароль") + g.chars(4, lower) + g.chars(2, digit)
	case "{M}":
		return g.chars(5, lower) + "." + g.chars(6, lower) + "%40" + g.chars(7, lower) + ".com"
	}
	panic("no mark " + mark)
}

func atoi(s string) (n int) {
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// set says which kinds are scored together. Kinds that are held out were not looked at while rules were written.
type set int

const (
	first          set = iota // rules were written with them
	firstHeldOut              // held out then, seen since
	second                    // no rule was written for them before they were scored
	secondHeldOut             // and none after that was looked at
	third                     // drawn when the rules for the second were done, and scored before any was changed
	fourth                    // drawn before the rules were looked at again; they were written with this half of it
	fourthHeldOut             // and not with this half
	fifth                     // drawn when the rules for the fourth were done, and scored before any was changed
	sixth                     // drawn when the mechanisms for the fifth were done; they were mended with this half of it
	sixthHeldOut              // and this half was scored once after that
	seventh                   // drawn when the rules for the sixth were done; they were mended with this half of it
	seventhHeldOut            // and this half was scored once after that
	eighth                    // drawn when the rules for the seventh were done; they were mended with this half of it
	eighthHeldOut             // and this half was scored once after that
	ninth                     // drawn before the rules were looked at again; they were mended with this half of it
	ninthHeldOut              // and this half was scored once after that
	sets
)

func (k *kind) set() set {
	h := fnv.New32a()
	h.Write([]byte(k.name))
	switch {
	case k.table == 9 && h.Sum32()>>5%2 == 0:
		return ninthHeldOut
	case k.table == 9:
		return ninth
	case k.table == 8 && h.Sum32()>>7%2 == 0:
		return eighthHeldOut
	case k.table == 8:
		return eighth
	case k.table == 7 && h.Sum32()>>11%2 == 0:
		return seventhHeldOut
	case k.table == 7:
		return seventh
	case k.table == 6 && h.Sum32()>>9%2 == 0:
		return sixthHeldOut
	case k.table == 6:
		return sixth
	case k.table == 5:
		return fifth
	case k.table == 4 && h.Sum32()>>13%2 == 0:
		return fourthHeldOut
	case k.table == 4:
		return fourth
	case k.table == 3:
		return third
	case k.table == 2 && h.Sum32()%4 == 0:
		return secondHeldOut
	case k.table == 2:
		return second
	case h.Sum32()%5 == 0:
		return firstHeldOut
	}
	return first
}

// checked is an identity number with its check digit.
func (g *generator) checked(country string) string {
	sum := func(n string, weight func(i int) int) (s int) {
		for i := range len(n) {
			s += int(n[i]-'0') * weight(i)
		}
		return s
	}
	switch country {
	case "IR":
		n := g.chars(1, "123456789") + g.chars(8, digit)
		c := sum(n, func(i int) int { return 10 - i }) % 11
		if c > 1 {
			c = 11 - c
		}
		return n + strconv.Itoa(c)
	case "KZ":
		for {
			n := "8" + g.chars(1, digit) + "0" + g.chars(1, "123456789") + "1" + g.chars(1, digit) + "3" + g.chars(4, digit)
			if c := sum(n, func(i int) int { return i + 1 }) % 11; c < 10 {
				return n + strconv.Itoa(c)
			}
		}
	case "AE":
		n := "784" + "19" + g.chars(2, digit) + g.chars(7, digit)
		n += luhnDigit(n)
		return n[:3] + "-" + n[3:7] + "-" + n[7:14] + "-" + n[14:]
	}
	n := "1" + g.chars(8, digit)
	return n + luhnDigit(n)
}

// place puts a value into telemetry. It returns what of the value must not be left: its spelling there, or its pieces.
type place struct {
	name string
	bare bool // the value stands alone: only forms that need no name can be found
	put  func(g *generator, td ptrace.Traces, k *kind, v string) (needles []string)
}

func (k *kind) env() string   { return strings.ToUpper(strings.ReplaceAll(k.label, " ", "_")) }
func (k *kind) snake() string { return strings.ReplaceAll(k.label, " ", "_") }
func (k *kind) kebab() string { return strings.ReplaceAll(k.label, " ", "-") }
func (k *kind) around(v string) string {
	return strings.Replace(k.text, "\x00", v, 1)
}

// assigned is the value behind its name, or in its own text.
func (k *kind) assigned(g *generator, v string) string {
	if k.text != "" {
		return k.around(v)
	}
	return g.pick(k.env()+"="+v, k.snake()+": "+v, k.env()+`="`+v+`"`)
}

func spanOf(td ptrace.Traces) ptrace.Span {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

func (k *kind) attribute(td ptrace.Traces, name, text string) {
	spanOf(td).Attributes().PutStr(name, text)
}

// halves cuts a text inside of the value, and returns the parts of the value that must go.
func halves(g *generator, text, v string, n int) (pieces, needles []string) {
	at := strings.Index(text, v)
	cuts := []int{at + len(v)/2}
	if n == 3 {
		cuts = []int{at + len(v)/3, at + 2*len(v)/3}
	}
	from := 0
	for _, c := range append(cuts, len(text)) {
		pieces = append(pieces, text[from:c])
		lo, hi := max(from, at), min(c, at+len(v))
		if hi-lo >= 4 {
			needles = append(needles, text[lo:hi])
		}
		from = c
	}
	return pieces, needles
}

var allPlaces = []place{
	{"prose", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("Sure, the "+k.label+" is "+v+", please use it for the next call.", "I found it in the file. "+strings.ToUpper(k.label[:min(1, len(k.label))])+k.label[min(1, len(k.label)):]+": "+v+"\nDone.")
		if k.text != "" {
			text = "As you asked:\n" + k.around(v) + "\nThat is all."
		}
		k.attribute(td, "gen_ai.completion", text)
		return []string{v}
	}},
	{"log body", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		k.attribute(td, "body", "2026-01-02T03:04:05.678Z INFO client: request with "+k.assigned(g, v)+"\nretry in 5s")
		return []string{v}
	}},
	{"env, ini, yaml", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("export "+k.env()+"="+v+"\nexport LANG=C\n", "[default]\nregion = eu\n"+k.snake()+" = "+v+"\n", "service:\n  "+k.snake()+": "+v+"\n  port: 8080\n")
		if k.text != "" {
			text = "# settings\n" + k.around(v) + "\n# end\n"
		}
		k.attribute(td, "file.content", text)
		return []string{v}
	}},
	{"shell", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick(k.env()+"='"+v+"' ./run.sh --verbose", "deploy --"+k.kebab()+" '"+v+"' --verbose", "export "+k.env()+`="`+v+`" && make`)
		if k.text != "" {
			text = "cd /srv && " + k.around(v) + "\n"
		}
		k.attribute(td, "process.command_line", text)
		return []string{v}
	}},
	{"HTTP dump", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := "POST /v1/items HTTP/1.1\r\nHost: api.example.com\r\nX-" + strings.ReplaceAll(strings.ToUpper(k.label[:min(1, len(k.label))])+k.label[min(1, len(k.label)):], " ", "-") + ": " + v + "\r\nContent-Length: 2\r\n\r\n{}"
		if k.text != "" {
			text = "POST /v1/items HTTP/1.1\r\nHost: api.example.com\r\n\r\n" + k.around(v)
		}
		k.attribute(td, "http.request", text)
		return []string{v}
	}},
	{"URL query", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		if k.text != "" {
			p := strings.ReplaceAll(url.QueryEscape(k.around(v)), "+", "%20")
			k.attribute(td, "url.full", "https://api.example.com/v1/run?limit=10&q="+p+"&page=2")
			return []string{strings.ReplaceAll(url.QueryEscape(v), "+", "%20")}
		}
		p := url.QueryEscape(v)
		k.attribute(td, "url.full", "https://api.example.com/v1/items?limit=10&"+k.snake()+"="+p+"&page=2")
		return []string{p}
	}},
	{"JSON arguments", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		k.attribute(td, "gen_ai.tool.call.arguments", quote(map[string]any{nameOr(k, "content"): valueOr(k, v), "limit": 10}))
		return []string{inner(v)}
	}},
	{"JSON in JSON", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		k.attribute(td, "gen_ai.output.messages", quote([]any{map[string]any{"role": "assistant", "arguments": quote(map[string]any{nameOr(k, "text"): valueOr(k, v)})}}))
		return []string{inner(inner(v))}
	}},
	{"escapes", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		var b strings.Builder
		for i := range len(v) {
			if c := v[i]; g.IntN(4) == 0 || c < ' ' || c == '"' || c == '\\' {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
		text := `got {\"` + k.snake() + `\": \"` + b.String() + `\", \"n\": 1`
		if k.text != "" {
			text = `got \"` + strings.Replace(inner(strings.Replace(k.text, "\x00", "@@@", 1)), "@@@", b.String(), 1) + `\" and`
		}
		k.attribute(td, "output", text)
		return []string{b.String()}
	}},
	{"percent", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
		text := k.snake() + "%3D" + escape(v) + "%26x%3D1"
		if k.text != "" {
			text = escape(k.around(v))
		}
		k.attribute(td, "message", "form: "+text)
		return []string{escape(v)}
	}},
	{"base64", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		p := base64.StdEncoding.EncodeToString([]byte("region=eu\n" + k.assigned(g, v) + "\n"))
		k.attribute(td, "data", "payload "+p+" end")
		return []string{p}
	}},
	{"kvlist", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		m := spanOf(td).Attributes().PutEmptyMap("settings")
		if k.text == "" && g.IntN(2) == 0 {
			m.PutStr("name", k.env())
			m.PutStr("value", v)
		} else {
			m.PutStr(nameOr(k, "content"), valueOr(k, v))
		}
		return []string{v}
	}},
	{"native argv", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		argv := spanOf(td).Attributes().PutEmptySlice("process.command_args")
		args := []string{"deploy", "--" + k.kebab(), v, "--verbose"}
		if k.text != "" {
			args = []string{"sh", "-c", k.around(v)}
		}
		for _, a := range args {
			argv.AppendEmpty().SetStr(a)
		}
		return []string{v}
	}},
	{"span fields", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text, s := "failed with "+k.assigned(g, v), spanOf(td)
		switch g.IntN(5) {
		case 0:
			s.SetName(text)
		case 1:
			s.Status().SetMessage(text)
		case 2:
			s.Events().AppendEmpty().Attributes().PutStr("exception.message", text)
		case 3:
			s.Links().AppendEmpty().Attributes().PutStr("note", text)
		case 4:
			td.ResourceSpans().At(0).Resource().Attributes().PutStr("process.note", text)
		}
		return []string{v}
	}},
	{"neutral key", true, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		if k.text != "" {
			k.attribute(td, "output", k.around(v))
		} else {
			k.attribute(td, "output", v)
		}
		return []string{v}
	}},
	{"split in events", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		pieces, needles := halves(g, "I will use "+k.assigned(g, v)+" now", v, 2+g.IntN(2))
		for _, p := range pieces {
			e := spanOf(td).Events().AppendEmpty()
			e.SetName("gen_ai.content.delta")
			e.Attributes().PutStr("delta", p)
		}
		return needles
	}},
	{"split in an array", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		pieces, needles := halves(g, "I will use "+k.assigned(g, v)+" now", v, 2)
		var list []any
		for _, p := range pieces {
			list = append(list, map[string]any{"delta": p})
		}
		k.attribute(td, "chunks", quote(list))
		for i := range needles {
			needles[i] = inner(needles[i])
		}
		return needles
	}},
	{"split in tokens", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := "I will use " + k.assigned(g, v) + " now"
		var parts []string
		for from := 0; from < len(text); {
			to := min(len(text), from+2+g.IntN(5))
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			parts = append(parts, text[from:to])
			from = to
		}
		k.attribute(td, "tokens", quote(parts))
		// Pieces are short: what must not be left is the text that they give together.
		return []string{"\x00" + v}
	}},
}

func nameOr(k *kind, other string) string {
	if k.text != "" {
		return other
	}
	return k.snake()
}

func valueOr(k *kind, v string) string {
	if k.text != "" {
		return k.around(v)
	}
	return v
}

// placed scores every kind in every place.
type placed struct {
	kinds, places map[string]*tally
	order         []string
	all, unsplit  tally
	popular       tally // not split
	broken, gate  int
	missed        map[string][]string // by kind: the places
	wrong         []string
}

type tally struct{ cases, found int }

func (t *tally) add(ok bool) {
	t.cases++
	if ok {
		t.found++
	}
}

func (t tally) rate() float64 { return float64(t.found) / float64(max(t.cases, 1)) }

func newTraces() ptrace.Traces {
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("call")
	return td
}

// scorePlaces redacts one value of every kind in every place and looks for it again, also with the gate. Values that have no form of their own
// and stand without a name are not claimed.
func scorePlaces(seed uint64, r, gate *redact.Redactor, of set) *placed {
	p := &placed{kinds: map[string]*tally{}, places: map[string]*tally{}, missed: map[string][]string{}}
	for _, k := range kindsOf() {
		if k.set() != of {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(k.name))
		g := newGenerator(seed ^ h.Sum64())
		p.kinds[k.name] = &tally{}
		for _, at := range k.places() {
			if p.places[at.name] == nil {
				p.places[at.name] = &tally{}
				p.order = append(p.order, at.name)
			}
			td := newTraces()
			v := k.value(g)
			needles := at.put(g, td, &k, v)
			if at.bare && !k.form && k.text == "" {
				continue
			}
			before := jsonStrings(td)
			r.Traces(td, nil)
			left := leftIn(td, needles)
			p.kinds[k.name].add(!left)
			p.places[at.name].add(!left)
			p.all.add(!left)
			if left {
				p.missed[k.name] = append(p.missed[k.name], at.name)
			}
			if !strings.HasPrefix(at.name, "split") {
				p.unsplit.add(!left)
				if k.popular {
					p.popular.add(!left)
				}
			}
			if jsonStrings(td) != before {
				p.broken++
				left = true
			}
			caught := len(gate.ScanTraces(td)) > 0
			if caught {
				p.gate++
			}
			if left || caught {
				raw, _ := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
				p.wrong = append(p.wrong, fmt.Sprintf("%s\t%s\tgate %v\t%q\n\t%.600s", k.name, at.name, caught, v, raw))
			}
		}
	}
	return p
}

// eachString visits the strings of telemetry, in order.
func eachString(td ptrace.Traces, visit func(string)) {
	var value func(v pcommon.Value)
	attributes := func(m pcommon.Map) {
		for k, v := range m.All() {
			visit(k)
			value(v)
		}
	}
	value = func(v pcommon.Value) {
		switch v.Type() {
		case pcommon.ValueTypeMap:
			attributes(v.Map())
		case pcommon.ValueTypeSlice:
			for _, e := range v.Slice().All() {
				value(e)
			}
		default:
			visit(v.AsString())
		}
	}
	for _, rs := range td.ResourceSpans().All() {
		attributes(rs.Resource().Attributes())
		for _, s := range rs.ScopeSpans().At(0).Spans().All() {
			visit(s.Name())
			visit(s.Status().Message())
			attributes(s.Attributes())
			for _, e := range s.Events().All() {
				visit(e.Name())
				attributes(e.Attributes())
			}
			for _, l := range s.Links().All() {
				attributes(l.Attributes())
			}
		}
	}
}

// jsonStrings counts strings that are JSON objects or arrays.
func jsonStrings(td ptrace.Traces) (n int) {
	eachString(td, func(s string) {
		if s != "" && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s)) {
			n++
		}
	})
	return n
}

// leftIn says whether one of the needles stands in a string of the telemetry. A needle behind a zero byte is looked for in the text that the
// strings of a JSON array, or the deltas in it, give together.
func leftIn(td ptrace.Traces, needles []string) (left bool) {
	eachString(td, func(s string) {
		joined := s
		var parts []string
		var deltas []struct{ Delta string }
		if json.Unmarshal([]byte(s), &parts) == nil {
			joined = strings.Join(parts, "")
		} else if json.Unmarshal([]byte(s), &deltas) == nil {
			joined = ""
			for _, d := range deltas {
				joined += d.Delta
			}
		}
		for _, n := range needles {
			if together, ok := strings.CutPrefix(n, "\x00"); ok {
				left = left || strings.Contains(joined, together) || tailLeft(joined, together)
			} else {
				left = left || n != "" && strings.Contains(s, n)
			}
		}
	})
	return left
}

// tailLeft says whether half of a value is left, at either end.
func tailLeft(s, v string) bool {
	half := len(v) / 2
	return half >= 8 && (strings.Contains(s, v[:half]) || strings.Contains(s, v[half:]))
}
