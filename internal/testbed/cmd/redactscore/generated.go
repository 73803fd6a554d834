// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

// generated makes secrets of many forms and wraps each in what telemetry of agents wraps them in. The same seed gives the same cases.
func generated(seed uint64) (cases []Case) {
	g := newGenerator(seed)
	for range 3 {
		cases = append(cases, g.published()...)
		for _, s := range g.secrets() {
			for _, w := range wrappings {
				c := w.wrap(g, s.value)
				c.Set, c.Kind = "generated: "+w.name, s.kind
				cases = append(cases, c)
			}
		}
		cases = append(cases, g.named()...)
	}
	return cases
}

type generator struct{ *rand.Rand }

func newGenerator(seed uint64) *generator { return &generator{rand.New(rand.NewPCG(seed, seed))} }

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) chars(n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	digit  = "0123456789"
	hexa   = "0123456789abcdef"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum  = lower + upper + digit
	base   = alnum + "+/"
	urlish = alnum + "-_"
)

// secret is a value, and before and after it what stands with it.
type secret struct{ kind, value string }

// secrets are values that are recognised by themselves.
func (g *generator) secrets() []secret {
	jwt := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	all := []secret{
		{"github", "gh" + g.pick("p", "o", "u", "s", "r") + "_" + g.chars(36, alnum)},
		{"github fine", "github_pat_" + g.chars(22, alnum) + "_" + g.chars(59, alnum)},
		{"gitlab", "glpat-" + g.chars(20, urlish)},
		{"openai project", "sk-proj-" + g.chars(48, alnum)},
		{"openai", "sk-" + g.chars(48, alnum)},
		{"anthropic", "sk-ant-api03-" + g.chars(93, urlish) + "AA"},
		{"google", "AIza" + g.chars(35, urlish)},
		{"google oauth", "ya29." + g.chars(60, urlish)},
		{"aws id", g.pick("AKIA", "ASIA") + g.chars(16, upper+"234567")},
		{"slack bot", "xoxb-" + g.chars(11, digit) + "-" + g.chars(12, digit) + "-" + g.chars(24, alnum)},
		{"slack hook", "https://hooks.slack.com/services/T" + g.chars(8, upper+digit) + "/B" + g.chars(8, upper+digit) + "/" + g.chars(24, alnum)},
		{"stripe", g.pick("sk", "rk") + "_live_" + g.chars(24, alnum)},
		{"sendgrid", "SG." + g.chars(22, urlish) + "." + g.chars(43, urlish)},
		{"hugging face", "hf_" + g.chars(34, lower+upper)},
		{"npm", "npm_" + g.chars(36, alnum)},
		{"twilio", "SK" + g.chars(32, hexa)},
		{"groq", "gsk_" + g.chars(52, alnum)},
		{"xai", "xai-" + g.chars(80, alnum)},
		{"databricks", "dapi" + g.chars(32, hexa)},
		{"digitalocean", "dop_v1_" + g.chars(64, hexa)},
		{"vault", "hvs." + g.chars(95, urlish)},
		{"azure client", g.chars(3, alnum) + g.chars(1, digit) + "Q~" + g.chars(34, alnum+"_.~-")[:33] + "a"},
		{"telegram", g.chars(10, "123456789") + ":AA" + g.chars(33, urlish)},
		{"jwt", jwt(map[string]any{"alg": "HS256", "typ": "JWT"}) + "." + jwt(map[string]any{"sub": g.chars(8, digit), "iat": g.IntN(1e9)}) + "." + g.chars(43, urlish)},
		{"private key", "-----BEGIN " + g.pick("RSA ", "EC ", "", "OPENSSH ") + "PRIVATE KEY-----\n" + g.chars(64, base) + "\n" + g.chars(64, base) + "\n-----END PRIVATE KEY-----"},
		{"database url", g.pick("postgres", "mysql", "mongodb+srv", "redis", "amqp") + "://app:" + g.chars(14, alnum+"!$*._-") + "@db.internal:5432/main"},
		{"bearer", "Authorization: Bearer " + g.chars(32, alnum)},
		{"basic", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+g.chars(10, alnum)))},
		{"storage key", "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=" + g.chars(86, base) + "==;EndpointSuffix=core.windows.net"},
		{"assignment", g.pick("password", "DB_PASSWORD", "client_secret", "api_key", "secretAccessKey") + g.pick("=", ": ", " = ") + `"` + g.chars(16, alnum+"!#%*") + `"`},

		{"e-mail", strings.ToLower(g.chars(6, lower)) + "." + g.chars(5, lower) + g.pick("@", "+tag@", "@mail.") + g.chars(7, lower) + g.pick(".com", ".co.uk", ".io")},
		{"card", g.card()},
		{"iban", g.iban()},
		{"ssn", fmt.Sprintf("%03d-%02d-%04d", 100+g.IntN(500), 1+g.IntN(98), 1+g.IntN(9998))},
		{"phone", g.pick("+1 415 555 "+g.chars(4, digit), "+44 20 7946 "+g.chars(4, digit), "(212) 555-"+g.chars(4, digit), "+4915"+g.chars(9, digit), "06 12 34 56 "+g.chars(2, digit), "415-555-"+g.chars(4, digit))},
		{"ipv4", fmt.Sprintf("%d.%d.%d.%d", 11+g.IntN(150), g.IntN(256), g.IntN(256), 1+g.IntN(254))},
		{"ipv6", fmt.Sprintf("2001:db8:%x:%x::%x", 1+g.IntN(65000), 1+g.IntN(65000), 1+g.IntN(65000))},
	}
	return all
}

func luhnDigit(n string) string {
	sum := 0
	for i := range len(n) {
		d := int(n[len(n)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return string(digit[(10-sum%10)%10])
}

func (g *generator) card() string {
	switch g.IntN(4) {
	case 0:
		n := "4" + g.chars(14, digit)
		return n + luhnDigit(n)
	case 1:
		n := "5" + g.chars(1, "12345") + g.chars(13, digit)
		n += luhnDigit(n)
		return n[:4] + " " + n[4:8] + " " + n[8:12] + " " + n[12:]
	case 2:
		n := "37" + g.chars(12, digit)
		n += luhnDigit(n)
		return n[:4] + "-" + n[4:10] + "-" + n[10:]
	}
	n := "6011" + g.chars(11, digit)
	return n + luhnDigit(n)
}

func (g *generator) iban() string {
	country, bban := g.pick("DE", "FR", "GB", "NL"), ""
	switch country {
	case "DE":
		bban = g.chars(18, digit)
	case "FR":
		bban = g.chars(23, digit)
	case "GB":
		bban = g.chars(4, upper) + g.chars(14, digit)
	case "NL":
		bban = g.chars(4, upper) + g.chars(10, digit)
	}
	rem := 0
	for _, c := range bban + country + "00" {
		if c >= 'A' {
			rem = (rem*100 + int(c-'A') + 10) % 97
		} else {
			rem = (rem*10 + int(c-'0')) % 97
		}
	}
	n := fmt.Sprintf("%s%02d%s", country, 98-rem, bban)
	if g.IntN(2) == 0 {
		return n
	}
	var b strings.Builder
	for i := range len(n) {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteByte(n[i])
	}
	return b.String()
}

// wrapping is a way in which a value stands in telemetry.
type wrapping struct {
	name string
	wrap func(g *generator, v string) Case
}

func quote(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n")
}

func inner(s string) string { return strings.Trim(quote(s), `"`) }

func text(key, s string, needle ...string) Case {
	return Case{Key: key, Text: []byte(s), Needle: needle}
}

func doc(v string) string {
	return quote(map[string]any{"role": "tool", "parts": []any{map[string]any{"type": "text", "content": "result: " + v + " (end)"}}, "n": 1.5})
}

var wrappings = []wrapping{
	{"bare", func(g *generator, v string) Case { return text("output", v, v) }},
	{"prose", func(g *generator, v string) Case {
		return text("content", "I found this: "+v+g.pick(", ok?", ". Next", ") done", "\nthen", "]", " and so on"), v)
	}},
	{"JSON", func(g *generator, v string) Case { s := doc(v); return text("messages", s, inner(v)) }},
	{"JSON in JSON", func(g *generator, v string) Case {
		return text("messages", quote(map[string]string{"arguments": doc(v)}), inner(inner(v)))
	}},
	{"JSON four deep", func(g *generator, v string) Case {
		return text("messages", quote([]string{quote(map[string]string{"a": quote(map[string]string{"b": doc(v)})})}), inner(inner(inner(inner(v)))))
	}},
	{"cut JSON", func(g *generator, v string) Case {
		s := quote(map[string]string{"arguments": doc(v), "more": "text that is cut"})
		return text("messages", s[:len(s)-g.IntN(8)-2], inner(inner(v)))
	}},
	{"JSON in prose", func(g *generator, v string) Case {
		return text("content", "HTTP/1.1 200 OK\r\n\r\n"+doc(v)+"\n", inner(v))
	}},
	{"unicode escapes", func(g *generator, v string) Case {
		var b strings.Builder
		for i := range len(v) {
			if c := v[i]; g.IntN(3) == 0 || c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
		return text("messages", `{"content":"see `+b.String()+` there"}`, b.String())
	}},
	{"Python", func(g *generator, v string) Case {
		p := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(v)
		return text("result", `{'ok': True, 'value': '`+p+`', 'n': None}`, p)
	}},
	{"percent", func(g *generator, v string) Case {
		p := url.QueryEscape(v)
		return text("url", "https://example.com/search?q="+strings.ReplaceAll(p, "+", "%20")+"&page=2", strings.ReplaceAll(p, "+", "%20"))
	}},
	{"base64", func(g *generator, v string) Case {
		p := base64.StdEncoding.EncodeToString([]byte("some text, then " + v + " and more"))
		return text("data", "payload="+p, p)
	}},
	{"base64 of JSON", func(g *generator, v string) Case {
		p := base64.RawURLEncoding.EncodeToString([]byte(doc(v)))
		return text("data", quote(map[string]string{"blob": p}), p)
	}},
	{"code", func(g *generator, v string) Case {
		return text("content", "```python\nclient = Client(\""+inner(v)+"\")\n```", inner(v))
	}},
	{"XML", func(g *generator, v string) Case { return text("content", "<item><value>"+v+"</value></item>", v) }},
	{"chunks", func(g *generator, v string) Case {
		s := "here it is: " + v + " (that was all)"
		var parts []string
		for s != "" {
			n := min(len(s), 3+g.IntN(6))
			parts, s = append(parts, s[:n]), s[n:]
		}
		c := text("chunks", quote(parts), v)
		c.Joined = true
		return c
	}},
}

// named are values that only their name gives away.
func (g *generator) named() (cases []Case) {
	for _, name := range []string{"password", "db_password", "DB_PASSWORD", "userPassword", "passwd", "client_secret", "clientSecret", "secret", "api_key",
		"apiKey", "X-API-Key", "x-api-key", "openai_api_key", "access_token", "refreshToken", "authToken", "private_key", "aws_secret_access_key",
		"Authorization", "cookie", "credentials", "passphrase", "encryption_key", "session_token", "webhook_secret"} {
		v := g.chars(14+g.IntN(8), alnum+"!*_-")
		add := func(kind string, c Case) {
			c.Set, c.Kind = "generated: under a name", kind
			cases = append(cases, c)
		}
		add("attribute", text(name, v, v))
		add("JSON", text("args", quote(map[string]string{"user": "ada", name: v}), v))
		add("JSON in JSON", text("args", quote(map[string]string{"body": quote(map[string]string{name: v})}), v))
		add("Python", text("args", "{'user': 'ada', '"+name+"': '"+v+"'}", v))
		add("cut JSON", text("args", `{"body":"{\"`+name+`\":\"`+v+`\",\"x`, v))
		add("environment", text("output", "HOME=/root\n"+name+"="+v+"\nPATH=/bin", v))
		add("YAML", text("output", "spec:\n  "+name+": "+v+"\n  n: 1", v))
		add("header", text("output", "GET / HTTP/1.1\r\n"+name+": "+v+"\r\nHost: example.com", v))
		add("flag", text("command", "run --"+name+" "+v+" --verbose", v))
		add("flag in a list", text("command", quote([]string{"run", "--" + name, v, "--verbose"}), v))
		add("query", text("url", "https://example.com/x?a=1&"+name+"="+url.QueryEscape(v)+"&b=2", url.QueryEscape(v)))
		add("name and value", text("env", quote([]map[string]string{{"name": name, "value": v}}), v))
		add("code", text("content", name+" = \""+v+"\"", v))
		add("XML", text("content", "<config><"+name+">"+v+"</"+name+"></config>", v))
		add("number", text("args", quote(map[string]any{name: 10000000 + g.IntN(80000000)}), "000000000000"))
	}
	return cases
}

// published makes an example of each of gitleaks' patterns, as it would stand in a file.
func (g *generator) published() (cases []Case) {
	_, rules := detect.PublishedRules()
	for _, rule := range rules {
		re, err := syntax.Parse(rule.Pattern, syntax.Perl)
		if err != nil {
			continue
		}
		compiled := regexp.MustCompile(rule.Pattern)
		for try := 0; try < 50; try++ {
			var b strings.Builder
			g.match(&b, re.Simplify())
			s := b.String()
			m := compiled.FindStringSubmatch(s)
			if m == nil {
				continue
			}
			value := m[rule.Group]
			if rule.Group == 0 {
				for _, group := range m[1:] {
					if group != "" {
						value = group
						break
					}
				}
			}
			if value = strings.Trim(value, " \"'`\n"); len(value) < 8 || entropy(value) < rule.Entropy {
				continue
			}
			if !slices.ContainsFunc(rule.Keywords, func(k string) bool { return strings.Contains(strings.ToLower(s), k) }) {
				continue // gitleaks would not look at it
			}
			cases = append(cases, Case{Set: "generated: gitleaks' patterns", Kind: rule.ID, Text: []byte("x = 1\n" + s + "\n"), Needle: []string{value}})
			break
		}
	}
	return cases
}

// match writes a text that the expression matches.
func (g *generator) match(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		var ascii []rune
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1] && r < 0x7f; r++ {
				if r >= ' ' {
					ascii = append(ascii, r)
				}
			}
		}
		if len(ascii) > 0 {
			b.WriteRune(ascii[g.IntN(len(ascii))])
		} else {
			b.WriteByte('\n')
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(alnum[g.IntN(len(alnum))])
	case syntax.OpCapture:
		g.match(b, re.Sub[0])
	case syntax.OpStar:
		for range g.IntN(3) {
			g.match(b, re.Sub[0])
		}
	case syntax.OpPlus:
		for range 4 + g.IntN(12) {
			g.match(b, re.Sub[0])
		}
	case syntax.OpQuest:
		if g.IntN(8) == 0 {
			g.match(b, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			g.match(b, sub)
		}
	case syntax.OpAlternate:
		g.match(b, re.Sub[g.IntN(len(re.Sub))])
	}
}

func entropy(s string) (e float64) {
	counts := map[rune]int{}
	for _, c := range s {
		counts[c]++
	}
	for _, n := range counts {
		p := float64(n) / float64(len(s))
		e -= p * math.Log2(p)
	}
	return e
}
