// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// benignFourth are further kinds of text that hold nothing to redact, drawn with the fourth set of kinds.
var benignFourth = []benignKind{
	{"cargo lock", func(g *generator) string {
		return "[[package]]\nname = \"" + g.chars(6, lower) + "\"\nversion = \"1.0." + g.chars(3, digit) + "\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"" + g.chars(64, hexa) + "\""
	}},
	{"poetry lock", func(g *generator) string {
		return `{file = "requests-2.31.0-py3-none-any.whl", hash = "sha256:` + g.chars(64, hexa) + `"},`
	}},
	{"yarn lock", func(g *generator) string {
		return `left-pad@^1.3.0:` + "\n  version \"1.3.0\"\n  resolved \"https://registry.yarnpkg.com/left-pad/-/left-pad-1.3.0.tgz#" + g.chars(40, hexa) + "\"\n  integrity sha1-" + g.chars(27, base) + "="
	}},
	{"pnpm lock", func(g *generator) string {
		return "/debug@4.3.4:\n    resolution: {integrity: sha512-" + g.chars(86, base) + "==}\n    engines: {node: '>=6.0'}"
	}},
	{"gemfile lock", func(g *generator) string {
		return "GEM\n  remote: https://rubygems.org/\n  specs:\n    rails (7.1." + g.chars(1, digit) + ")\n      actionpack (= 7.1.2)"
	}},
	{"pip hash", func(g *generator) string {
		return "certifi==2024.7.4 --hash=sha256:" + g.chars(64, hexa)
	}},
	{"nix hash", func(g *generator) string {
		return "/nix/store/" + g.chars(32, "0123456789abcdfghijklmnpqrsvwxyz") + "-openssl-3.0.1" + g.chars(1, digit)
	}},
	{"flake lock", func(g *generator) string {
		return `"narHash": "sha256-` + g.chars(43, base) + `=", "rev": "` + g.chars(40, hexa) + `"`
	}},
	{"terraform lock", func(g *generator) string {
		return "hashes = [\n    \"h1:" + g.chars(43, base) + "=\",\n    \"zh:" + g.chars(64, hexa) + "\",\n  ]"
	}},
	{"git log", func(g *generator) string {
		return g.chars(7, hexa) + " " + g.pick("Fix token refresh", "Rename secret store", "Bump password policy to 12", "Merge branch 'api-key-rotation'")
	}},
	{"git diff", func(g *generator) string {
		return "diff --git a/auth/token.go b/auth/token.go\nindex " + g.chars(7, hexa) + ".." + g.chars(7, hexa) + " 100644\n@@ -1,4 +1,4 @@ func Token() string {"
	}},
	{"git objects", func(g *generator) string {
		return "100644 blob " + g.chars(40, hexa) + "\tsrc/password.ts\n040000 tree " + g.chars(40, hexa) + "\tsrc"
	}},
	{"dna", func(g *generator) string { return ">seq" + g.chars(3, digit) + "\n" + g.chars(70, "ACGT") }},
	{"protein", func(g *generator) string {
		return "sequence: M" + g.chars(60, "ACDEFGHIKLMNPQRSTVWY")
	}},
	{"chess fen", func(g *generator) string {
		return "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/2N5/PPP2PPP/R1BQKB1R b KQkq - " + g.chars(1, digit) + " " + g.chars(1, digit)
	}},
	{"chess moves", func(g *generator) string {
		return "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Bg5 e6 " + g.chars(1, digit) + "-" + g.chars(1, digit)
	}},
	{"smiles", func(g *generator) string { return "CC(=O)OC1=CC=CC=C1C(=O)O caffeine CN1C=NC2=C1C(=O)N(C(=O)N2C)C" }},
	{"inchi key", func(g *generator) string {
		return "InChIKey=" + g.chars(14, upper) + "-" + g.chars(10, upper) + "-N"
	}},
	{"coordinates dms", func(g *generator) string {
		return fmt.Sprintf("%d°%d'%d.%d\"N %d°%d'%d.%d\"E", g.IntN(90), g.IntN(60), g.IntN(60), g.IntN(10), g.IntN(180), g.IntN(60), g.IntN(60), g.IntN(10))
	}},
	{"geojson", func(g *generator) string {
		return fmt.Sprintf(`{"type":"Point","coordinates":[%.7f,%.7f]}`, g.Float64()*180, g.Float64()*90)
	}},
	{"geohash", func(g *generator) string {
		return "geohash u33d" + g.chars(8, "0123456789bcdefghjkmnpqrstuvwxyz")
	}},
	{"plus code", func(g *generator) string {
		return "plus code 9F4M" + g.chars(4, "23456789CFGHJMPQRVWX") + "+" + g.chars(2, "23456789CFGHJMPQRVWX")
	}},
	{"cron", func(g *generator) string {
		return fmt.Sprintf("%d %d * * %d /usr/local/bin/rotate-tokens --all", g.IntN(60), g.IntN(24), g.IntN(7))
	}},
	{"java trace", func(g *generator) string {
		return fmt.Sprintf("java.lang.IllegalStateException: token expired\n\tat com.example.auth.KeyStore.load(KeyStore.java:%d)\n\tat java.base/java.lang.Thread.run(Thread.java:%d)", g.IntN(900), g.IntN(900))
	}},
	{"go trace", func(g *generator) string {
		return fmt.Sprintf("main.(*Auth).Token(0xc000%s, {0x%s, 0x10})\n\t/app/auth/token.go:%d +0x%s", g.chars(6, hexa), g.chars(6, hexa), g.IntN(900), g.chars(3, hexa))
	}},
	{"python trace", func(g *generator) string {
		return fmt.Sprintf("Traceback (most recent call last):\n  File \"/app/auth.py\", line %d, in get_password\n    return vault.read(path)[\"password\"]\nKeyError: 'password'", g.IntN(900))
	}},
	{"js trace", func(g *generator) string {
		return fmt.Sprintf("TypeError: Cannot read properties of undefined (reading 'token')\n    at Auth.login (https://cdn.example.com/main.%s.js:1:%d)", g.chars(8, hexa), g.IntN(90000))
	}},
	{"rust panic", func(g *generator) string {
		return fmt.Sprintf("thread 'main' panicked at src/secret.rs:%d:%d:\ncalled `Option::unwrap()` on a `None` value", g.IntN(900), g.IntN(80))
	}},
	{"sql schema", func(g *generator) string {
		return "CREATE TABLE " + g.chars(6, lower) + " (id uuid PRIMARY KEY, password_hash text NOT NULL, api_key_id bigint REFERENCES api_keys(id), token varchar(255))"
	}},
	{"sql query", func(g *generator) string {
		return g.pick("SELECT token, expires_at FROM sessions WHERE user_id = $1 AND revoked = false", "UPDATE users SET password = ? WHERE id = ?", "DELETE FROM tokens WHERE expires_at < now() - interval '30 days'",
			"SELECT u.id, u.password FROM users u JOIN secrets s ON s.user_id = u.id", "ALTER TABLE users ADD COLUMN secret_key bytea", "INSERT INTO api_keys (name, key, created_at) VALUES (:name, :key, now())") + " -- " + g.chars(3, digit)
	}},
	{"sql plan", func(g *generator) string {
		return fmt.Sprintf("Index Scan using tokens_pkey on tokens  (cost=0.42..8.44 rows=1 width=%d) (actual time=0.02%d rows=1 loops=1)\n  Index Cond: (id = '%s'::uuid)", g.IntN(200), g.IntN(9), g.uuid())
	}},
	{"css", func(g *generator) string {
		return ".token." + g.chars(4, lower) + "{color:#" + g.chars(6, hexa) + ";font:12px/1.5 Inter,sans-serif}.password-field::placeholder{opacity:.5}"
	}},
	{"tailwind", func(g *generator) string {
		return `<input type="password" placeholder="Password" class="mt-1 block w-full rounded-md border-gray-300 px-` + g.chars(1, digit) + `" autocomplete="current-password" required>`
	}},
	{"html form", func(g *generator) string {
		return `<label for="password">Password</label><input id="password" name="password" type="password" maxlength="` + g.chars(2, "123456789") + `"><button>Sign in</button>`
	}},
	{"svg path", func(g *generator) string {
		return fmt.Sprintf(`<path d="M%d.%d 10.%dC%d 5 12.5 %d.2 3.%dZ" fill="#fff"/>`, g.IntN(99), g.IntN(99), g.IntN(99), g.IntN(99), g.IntN(99), g.IntN(99))
	}},
	{"minified css class", func(g *generator) string {
		return `<div class="` + g.chars(6, alnum) + `__` + g.chars(5, alnum) + ` sc-` + g.chars(6, alnum) + `-0 ` + g.chars(6, alnum) + `">`
	}},
	{"webpack", func(g *generator) string {
		return "asset main." + g.chars(20, hexa) + ".js " + g.chars(3, digit) + " KiB [emitted] [immutable] [minimized] (name: main)"
	}},
	{"minified module", func(g *generator) string {
		return `"use strict";(self.webpackChunk=self.webpackChunk||[]).push([[` + g.chars(3, digit) + `],{` + g.chars(4, digit) + `:(e,t,n)=>{n.d(t,{Z:()=>o,token:()=>r});var r=n(` + g.chars(4, digit) + `),o=e=>e.password?1:0}}]);`
	}},
	{"base64 gif", func(g *generator) string {
		return "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" + strings.Repeat("A", g.IntN(9))
	}},
	{"base64 woff", func(g *generator) string {
		return "src:url(data:font/woff2;base64,d09GMgABAAAA" + g.chars(280, base) + "==) format('woff2')"
	}},
	{"base64 pdf", func(g *generator) string {
		return `{"mime":"application/pdf","data":"JVBERi0xLjQK` + g.chars(320, base) + `"}`
	}},
	{"base64 prose", func(g *generator) string {
		return base64.StdEncoding.EncodeToString([]byte("Dear customer, your order " + g.chars(6, digit) + " has left our store and will arrive within three days."))
	}},
	{"protobuf bytes", func(g *generator) string { return `{"cursor":"` + g.chars(40, base) + `=="}` }},
	{"etag", func(g *generator) string {
		return `ETag: W/"` + g.chars(4, hexa) + `-` + g.chars(27, base) + `"` + "\nLast-Modified: Wed, 21 Oct 2025 07:28:00 GMT"
	}},
	{"http headers", func(g *generator) string {
		return "x-request-id: " + g.uuid() + "\ncf-ray: " + g.chars(16, hexa) + "-FRA\nx-amz-id-2: " + g.chars(56, base) + "=="
	}},
	{"rate limit", func(g *generator) string {
		return "x-ratelimit-remaining-tokens: 149" + g.chars(3, digit) + "\nx-ratelimit-reset-tokens: 6ms\nanthropic-ratelimit-tokens-limit: 80000"
	}},
	{"access log", func(g *generator) string {
		return fmt.Sprintf(`127.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /password/reset?step=%d HTTP/1.1" 200 %d "-" "Mozilla/5.0 (X11; Linux x86_64)"`, g.IntN(9), g.IntN(9000))
	}},
	{"kube log", func(g *generator) string {
		return "I1022 10:21:33." + g.chars(6, digit) + "       1 token_controller.go:212] syncing secret default/db-credentials-" + g.chars(5, lower+digit)
	}},
	{"systemd log", func(g *generator) string {
		return "Oct 22 10:21:33 web1 sshd[" + g.chars(5, digit) + "]: Failed password for invalid user admin from 127.0.0.1 port " + g.chars(5, "123456789") + " ssh2"
	}},
	{"gradle log", func(g *generator) string {
		return "> Task :app:generateDebugSecretKeys UP-TO-DATE\nBUILD SUCCESSFUL in " + g.chars(2, digit) + "s\n" + g.chars(2, digit) + " actionable tasks"
	}},
	{"docker build", func(g *generator) string {
		return "#8 [stage-1 3/5] COPY --from=build /app/token /token\n#8 sha256:" + g.chars(64, hexa) + " 0.1s done"
	}},
	{"docker ps", func(g *generator) string {
		return g.chars(12, hexa) + "   postgres:16   \"docker-entrypoint.s…\"   2 hours ago   Up 2 hours   5432/tcp   db-" + g.chars(4, lower)
	}},
	{"kubectl", func(g *generator) string {
		return "NAME                 TYPE     DATA   AGE\ndb-credentials       Opaque   2      " + g.chars(2, digit) + "d\napi-token-" + g.chars(5, lower+digit) + "      kubernetes.io/service-account-token   3      5h"
	}},
	{"helm notes", func(g *generator) string {
		return "To get your password run:\n  kubectl get secret --namespace default db-" + g.chars(4, lower) + " -o jsonpath=\"{.data.password}\" | base64 --decode"
	}},
	{"k8s reference", func(g *generator) string {
		return "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-" + g.chars(5, lower) + "\n      key: password"
	}},
	{"compose reference", func(g *generator) string {
		return "environment:\n  POSTGRES_PASSWORD_FILE: /run/secrets/db_password\n  API_KEY: ${API_KEY:?missing}\n  PORT: " + g.chars(4, "123456789")
	}},
	{"actions reference", func(g *generator) string {
		return "env:\n  NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n  run_id: " + g.chars(10, "123456789")
	}},
	{"terraform reference", func(g *generator) string {
		return "password = var.db_password\napi_key  = data.vault_generic_secret.app.data[\"api_key\"]\ntoken    = local.tokens[" + g.chars(1, digit) + "]"
	}},
	{"code reference", func(g *generator) string {
		return g.pick("password: process.env.DB_PASSWORD!,", "apiKey: config.get('apiKey'),", "token = request.headers.get(\"Authorization\")", "secret := os.Getenv(\"SECRET\")", "String password = System.getenv(\"DB_PASSWORD\");",
			"let api_key = std::env::var(\"API_KEY\")?;", "$password = $_POST['password'];", "const { accessToken, refreshToken } = await login(email, password);", "self.password = generate_password_hash(password)",
			"password=password, token=token", "if (user.password !== hash(password)) throw new AuthError()", "def set_password(self, raw_password):", "client_secret = Secret.from_name(\"oauth\")",
			"return jwt.verify(token, publicKey)", "private final String apiKey;", "var apiKey = builder.Configuration[\"ApiKey\"];", "@Input() token: string;", "password = fields.CharField(max_length=128)") + " // " + g.chars(2, digit)
	}},
	{"type definition", func(g *generator) string {
		return g.pick("interface Credentials { username: string; password: string; apiKey?: string }", "type Token struct { Value string `json:\"token\"` }", "class Login(BaseModel):\n    username: str\n    password: SecretStr",
			`"properties": {"api_key": {"type": "string", "description": "The API key"}, "token": {"type": ["string", "null"]}}`, "message LoginRequest { string user = 1; string password = 2; }") + "\n# " + g.chars(2, digit)
	}},
	{"openapi", func(g *generator) string {
		return "components:\n  securitySchemes:\n    ApiKeyAuth:\n      type: apiKey\n      in: header\n      name: X-API-Key\n    bearerAuth:\n      type: http\n      scheme: bearer\n# " + g.chars(3, digit)
	}},
	{"docs", func(g *generator) string {
		return g.pick("Set the `API_KEY` environment variable to your key.", "Pass `--token <token>` or set TOKEN.", "Replace YOUR_API_KEY with the key from the dashboard.", "The default password is set during installation.",
			"Usage: tool login [--username USER] [--password PASSWORD]", "Passwords are hashed with bcrypt (cost 12) before they are stored.", "A token consists of a header, a payload and a signature.",
			"The access token expires after 3600 seconds; use the refresh token to get a new one.", "api_key (str): the key for the service. Defaults to None.", "Your password must contain a number, a symbol and 12 characters.",
			"enter your PIN when asked", "two passwords do not match", "Forgot your password? We have sent a link.", "password: minimum length is 8", "token: unexpected end of input", "secret: must not be empty") + " (" + g.chars(3, digit) + ")"
	}},
	{"placeholders", func(g *generator) string {
		return g.pick("password=changeme", "API_KEY=xxxxxxxxxxxxxxxxxxxx", "token: <TOKEN>", "password: \"********\"", "SECRET_KEY=your-secret-key-here", "apiKey: 'YOUR_API_KEY'", "password: [hidden]", "api_key = \"...\"", "token=REDACTED",
			"client_secret: ${CLIENT_SECRET}", "password: !vault |", "db_password: {{ vault_db_password }}", "token = %TOKEN%", "key: null", "password: true", "secret: \"\"", "API_TOKEN=$(cat /run/secrets/token)", "password=$1") + " # " + g.chars(2, digit)
	}},
	{"phone-like", func(g *generator) string {
		return g.pick("ticket ", "article ", "batch ", "SKU ") + g.chars(3, digit) + "-" + g.chars(4, digit) + " shelf " + g.chars(2, digit)
	}},
	{"isbn 10", func(g *generator) string { return "ISBN-10: 0-" + g.chars(3, digit) + "-" + g.chars(5, digit) + "-X" }},
	{"doi", func(g *generator) string {
		return "doi:10." + g.chars(4, "123456789") + "/s41586-0" + g.chars(2, digit) + "-" + g.chars(5, digit) + "-" + g.chars(1, digit) + " arXiv:2401." + g.chars(5, digit)
	}},
	{"orcid", func(g *generator) string { return "PMID: " + g.chars(8, digit) + " PMC" + g.chars(7, digit) }},
	{"cve", func(g *generator) string {
		return "CVE-2024-" + g.chars(5, "123456789") + " CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H GHSA-" + g.chars(4, lower+digit) + "-" + g.chars(4, lower+digit) + "-" + g.chars(4, lower+digit)
	}},
	{"flight", func(g *generator) string {
		return "flight LH" + g.chars(3, digit) + " FRA-JFK seat 12A gate B" + g.chars(2, digit) + " at 10:" + g.chars(2, "12345")
	}},
	{"sports", func(g *generator) string {
		return fmt.Sprintf("final score 3-2 (%d:%d), attendance 48,%s", g.IntN(9), g.IntN(9), g.chars(3, digit))
	}},
	{"money", func(g *generator) string {
		return fmt.Sprintf("Total: $%d,%s.%s USD; VAT 19%%; invoice 2024/%s", g.IntN(900), g.chars(3, digit), g.chars(2, digit), g.chars(5, digit))
	}},
	{"measurement", func(g *generator) string {
		return fmt.Sprintf("p50=%d.%dms p95=%dms p99=%dms rps=%d.%d err=0.0%d", g.IntN(99), g.IntN(99), g.IntN(500), g.IntN(900), g.IntN(9000), g.IntN(9), g.IntN(9))
	}},
	{"benchmark", func(g *generator) string {
		return fmt.Sprintf("BenchmarkToken-8   \t  %d\t      %d.%d ns/op\t     %d B/op\t       %d allocs/op", g.IntN(9000000), g.IntN(900), g.IntN(9), g.IntN(512), g.IntN(9))
	}},
	{"model output", func(g *generator) string {
		return fmt.Sprintf(`{"id":"chatcmpl-%s","object":"chat.completion","created":17%s,"model":"gpt-4o-mini","usage":{"prompt_tokens":%d,"completion_tokens":%d},"system_fingerprint":"fp_%s"}`, g.chars(29, alnum), g.chars(8, digit), g.IntN(900), g.IntN(900), g.chars(10, hexa))
	}},
	{"tool call", func(g *generator) string {
		return `{"id":"call_` + g.chars(24, alnum) + `","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"src/auth/token.ts\"}"}}`
	}},
	{"embedding", func(g *generator) string {
		return fmt.Sprintf(`{"embedding":[%.9f,-%.9f,%.9f],"index":%d}`, g.Float64(), g.Float64(), g.Float64(), g.IntN(9))
	}},
	{"trace state", func(g *generator) string {
		return "tracestate: dd=s:1;o:rum;t.dm:-1;p:" + g.chars(16, hexa) + "\nb3: " + g.chars(32, hexa) + "-" + g.chars(16, hexa) + "-1"
	}},
	{"s3 listing", func(g *generator) string {
		return "2025-10-22 10:21:33   " + g.chars(7, "123456789") + " backups/2025/10/db-" + g.chars(8, hexa) + ".dump.gz"
	}},
	{"gcs uri", func(g *generator) string {
		return "gs://bucket-" + g.chars(6, lower) + "/keys/public/" + g.chars(12, digit) + ".json#17" + g.chars(14, digit)
	}},
	{"arn secret", func(g *generator) string {
		return "arn:aws:secretsmanager:eu-west-1:" + g.chars(12, digit) + ":secret:prod/db-" + g.chars(6, alnum)
	}},
	{"vault path", func(g *generator) string {
		return "secret/data/app-" + g.chars(4, lower) + "/db?version=" + g.chars(1, digit) + " projects/p/secrets/api-key/versions/" + g.chars(1, "123456789")
	}},
	{"windows path", func(g *generator) string {
		return `C:\Users\ada\AppData\Local\Temp\token_` + g.chars(6, digit) + `\password.txt`
	}},
	{"registry", func(g *generator) string {
		return `HKEY_LOCAL_MACHINE\SOFTWARE\Classes\CLSID\{` + strings.ToUpper(g.uuid()) + `}`
	}},
	{"certificate fingerprint", func(g *generator) string {
		return "SHA1 Fingerprint=" + strings.TrimSuffix(strings.Repeat(strings.ToUpper(g.chars(2, hexa))+":", 20), ":")
	}},
	{"ssh fingerprint", func(g *generator) string {
		return "SHA256:" + g.chars(43, base) + " ada (ED25519)\nThe authenticity of host 'web1' can't be established."
	}},
	{"ssh public key", func(g *generator) string {
		return "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ" + g.chars(320, base) + " ada"
	}},
	{"pgp public", func(g *generator) string {
		return "pub   rsa4096 2024-01-01 [SC]\n      " + strings.ToUpper(g.chars(40, hexa)) + "\nuid   [ultimate] Ada"
	}},
	{"jwks", func(g *generator) string {
		return `{"keys":[{"kty":"RSA","use":"sig","kid":"` + g.chars(20, alnum) + `","n":"` + g.chars(342, urlish) + `","e":"AQAB"}]}`
	}},
	{"dkim", func(g *generator) string {
		return `"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC` + g.chars(180, base) + `"`
	}},
	{"csp", func(g *generator) string {
		return "Content-Security-Policy: script-src 'self' 'sha256-" + g.chars(43, base) + "=' 'strict-dynamic'"
	}},
	{"transaction hash", func(g *generator) string {
		return "tx 0x" + g.chars(64, hexa) + " block 1" + g.chars(7, digit) + " from 0x" + g.chars(40, hexa)
	}},
	{"ipfs", func(g *generator) string {
		return "ipfs://Qm" + g.chars(44, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
	}},
	{"onion", func(g *generator) string {
		return "http://" + g.chars(55, "abcdefghijklmnopqrstuvwxyz234567") + "d.onion/"
	}},
	{"regex", func(g *generator) string {
		return g.pick(`(?i)(password|passwd|pwd)\s*[:=]\s*\S+`, `^[A-Za-z0-9_-]{20,`+g.chars(2, "3456")+`}$`, `sk-[A-Za-z0-9]{48}`, `AKIA[0-9A-Z]{16}`) + " matches"
	}},
	{"diff of config", func(g *generator) string {
		return "-  max_tokens: " + g.chars(4, "123456789") + "\n+  max_tokens: " + g.chars(4, "123456789") + "\n   tokenizer: cl100k_base"
	}},
	{"translation", func(g *generator) string {
		return g.pick(`"password.forgot": "Passwort vergessen?"`, `"login.password": "Mot de passe"`, `msgid "Password"`+"\n"+`msgstr "Contraseña"`, `<string name="password">Passwort</string>`, `password_label: 密码`, `"token_expired": "Токен истёк"`) + " " + g.chars(2, digit)
	}},
	{"test name", func(g *generator) string {
		return "--- PASS: TestPasswordResetTokenExpires/" + g.pick("empty_token", "wrong_password", "no_secret") + " (0." + g.chars(2, digit) + "s)"
	}},
	{"sensor", func(g *generator) string {
		return fmt.Sprintf("device AA%s temp=%d.%d hum=%d bat=3.%dV seq=%d", g.chars(6, "0123456789ABCDEF"), g.IntN(40), g.IntN(9), g.IntN(99), g.IntN(9), g.IntN(99999))
	}},
	{"vin", func(g *generator) string {
		return "chassis WVWZZZ1JZXW" + g.chars(6, digit) + ", engine AGN, colour LA5W"
	}},
	{"music", func(g *generator) string {
		return "ISRC USRC1760" + g.chars(4, digit) + " 128 bpm key Am, " + g.chars(1, "345") + ":21"
	}},
	{"recipe", func(g *generator) string {
		return "Mix " + g.chars(3, "123456789") + " g flour with 2 eggs, the secret is a pinch of salt; bake 25-30 min at 180 °C."
	}},
}
