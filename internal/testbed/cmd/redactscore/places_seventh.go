// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// seventhPlaces are the 18 places in words and shapes of the seventh set.
var seventhPlaces = []place{
	{"prose", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("FYI "+k.label+" -> "+v, "Please note down: "+k.label+" "+v+" (valid until May).", "| setting | value |\n|---|---|\n| "+k.label+" | "+v+" |",
			"My "+k.label+" is "+v+", what can you tell me about it?", "> "+k.title()+": "+v+"\n\nThanks!", k.title()+" — "+v)
		if k.text != "" {
			text = g.pick("Hi,\n\n"+k.around(v)+"\n\nBest, Ada", "From the ticket: "+k.around(v), "> "+k.around(v)+"\n\nIs that right?")
		}
		k.attribute(td, "gen_ai.input.messages", quote([]any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": text}}}}))
		return []string{inner(v)}
	}},
	{"log body", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("W0102 03:04:05.678901   17 auth.go:42] using "+k.snake()+`="`+v+`"`, "[03:04:05] [INFO] "+k.title()+" => "+v, `time=2026-01-02T03:04:05Z level=INFO msg=start `+k.camel()+"="+v,
			"Loaded config {"+k.snake()+"="+v+", retries=3}", `{"@timestamp":"2026-01-02","`+k.snake()+`":`+quote(v)+`,"level":"info"}`)
		if k.text != "" {
			text = "Jan  2 03:04:05 web1 app[42]: " + k.around(v)
		}
		k.attribute(td, "event.original", text)
		return []string{v, inner(v)}
	}},
	{"env, ini, yaml", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("# .env\nPORT=1\n"+k.env()+"='"+v+"'\n", "auth:\n  - name: "+k.env()+"\n    value: "+v+"\n", "<entry key=\""+k.snake()+"\">"+v+"</entry>", "set "+k.env()+"="+v+"\r\n", k.snake()+": |\n  "+v+"\nport: 1\n",
			"{ "+k.camel()+": '"+v+"', port: 1 }")
		if k.text != "" {
			text = "version: 1\n\n" + k.around(v) + "\n"
		}
		k.attribute(td, "tool.output", text)
		return []string{v}
	}},
	{"shell", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("env "+k.env()+"="+v+" node app.js", "tool login --"+k.kebab()+" "+v, "$env:"+k.env()+` = "`+v+`"`, "setx "+k.env()+` "`+v+`"`, "heroku config:set "+k.env()+"="+v, "read -r "+k.env()+" <<< '"+v+"'")
		if k.text != "" {
			text = g.pick("$ "+k.around(v)+"\n", "sudo sh -c 'true'; "+k.around(v), "time "+k.around(v))
		}
		k.attribute(td, "gen_ai.tool.call.command", text)
		return []string{v}
	}},
	{"HTTP dump", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("> GET /v3/me HTTP/1.1\n> Host: api.example.com\n> "+k.title()+": "+v+"\n>", "< HTTP/1.1 200 OK\n< set-cookie: "+k.snake()+"="+url.QueryEscape(v)+"; Path=/\n<",
			"------x\r\nContent-Disposition: form-data; name=\""+k.snake()+"\"\r\n\r\n"+v+"\r\n------x--", "HTTP/1.1 201 Created\n\n<"+k.camel()+">"+v+"</"+k.camel()+">")
		if k.text != "" {
			text = "POST /logs HTTP/1.1\nHost: x\n\n{\"line\":" + quote(k.around(v)) + "}"
		}
		k.attribute(td, "http.request.raw", text)
		return []string{v, inner(v), url.QueryEscape(v)}
	}},
	{"URL query", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		p := url.QueryEscape(v)
		text := g.pick("GET /v1/x?"+k.snake()+"="+p+" 200 12ms", "https://api.example.com/?format=json&"+k.camel()+"="+p, "wss://rt.example.com/socket?v=2&"+k.kebab()+"="+p+"&x=1", "[open](https://example.com/?"+k.snake()+"="+p+")")
		if k.text != "" {
			p = strings.ReplaceAll(p, "+", "%20")
			text = "https://paste.example.com/new?body=" + strings.ReplaceAll(url.QueryEscape(k.around(v)), "+", "%20") + "&lang=en"
		}
		k.attribute(td, "http.target", text)
		return []string{p}
	}},
	{"JSON arguments", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		doc := []any{
			map[string]any{"env": map[string]any{k.env(): v, "PORT": "1"}},
			map[string]any{"fields": []any{map[string]any{"key": k.snake(), "value": v}}},
			map[string]any{"user": map[string]any{"profile": map[string]any{k.camel(): v}}},
			map[string]any{k.kebab(): v, "limit": 5},
			map[string]any{"query": k.label + " " + v},
		}[g.IntN(5)]
		if k.text != "" {
			doc = []any{map[string]any{"content": k.around(v), "path": "/tmp/a"}, map[string]any{"argv": []any{"sh", "-c", k.around(v)}}, map[string]any{"edits": []any{map[string]any{"new_string": k.around(v)}}}}[g.IntN(3)]
		}
		k.attribute(td, "input.value", quote(doc))
		return []string{inner(v)}
	}},
	{"JSON in JSON", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		in := quote([]any{map[string]any{"id": 1, "secrets": map[string]any{k.snake(): v}}})
		if k.text != "" {
			in = quote(map[string]any{"lines": []any{"begin", k.around(v), "end"}})
		}
		k.attribute(td, "output.value", quote(map[string]any{"jsonrpc": "2.0", "result": map[string]any{"content": []any{map[string]any{"type": "text", "text": in}}}}))
		return []string{inner(inner(v))}
	}},
	{"escapes", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		e := escaped(g, v)
		text := `b'{\"` + k.snake() + `\": \"` + e + `\"}'`
		if k.text != "" {
			text = `"text": "` + strings.Replace(inner(strings.Replace(k.text, "\x00", "@@@", 1)), "@@@", e, 1) + `", "n": `
		}
		k.attribute(td, "message", text)
		return []string{e}
	}},
	{"percent", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
		text := "redirect_uri=https%3A%2F%2Fx.example.com%2F%3F" + escape(k.snake()) + "%3D" + escape(v) + "%26n%3D1"
		if k.text != "" {
			text = "mailto:a?body=" + escape(k.around(v)) + "%0A"
		}
		k.attribute(td, "url.query", text)
		return []string{escape(v)}
	}},
	{"base64", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick(k.env()+"="+v+"\nPORT=1\n", quote(map[string]any{k.snake(): v, "n": 1}), k.title()+": "+v)
		if k.text != "" {
			text = k.around(v)
		}
		p := base64.StdEncoding.EncodeToString([]byte(text))
		h := hex.EncodeToString([]byte(text))
		if g.IntN(4) == 0 {
			k.attribute(td, "payload", "0x"+h)
			return []string{h}
		}
		k.attribute(td, "payload", g.pick("echo "+p+" | base64 -d", `{"encoding":"base64","data":"`+p+`"}`, p))
		return []string{p}
	}},
	{"kvlist", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		m := spanOf(td).Attributes().PutEmptyMap("gen_ai.tool.arguments")
		switch {
		case k.text != "":
			m.PutEmptySlice("lines").AppendEmpty().SetStr(k.around(v))
		case g.IntN(2) == 0:
			m.PutEmptyMap("params").PutStr(k.snake(), v)
		default:
			m.PutStr("name", k.camel())
			m.PutStr("value", v)
		}
		return []string{v}
	}},
	{"native argv", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		args := [][]string{{"tool", "--" + k.kebab(), v, "-v"}, {"env", k.env() + "=" + v, "tool"}, {"tool", "set", k.snake(), v}, {"helm", "--set", k.camel() + "=" + v}}[g.IntN(4)]
		if k.text != "" {
			args = []string{"powershell", "-Command", k.around(v)}
		}
		argv := spanOf(td).Attributes().PutEmptySlice("process.command_args")
		for _, a := range args {
			argv.AppendEmpty().SetStr(a)
		}
		return []string{v}
	}},
	{"span fields", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text, s := k.title()+" = "+v, spanOf(td)
		if k.text != "" {
			text = k.around(v)
		}
		switch g.IntN(5) {
		case 0:
			s.SetName("tool: " + text)
		case 1:
			s.Status().SetMessage("ValueError: bad config: " + text)
		case 2:
			s.Events().AppendEmpty().Attributes().PutStr("exception.message", "invalid value in '"+text+"'")
		case 3:
			s.Links().AppendEmpty().Attributes().PutStr("note", text)
		case 4:
			td.ResourceSpans().At(0).Resource().Attributes().PutStr("service.description", text)
		}
		return []string{v}
	}},
	{"neutral key", true, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := v
		if k.text != "" {
			text = k.around(v)
		} else {
			text = g.pick(v, "got "+v, "("+v+")", v+"\n", "value="+v)
		}
		k.attribute(td, "tool.result", text)
		return []string{v}
	}},
	{"split in events", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := "Found it: " + k.title() + ": " + v + " ."
		if k.text != "" {
			text = "Found it: " + k.around(v) + " ."
		}
		pieces, needles := halves(g, text, v, 2)
		for _, p := range pieces {
			e := spanOf(td).Events().AppendEmpty()
			e.SetName("llm.chunk")
			e.Attributes().PutStr("delta", p)
		}
		return needles
	}},
	{"split in an array", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := "Found it: " + k.title() + ": " + v + " ."
		if k.text != "" {
			text = "Found it: " + k.around(v) + " ."
		}
		pieces, needles := halves(g, text, v, 2+g.IntN(2))
		var list []any
		for _, p := range pieces {
			list = append(list, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": p}}}})
		}
		k.attribute(td, "llm.chunks", quote(list))
		for i := range needles {
			needles[i] = inner(needles[i])
		}
		return needles
	}},
	{"split in tokens", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := "Found it: " + k.title() + ": " + v + " ."
		if k.text != "" {
			text = "Found it: " + k.around(v) + " ."
		}
		var parts []any
		for from := 0; from < len(text); {
			to := min(len(text), from+2+g.IntN(5))
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			if text[from:to] == v {
				return nil
			}
			parts = append(parts, map[string]any{"type": "response.output_text.delta", "delta": text[from:to]})
			from = to
		}
		k.attribute(td, "events", quote(parts))
		return []string{"\x00" + v}
	}},
}
