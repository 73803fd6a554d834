// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// benignKind makes text that holds nothing to redact and looks as if it did: ids, digests, numbers, code, encoded pictures.
type benignKind struct {
	name string
	make func(g *generator) string
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var benignKinds = []benignKind{
	{"uuid", func(g *generator) string { return g.pick("request ", "id=", "object ", "for user ") + g.uuid() }},
	{"uuid v7", func(g *generator) string {
		return "event 0190" + g.chars(4, hexa) + "-" + g.chars(4, hexa) + "-7" + g.chars(3, hexa) + "-a" + g.chars(3, hexa) + "-" + g.chars(12, hexa)
	}},
	{"git sha", func(g *generator) string {
		return g.pick("commit ", "at revision ", "HEAD is now at ") + g.chars(40, hexa)
	}},
	{"short sha", func(g *generator) string { return "merge " + g.chars(7, hexa) + " into " + g.chars(8, hexa) }},
	{"sha256", func(g *generator) string {
		return g.pick("sha256:", "digest ", "checksum=", "integrity sha256-") + g.chars(64, hexa)
	}},
	{"md5", func(g *generator) string { return g.pick("md5 ", "etag: ", "file hash ") + g.chars(32, hexa) }},
	{"image digest", func(g *generator) string { return "docker.io/library/nginx@sha256:" + g.chars(64, hexa) }},
	{"subresource integrity", func(g *generator) string {
		return `<script src="/a.js" integrity="sha384-` + g.chars(64, base) + `"></script>`
	}},
	{"npm lock", func(g *generator) string {
		return `"resolved": "https://npm.corp.example/left-pad/-/left-pad-1.3.0.tgz", "integrity": "sha512-` + g.chars(86, base) + `=="`
	}},
	{"go.sum", func(g *generator) string { return "golang.org/x/text v0.3.7/go.mod h1:" + g.chars(43, base) + "=" }},
	{"trace id", func(g *generator) string {
		return "traceparent: 00-" + g.chars(32, hexa) + "-" + g.chars(16, hexa) + "-01"
	}},
	{"span ids", func(g *generator) string { return "trace_id=" + g.chars(32, hexa) + " span_id=" + g.chars(16, hexa) }},
	{"ulid", func(g *generator) string { return g.pick("order ", "job ", "") + "01J" + g.chars(23, crockford) }},
	{"ksuid", func(g *generator) string { return "queued 2" + g.chars(26, alnum) }},
	{"nanoid", func(g *generator) string { return "doc " + g.chars(21, urlish) }},
	{"tool call id", func(g *generator) string { return g.pick("call_", "toolu_01", "fc_") + g.chars(24, alnum) }},
	{"message id", func(g *generator) string { return g.pick("msg_01", "chatcmpl-", "resp_", "run-") + g.chars(24, alnum) }},
	{"object ids", func(g *generator) string {
		return g.pick("cus_", "pi_", "evt_", "prod_", "in_", "ch_") + g.chars(14, alnum)
	}},
	{"mongo id", func(g *generator) string { return `{"_id": "65` + g.chars(22, hexa) + `"}` }},
	{"snowflake", func(g *generator) string { return "message 1" + g.chars(18, digit) + " was deleted" }},
	{"order number", func(g *generator) string {
		return g.pick("order no. ", "invoice INV-", "ticket #", "PO-", "case ") + "2024-" + g.chars(6, digit)
	}},
	{"tracking", func(g *generator) string { return "tracking 1Z" + g.chars(16, digit+upper) }},
	{"ean", func(g *generator) string { return g.pick("EAN ", "GTIN ", "barcode ") + g.ean() }},
	{"isbn", func(g *generator) string {
		return "ISBN 978-3-" + g.chars(2, digit) + "-" + g.chars(6, digit) + "-" + g.chars(1, digit)
	}},
	{"version", func(g *generator) string {
		return fmt.Sprintf("version %d.%d.%d.%d released", 1+g.IntN(20), g.IntN(20), g.IntN(30000), g.IntN(5000))
	}},
	{"section", func(g *generator) string {
		return fmt.Sprintf(g.pick("see § %d.%d.%d.%d", "section %d.%d.%d.%d of the standard", "as clause %d.%d.%d.%d says"), 1+g.IntN(20), 1+g.IntN(9), 1+g.IntN(9), 1+g.IntN(9))
	}},
	{"semver range", func(g *generator) string {
		return fmt.Sprintf(`"react": "^%d.%d.%d", "vite": "~%d.%d.0"`, g.IntN(20), g.IntN(20), g.IntN(20), g.IntN(9), g.IntN(9))
	}},
	{"timestamp", func(g *generator) string {
		return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02d.%sZ", 1+g.IntN(12), 1+g.IntN(28), g.IntN(24), g.IntN(60), g.IntN(60), g.chars(9, digit))
	}},
	{"unix time", func(g *generator) string { return "at 17" + g.chars(8, digit) + " and 17" + g.chars(11, digit) }},
	{"float", func(g *generator) string {
		return fmt.Sprintf("score %.16f, loss %.12e", g.Float64(), g.Float64()/1e6)
	}},
	{"vector", func(g *generator) string {
		return fmt.Sprintf("[%.17f, -%.17f, %.17f]", g.Float64(), g.Float64(), g.Float64())
	}},
	{"coordinates", func(g *generator) string { return fmt.Sprintf("lat %.6f, lon %.6f", g.Float64()*90, g.Float64()*180) }},
	{"base64 png", func(g *generator) string {
		return "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA" + g.chars(400, base)
	}},
	{"base64 jpeg", func(g *generator) string {
		return `<img src="data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ` + g.chars(300, base) + `==">`
	}},
	{"base64 of text", func(g *generator) string {
		return base64.StdEncoding.EncodeToString([]byte("the report for " + g.pick("monday", "tuesday", "friday") + " is ready and has " + g.pick("3", "12", "40") + " pages"))
	}},
	{"thinking signature", func(g *generator) string {
		return `{"type":"thinking","thinking":"let me see","signature":"` + g.chars(200, base) + `=="}`
	}},
	{"public key", func(g *generator) string {
		return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + g.chars(43, base) + " ada"
	}},
	{"certificate", func(g *generator) string {
		return "-----BEGIN CERTIFICATE-----\nMIID" + g.chars(60, base) + "\n" + g.chars(64, base) + "\n-----END CERTIFICATE-----"
	}},
	{"hex dump", func(g *generator) string {
		return "00000000  " + strings.TrimSpace(strings.Repeat(g.chars(2, hexa)+" ", 16)) + "  |................|"
	}},
	{"address of memory", func(g *generator) string {
		return "panic at 0x" + g.chars(12, hexa) + " in main.run(0xc" + g.chars(9, hexa) + ")"
	}},
	{"mac", func(g *generator) string {
		return "MAC " + strings.TrimSuffix(strings.Repeat(strings.ToUpper(g.chars(2, hexa))+":", 6), ":")
	}},
	{"colour", func(g *generator) string { return "color: #" + g.chars(6, hexa) + "; background: #" + g.chars(8, hexa) }},
	{"minified js", func(g *generator) string {
		return `!function(e,t){"use strict";var n=t.` + g.chars(4, lower) + `;e.exports=function(e){return n.` + g.chars(5, lower) + `(e,{key:e.key,token:null})}}(` + g.chars(1, lower) + `,` + g.chars(1, upper) + `);`
	}},
	{"css class", func(g *generator) string { return `<div class="css-` + g.chars(7, lower+digit) + ` MuiBox-root">` }},
	{"source map", func(g *generator) string {
		return `{"version":3,"mappings":"AAAA,` + g.chars(6, upper) + `,` + g.chars(4, upper) + `;` + g.chars(8, upper) + `"}`
	}},
	{"code", func(g *generator) string {
		return g.pick(`token, err := client.Token(ctx)`, `const apiKey = getenv("API_KEY") ?? ""`, `if token == nil { return errNoToken }`, `password = getpass("Password: ")`,
			`api_key=os.environ.get("API_KEY")`, `headers["Authorization"] = f"Bearer {token}"`, `def verify(password: str, hashed: str) -> bool:`, `String token = request.getHeader("X-Token");`)
	}},
	{"metrics", func(g *generator) string {
		return fmt.Sprintf("prompt_tokens=%d completion_tokens=%d total_tokens=%d cached_tokens: %d max_tokens: 4096", g.IntN(9000), g.IntN(900), g.IntN(9999), g.IntN(500))
	}},
	{"path", func(g *generator) string {
		return "/usr/lib/python3." + g.chars(1, digit) + "/site-packages/" + g.chars(8, lower) + "/tokens_" + g.chars(4, lower) + ".py"
	}},
	{"bucket key", func(g *generator) string {
		return "s3://data-lake/year=2024/month=11/part-00" + g.chars(3, digit) + "-" + g.uuid() + ".snappy.parquet"
	}},
	{"arn", func(g *generator) string {
		return "arn:aws:lambda:eu-west-1:" + g.chars(12, digit) + ":function:" + g.chars(8, lower)
	}},
	{"pod", func(g *generator) string {
		return "api-gateway-" + g.chars(10, lower+digit) + "-" + g.chars(5, lower+digit) + " restarted"
	}},
	{"url", func(g *generator) string {
		return "https://example.com/articles/" + g.chars(8, digit) + "/how-to-" + g.chars(6, lower) + "?page=" + g.chars(2, digit) + "&sort=asc"
	}},
	{"video", func(g *generator) string { return "https://www.youtube.com/watch?v=" + g.chars(11, urlish) }},
	{"page token", func(g *generator) string { return `{"next_page_token": "` + g.chars(24, base) + `", "items": []}` }},
	{"cache key", func(g *generator) string { return "cache_key=users:" + g.chars(5, digit) + ":profile:v3 hit" }},
	{"idempotency", func(g *generator) string { return "Idempotency-Key: " + g.uuid() }},
	{"prose", func(g *generator) string {
		return g.pick("The key to the secret garden was a token of her affection.", "Bitte setzen Sie Ihr Passwort zurück.", "Le mot de passe doit contenir huit caractères.",
			"La contraseña no es válida.", "パスワードを入力してください", "密码错误，请重试", "пароль неверный, попробуйте ещё раз", "A senha expirou ontem.", "Wachtwoord vergeten?", "Hasło jest za krótkie.",
			"The parole board met on Tuesday.", "La parola chiave è importante.", "Use the default settings as the baseline.", "Credentials are checked by the server.", "Login is required to continue.")
	}},
	{"number", func(g *generator) string {
		return fmt.Sprintf("%d rows, %d bytes, offset %d", g.IntN(1e9), g.IntN(1<<40), g.IntN(1<<50))
	}},
	{"table", func(g *generator) string {
		return "| id | tokens | cost |\n|---|---|---|\n| " + g.chars(4, digit) + " | " + g.chars(5, digit) + " | 0.0" + g.chars(3, digit) + " |"
	}},
	{"stack", func(g *generator) string {
		return "at com.example.auth.TokenService$$Lambda$" + g.chars(3, digit) + "/0x" + g.chars(16, hexa) + ".refresh(TokenService.java:" + g.chars(3, digit) + ")"
	}},
	{"user agent", func(g *generator) string {
		return "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/12" + g.chars(1, digit) + ".0.6" + g.chars(3, digit) + "." + g.chars(3, digit) + " Safari/537.36"
	}},
	{"sequence", func(g *generator) string { return "ATG" + g.chars(60, "ACGT") + "TAA" }},
	{"crew key", func(g *generator) string {
		return `{"crew_key": "` + g.chars(32, hexa) + `", "task_id": "` + g.uuid() + `", "agent_key": "` + g.chars(32, hexa) + `"}`
	}},
	{"lock name", func(g *generator) string { return "acquired lock orders-" + g.uuid() + " in 3 ms" }},
	{"feature", func(g *generator) string {
		return "sk-learn-" + g.chars(6, lower) + "-pipeline and key-value-" + g.chars(5, lower) + "-store"
	}},
	{"dns", func(g *generator) string { return "d" + g.chars(13, lower+digit) + ".cloudfront.net resolved" }},
	{"eth address", func(g *generator) string { return "to 0x" + g.chars(40, hexa) }},
}

func (g *generator) uuid() string {
	return g.chars(8, hexa) + "-" + g.chars(4, hexa) + "-4" + g.chars(3, hexa) + "-" + g.pick("8", "9", "a", "b") + g.chars(3, hexa) + "-" + g.chars(12, hexa)
}

// ean is a number of goods with its check digit.
func (g *generator) ean() string {
	n, sum := g.pick("40", "50", "87", "30")+g.chars(10, digit), 0
	for i := range len(n) {
		sum += int(n[i]-'0') * (1 + i%2*2)
	}
	return n + string(rune('0'+(10-sum%10)%10))
}

// generatedBenign makes n texts of each kind.
func generatedBenign(kinds []benignKind, seed uint64, n int) (texts []string) {
	g := newGenerator(seed)
	for _, k := range kinds {
		for range n {
			texts = append(texts, k.make(g))
		}
	}
	return texts
}
