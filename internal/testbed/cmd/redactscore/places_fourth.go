// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// places returns where a kind is put: kinds of later sets stand in the same 18 places, in other words and shapes.
func (k *kind) places() []place {
	switch {
	case k.table == 9:
		return ninthPlaces
	case k.table == 8:
		return eighthPlaces
	case k.table == 7:
		return seventhPlaces
	case k.table >= 4:
		return otherPlaces
	}
	return allPlaces
}

// camel returns the name of the kind as programs write it: novitaApiKey.
func (k *kind) camel() string {
	words := strings.Fields(k.label)
	for i := 1; i < len(words); i++ {
		r, n := utf8.DecodeRuneInString(words[i])
		words[i] = string(unicode.ToUpper(r)) + words[i][n:]
	}
	return strings.Join(words, "")
}

// title returns the name of the kind with a capital: Novita api key.
func (k *kind) title() string {
	r, n := utf8.DecodeRuneInString(k.label)
	return string(unicode.ToUpper(r)) + k.label[n:]
}

func (k *kind) said(g *generator, v string) string {
	if k.text != "" {
		return k.around(v)
	}
	return g.pick(k.camel()+`: "`+v+`"`, k.kebab()+"="+v, k.title()+": "+v, k.env()+" = '"+v+"'")
}

// escaped writes some characters of a value as \u escapes, in the style of JavaScript and Python.
func escaped(g *generator, v string) string {
	var b strings.Builder
	for _, r := range v {
		if g.IntN(3) == 0 || r < ' ' || r > '~' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04X`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var otherPlaces = []place{
	{"prose", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("Here you go, the "+k.label+" you asked for: "+v+". Keep it safe.", "Use `"+v+"` as the "+k.label+".", k.title()+" = "+v+" (do not share)",
			"I have put the "+k.label+" ("+v+") into the vault.", "- **"+k.title()+"**: `"+v+"`\n- region: eu", "The value of "+k.env()+` is "`+v+`".`)
		if k.text != "" {
			text = "Sure, here it is:\n\n```\n" + k.around(v) + "\n```\nTell me when it works."
		}
		k.attribute(td, "gen_ai.output.messages", text)
		return []string{v}
	}},
	{"log body", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick(`ts=2026-01-02T03:04:05Z level=debug msg="config read" `+k.snake()+"="+v+" n=3",
			`{"ts":"2026-01-02T03:04:05Z","level":"debug","fields":{"`+k.camel()+`":`+quote(v)+`}}`,
			`<34>1 2026-01-02T03:04:05Z web1 app 42 - - `+k.kebab()+`="`+v+`" ok`, "2026-01-02 03:04:05,678 DEBUG config:17 "+k.snake()+": "+v)
		if k.text != "" {
			text = "[2026-01-02 03:04:05] DEBUG worker(17): " + k.around(v)
		}
		k.attribute(td, "log.message", text)
		return []string{v, inner(v)}
	}},
	{"env, ini, yaml", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("[service]\nregion = \"eu\"\n"+k.snake()+` = "`+v+"\"\n", "app."+strings.ReplaceAll(k.label, " ", ".")+"="+v+"\napp.port=8080\n",
			"service:\n  auth:\n    "+k.camel()+`: "`+v+"\"\n  port: 8080\n", "# "+k.label+"\n"+k.env()+`="`+v+"\"\nLANG=C\n", "; settings\n["+k.label+"]\n"+k.kebab()+" = "+v+" ; new\n")
		if k.text != "" {
			text = "# part of a file\n\n" + k.around(v) + "\n\n# more\n"
		}
		k.attribute(td, "content", text)
		return []string{v}
	}},
	{"shell", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("docker run --rm -e "+k.env()+"='"+v+"' img:1", "tool --"+k.kebab()+`="`+v+`" --yes`, k.env()+`="`+v+`" tool run`,
			`curl -s -H "X-`+k.kebab()+": "+v+`" https://api.example.com/v1`, "export "+k.env()+"='"+v+"'; tool")
		if k.text != "" {
			text = "set -e\n" + k.around(v) + "\nexit 0"
		}
		k.attribute(td, "shell.command", text)
		return []string{v}
	}},
	{"HTTP dump", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("HTTP/2 200\ncontent-type: application/json\n\n{\"id\":7,\""+k.camel()+"\":"+quote(v)+"}",
			"PUT /v2/settings HTTP/1.1\nhost: api.example.com\nx-"+k.kebab()+": "+v+"\n\n", "POST /form HTTP/1.1\nContent-Type: application/x-www-form-urlencoded\n\na=1&"+url.QueryEscape(k.snake())+"="+url.QueryEscape(v)+"&b=2")
		if k.text != "" {
			text = "HTTP/2 200\ncontent-type: text/plain\n\n" + k.around(v)
		}
		k.attribute(td, "http.response", text)
		return []string{v, inner(v), url.QueryEscape(v)}
	}},
	{"URL query", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		p := url.QueryEscape(v)
		text := g.pick("https://api.example.com/v2/run?"+url.QueryEscape(k.camel())+"="+p, "https://app.example.com/cb#state=x&"+url.QueryEscape(k.snake())+"="+p+"&n=1",
			"see https://api.example.com/v2/?x=1&"+url.QueryEscape(k.kebab())+"="+p+" for it")
		if k.text != "" {
			p = strings.ReplaceAll(p, "+", "%20")
			text = "https://api.example.com/search?text=" + strings.ReplaceAll(url.QueryEscape(k.around(v)), "+", "%20")
		}
		k.attribute(td, "http.url", text)
		return []string{p}
	}},
	{"JSON arguments", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		doc := []any{
			map[string]any{"config": map[string]any{"auth": map[string]any{k.camel(): v}}, "dry_run": true},
			map[string]any{"params": []any{map[string]any{"name": k.camel(), "value": v}}},
			map[string]any{"headers": map[string]any{"X-" + k.kebab(): v}},
			map[string]any{"cmd": "export " + k.env() + "='" + v + "' && run"},
		}[g.IntN(4)]
		if k.text != "" {
			doc = map[string]any{"file": map[string]any{"path": "a.txt", "body": k.around(v)}}
		}
		k.attribute(td, "gen_ai.tool.call.arguments", quote(doc))
		return []string{inner(v)}
	}},
	{"JSON in JSON", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		in := quote(map[string]any{"result": map[string]any{k.camel(): v}, "ok": true})
		if k.text != "" {
			in = quote(map[string]any{"stdout": k.around(v), "exit": 0})
		}
		k.attribute(td, "gen_ai.tool.call.result", quote(map[string]any{"content": []any{map[string]any{"type": "text", "text": in}}}))
		return []string{inner(inner(v))}
	}},
	{"escapes", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		e := escaped(g, v)
		text := `body={\"` + k.camel() + `\":\"` + e + `\"} sent`
		if k.text != "" {
			text = `stdout: \"` + strings.Replace(inner(strings.Replace(k.text, "\x00", "@@@", 1)), "@@@", e, 1) + `\n\"`
		}
		k.attribute(td, "debug", text)
		return []string{e}
	}},
	{"percent", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
		text := "x%3D1%26" + escape(k.snake()) + "%3D" + escape(v) + "%26y%3D2"
		if k.text != "" {
			text = "next=" + escape("/go?q="+k.around(v))
		}
		k.attribute(td, "http.request.body", text)
		return []string{escape(v)}
	}},
	{"base64", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := quote(map[string]any{"region": "eu", k.camel(): v})
		if k.text != "" {
			text = "#!/bin/sh\n" + k.around(v) + "\n"
		}
		p := base64.RawURLEncoding.EncodeToString([]byte(text))
		k.attribute(td, "blob", g.pick(p, "data:text/plain;base64,"+p, `{"blob":"`+p+`"}`))
		return []string{p}
	}},
	{"kvlist", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		m := spanOf(td).Attributes().PutEmptyMap("options")
		switch {
		case k.text != "":
			m.PutEmptyMap("file").PutStr("body", k.around(v))
		case g.IntN(2) == 0:
			m.PutEmptyMap("auth").PutStr(k.camel(), v)
		default:
			e := m.PutEmptySlice("env").AppendEmpty().SetEmptyMap()
			e.PutStr("key", k.env())
			e.PutStr("value", v)
		}
		return []string{v}
	}},
	{"native argv", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		args := [][]string{{"docker", "run", "-e", k.env() + "=" + v, "img"}, {"tool", "--" + k.kebab() + "=" + v}, {"tool", "-o", k.snake() + "=" + v}}[g.IntN(3)]
		if k.text != "" {
			args = []string{"bash", "-lc", k.around(v)}
		}
		argv := spanOf(td).Attributes().PutEmptySlice("process.command_args")
		for _, a := range args {
			argv.AppendEmpty().SetStr(a)
		}
		return []string{v}
	}},
	{"span fields", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text, s := k.said(g, v), spanOf(td)
		switch g.IntN(5) {
		case 0:
			s.SetName("run " + text)
		case 1:
			s.Status().SetMessage("exit 1: " + text)
		case 2:
			s.Events().AppendEmpty().Attributes().PutStr("exception.stacktrace", "Error: "+text+"\n    at run (/app/a.js:1:2)")
		case 3:
			s.Events().AppendEmpty().SetName(text)
		case 4:
			td.ResourceSpans().At(0).Resource().Attributes().PutStr("process.command_line", "run "+text)
		}
		return []string{v}
	}},
	{"neutral key", true, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		if k.text != "" {
			k.attribute(td, "result", k.around(v))
		} else {
			k.attribute(td, "result", g.pick(v, "ok: "+v, `"`+v+`"`, "<"+v+">"))
		}
		return []string{v}
	}},
	{"split in events", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		pieces, needles := halves(g, "Let me try "+k.said(g, v)+" next", v, 2)
		for _, p := range pieces {
			e := spanOf(td).Events().AppendEmpty()
			e.SetName("gen_ai.choice")
			e.Attributes().PutStr("chunk", quote(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"content": p}}}}))
		}
		for i := range needles {
			needles[i] = inner(needles[i])
		}
		return needles
	}},
	{"split in an array", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		pieces, needles := halves(g, "Let me try "+k.said(g, v)+" next", v, 2+g.IntN(2))
		var list []any
		for _, p := range pieces {
			list = append(list, map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": p}})
		}
		k.attribute(td, "response.events", quote(list))
		for i := range needles {
			needles[i] = inner(needles[i])
		}
		return needles
	}},
	{"split in tokens", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := "Let me try " + k.said(g, v) + " next"
		var parts []string
		for from := 0; from < len(text); {
			to := min(len(text), from+1+g.IntN(4))
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			parts = append(parts, text[from:to])
			from = to
		}
		if slices.Contains(parts, v) {
			return nil
		}
		k.attribute(td, "tokens", quote(parts))
		return []string{"\x00" + v}
	}},
}
