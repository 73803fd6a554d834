// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

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
