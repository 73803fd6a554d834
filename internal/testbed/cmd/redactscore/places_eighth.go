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

// eighthStream is the text of a stream: a value behind its name, or in its own text, between other words.
func (k *kind) eighthStream(v string) string {
	if k.text != "" {
		return "Let me check.\n" + k.around(v) + "\nDone."
	}
	return "Let me check. The " + k.label + " is " + v + ", done."
}

// eighthPlaces are the 18 places in words and shapes of the eighth set.
var eighthPlaces = []place{
	{"prose", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("hey, here's the "+k.label+" you asked for: "+v, "**"+k.title()+"**: `"+v+"`", "- "+k.label+": "+v+" (please don't share)", "la "+k.label+" es "+v+", gracias", "Die "+k.label+" ist "+v+".",
			k.label+" は "+v+" です", "le "+k.label+" est "+v+" merci", k.title()+" "+v+" is what support gave me")
		if k.text != "" {
			text = g.pick("@bob "+k.around(v), "ok so:\n\n```\n"+k.around(v)+"\n```\n\ncan you retry?", "[10:42] ada: "+k.around(v)+"\n[10:43] bob: thx")
		}
		k.attribute(td, "gen_ai.prompt.1.content", text)
		return []string{v}
	}},
	{"log body", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("2026-01-02 03:04:05,678 DEBUG [main] c.e.Config - "+k.camel()+"="+v+", timeout=30", `{"severity":"DEBUG","jsonPayload":{"`+k.camel()+`":`+quote(v)+`}}`, "config: {Host:x "+strings.ReplaceAll(k.title(), " ", "")+":"+v+" Port:1}",
			`D, [2026-01-02] DEBUG -- : Parameters: {"`+k.snake()+`"=>"`+v+`", "id"=>"1"}`, "Settings("+k.snake()+"='"+v+"', debug=True)")
		if k.text != "" {
			text = "<14>1 2026-01-02T03:04:05Z h app 1 - - " + k.around(v)
		}
		k.attribute(td, "log.record.original", text)
		return []string{v, inner(v)}
	}},
	{"env, ini, yaml", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("[auth]\n"+k.snake()+" = \""+v+"\"\n", "Environment=\""+k.env()+"="+v+"\"\n", "<add key=\""+k.camel()+"\" value=\""+v+"\"/>", "<key>"+k.camel()+"</key>\n<string>"+v+"</string>", "app."+strings.ReplaceAll(k.label, " ", ".")+"="+v+"\n",
			"environment:\n  - "+k.env()+"="+v+"\n", "x:\n  "+k.kebab()+": \""+v+"\" # rotate\n")
		if k.text != "" {
			text = "# managed\n" + k.around(v) + "\n"
		}
		k.attribute(td, "tool.result", text)
		return []string{v}
	}},
	{"shell", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("docker run -e "+k.env()+"="+v+" img", "tool --"+k.kebab()+"="+v+" run", "terraform plan -var '"+k.snake()+"="+v+"'", "set -x "+k.env()+" "+v, "curl -H '"+k.title()+": "+v+"' https://x.example.com", "curl -d "+k.snake()+"="+url.QueryEscape(v)+" https://x.example.com",
			"export "+k.env()+"="+v+"; make")
		if k.text != "" {
			text = g.pick("bash -lc \"cd /x\"\n"+k.around(v), "root@h:~# "+k.around(v), "( "+k.around(v)+" ) 2>&1")
		}
		k.attribute(td, "gen_ai.tool.call.arguments.command", text)
		return []string{v, url.QueryEscape(v)}
	}},
	{"HTTP dump", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick(":method: GET\n:path: /v1/me\n"+k.kebab()+": "+v+"\naccept: */*", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"data\":{\""+k.snake()+"\":"+quote(v)+"}}",
			"POST /token HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nuser=ada&"+k.snake()+"="+url.QueryEscape(v), "GET / HTTP/1.1\r\nCookie: lang=en; "+k.snake()+"="+url.QueryEscape(v)+"; x=1\r\n\r\n")
		if k.text != "" {
			text = "PUT /notes/1 HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n\r\n" + k.around(v)
		}
		k.attribute(td, "http.response.body", text)
		return []string{v, inner(v), url.QueryEscape(v)}
	}},
	{"URL query", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		p := url.QueryEscape(v)
		text := g.pick("https://app.example.com/cb#state=1&"+k.snake()+"="+p, `<a href="https://x.example.com/?a=1&amp;`+k.snake()+"="+p+`">x</a>`, "curl 'https://x.example.com/v1?"+k.camel()+"="+p+"'", "request: /v2/items?"+k.kebab()+"="+p+"&sort=asc")
		if k.text != "" {
			p = strings.ReplaceAll(p, "+", "%20")
			text = "https://t.example.com/share?text=" + strings.ReplaceAll(url.QueryEscape(k.around(v)), "+", "%20")
		}
		k.attribute(td, "url.full", text)
		return []string{p}
	}},
	{"JSON arguments", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		doc := []any{
			[]any{map[string]any{"op": "add", "path": "/" + k.snake(), "value": v}},
			map[string]any{"Item": map[string]any{k.camel(): map[string]any{"S": v}}},
			map[string]any{"variables": map[string]any{"input": map[string]any{k.camel(): v}}},
			map[string]any{"headers": []any{[]any{k.title(), v}, []any{"accept", "*/*"}}},
			map[string]any{k.snake(): map[string]any{"type": "string", "value": v}},
			map[string]any{k.env(): v},
		}[g.IntN(6)]
		if k.text != "" {
			doc = []any{map[string]any{"file_text": k.around(v), "command": "create"}, map[string]any{"messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": k.around(v)}}}}}, map[string]any{"input": k.around(v)}}[g.IntN(3)]
		}
		k.attribute(td, "gen_ai.tool.call.arguments", quote(doc))
		return []string{inner(v)}
	}},
	{"JSON in JSON", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		in := quote(map[string]any{"config": map[string]any{k.camel(): v}, "ok": true})
		if k.text != "" {
			in = quote([]any{k.around(v)})
		}
		k.attribute(td, "gen_ai.output.messages", quote([]any{map[string]any{"tool_calls": []any{map[string]any{"function": map[string]any{"name": "put", "arguments": in}}}}}))
		return []string{inner(inner(v))}
	}},
	{"escapes", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		e := escaped(g, v)
		text := `{'` + k.snake() + `': '` + e + `', 'n': 1}`
		if k.text != "" {
			text = `stdout: "` + strings.Replace(inner(strings.Replace(k.text, "\x00", "@@@", 1)), "@@@", e, 1) + `\n"`
		}
		k.attribute(td, "tool.output", text)
		return []string{e}
	}},
	{"percent", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
		text := "payload=" + escape(`{"`+k.snake()+`":"`) + escape(inner(v)) + escape(`","n":1}`)
		if k.text != "" {
			text = "data:text/plain;charset=utf-8," + escape(k.around(v))
		}
		k.attribute(td, "http.request.body", text)
		return []string{escape(v), escape(inner(v))}
	}},
	{"base64", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick("[default]\n"+k.snake()+" = "+v+"\n", quote(map[string]any{"auths": map[string]any{k.camel(): v}}), "--"+k.kebab()+"="+v+" --verbose")
		if k.text != "" {
			text = k.around(v)
		}
		p := base64.StdEncoding.EncodeToString([]byte(text))
		switch g.IntN(3) {
		case 0:
			p = base64.RawURLEncoding.EncodeToString([]byte(text))
		case 1: // lines of 76, as mail and the command base64 write it
			var b strings.Builder
			for i := range len(p) {
				if i > 0 && i%76 == 0 {
					b.WriteByte('\n')
				}
				b.WriteByte(p[i])
			}
			p = b.String()
		}
		k.attribute(td, "file.content", g.pick("data:text/plain;base64,"+p, "Content-Transfer-Encoding: base64\n\n"+p+"\n", p))
		return []string{p}
	}},
	{"kvlist", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		m := spanOf(td).Attributes().PutEmptyMap("config")
		switch {
		case k.text != "":
			m.PutEmptyMap("file").PutStr("body", k.around(v))
		case g.IntN(3) == 0:
			e := m.PutEmptySlice("env").AppendEmpty().SetEmptyMap()
			e.PutStr("key", k.env())
			e.PutStr("value", v)
		case g.IntN(2) == 0:
			m.PutEmptyMap("connection").PutEmptyMap("options").PutStr(k.kebab(), v)
		default:
			m.PutEmptyMap(k.camel()).PutStr("value", v)
		}
		return []string{v}
	}},
	{"native argv", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		args := [][]string{{"curl", "-sS", "-H", k.title() + ": " + v, "https://x.example.com"}, {"docker", "run", "-e", k.env() + "=" + v, "img"}, {"tool", "--" + k.kebab() + "=" + v}, {"tool", "config", "--" + k.kebab(), v}}[g.IntN(4)]
		if k.text != "" {
			args = []string{"/bin/bash", "-lc", k.around(v)}
		}
		argv := spanOf(td).Attributes().PutEmptySlice("process.command_args")
		for _, a := range args {
			argv.AppendEmpty().SetStr(a)
		}
		return []string{v}
	}},
	{"span fields", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text, s := g.pick(k.camel()+"="+v, k.label+": "+v, "'"+k.snake()+"': '"+v+"'"), spanOf(td)
		if k.text != "" {
			text = k.around(v)
		}
		switch g.IntN(5) {
		case 0:
			s.SetName("exec " + text)
		case 1:
			s.Status().SetMessage("exit status 1: " + text)
		case 2:
			s.Events().AppendEmpty().Attributes().PutStr("exception.stacktrace", "Traceback:\n  File \"a.py\", line 3\nKeyError: "+text+"\n")
		case 3:
			s.Links().AppendEmpty().Attributes().PutStr("reason", text)
		case 4:
			td.ResourceSpans().At(0).Resource().Attributes().PutStr("process.command_line", "app "+text)
		}
		return []string{v}
	}},
	{"neutral key", true, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := g.pick(v, "["+v+"]", "result: "+v, `"`+v+`"`)
		if k.text != "" {
			text = k.around(v)
		}
		k.attribute(td, "data", text)
		return []string{v}
	}},
	{"split in events", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		pieces, needles := halves(g, k.eighthStream(v), v, 2+g.IntN(2))
		for _, p := range pieces {
			e := spanOf(td).Events().AppendEmpty()
			e.SetName("chunk")
			e.Attributes().PutStr("data", quote(map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": p}}))
		}
		for i := range needles {
			needles[i] = inner(needles[i])
		}
		return needles
	}},
	{"split in an array", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		pieces, needles := halves(g, k.eighthStream(v), v, 2+g.IntN(2))
		for i := range needles {
			needles[i] = inner(needles[i])
		}
		if g.IntN(2) == 0 { // lines of JSON
			var b strings.Builder
			for i, p := range pieces {
				fmt.Fprintf(&b, "{\"i\":%d,\"response\":%s,\"done\":false}\n", i, quote(p))
			}
			k.attribute(td, "llm.stream", b.String())
			return needles
		}
		var list []any
		for _, p := range pieces {
			list = append(list, map[string]any{"candidates": []any{map[string]any{"content": map[string]any{"parts": []any{map[string]any{"text": p}}, "role": "model"}}}})
		}
		k.attribute(td, "llm.chunks", quote(list))
		return needles
	}},
	{"split in tokens", false, func(g *generator, td ptrace.Traces, k *kind, v string) []string {
		text := k.eighthStream(v)
		var parts []any
		bare := g.IntN(2) == 0
		for from := 0; from < len(text); {
			to := min(len(text), from+1+g.IntN(6))
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			if bare {
				parts = append(parts, text[from:to])
			} else {
				parts = append(parts, map[string]any{"event": "token", "delta": text[from:to]})
			}
			from = to
		}
		k.attribute(td, "stream.tokens", quote(parts))
		return []string{"\x00" + v}
	}},
}
