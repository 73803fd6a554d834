// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"strings"
)

// benignEighth are further kinds of text that hold nothing to redact, drawn with the eighth set before any rule was changed for it: numbers of sections,
// samples of code and of documentation, lock files, logs of git, traces of stacks, ids of models and of calls, names of settings beside harmless values.
var benignEighth = []benignKind{
	{"section numbers", func(g *generator) string {
		return g.pick("see § ", "section ", "cf. Art. ", "RFC 9110, section ", "Kapitel ") + g.chars(1, "123456789") + "." + g.chars(1, "123456789") + "." + g.chars(1, digit) + "." + g.chars(1, digit) + g.pick(" for details", " and following", "")
	}},
	{"numbered list", func(g *generator) string {
		return "1.2.3.4 Scope\n1.2.3.5 Terms\n10." + g.chars(1, digit) + ".1.2 Password policy\n10.9.1.3 Token lifetimes"
	}},
	{"version four", func(g *generator) string {
		return g.pick("Chrome/", "driver ", "v", "assembly version ") + g.chars(2, "123456789") + ".0." + g.chars(4, "123456789") + "." + g.chars(2, "123456789")
	}},
	{"yarn lock", func(g *generator) string {
		return "\"@babel/core@^7.1.0\":\n  version \"7.2" + g.chars(1, digit) + ".0\"\n  resolved \"https://registry.yarnpkg.com/@babel/core/-/core-7.23.0.tgz#" + g.chars(40, hexa) + "\"\n  integrity sha512-" + g.chars(86, base) + "=="
	}},
	{"pnpm lock", func(g *generator) string {
		return "  /left-pad@1.3." + g.chars(1, digit) + ":\n    resolution: {integrity: sha512-" + g.chars(86, base) + "==}\n    dev: true"
	}},
	{"cargo lock", func(g *generator) string {
		return "[[package]]\nname = \"secrecy\"\nversion = \"0.8." + g.chars(1, digit) + "\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"" + g.chars(64, hexa) + "\""
	}},
	{"poetry lock", func(g *generator) string {
		return "files = [\n    {file = \"tokenizers-0.1" + g.chars(1, digit) + ".0-py3-none-any.whl\", hash = \"sha256:" + g.chars(64, hexa) + "\"},\n]"
	}},
	{"requirements hash", func(g *generator) string {
		return "passlib==1.7.4 \\\n    --hash=sha256:" + g.chars(64, hexa) + " \\\n    --hash=sha256:" + g.chars(64, hexa)
	}},
	{"composer lock", func(g *generator) string {
		return `"dist": {"type": "zip", "reference": "` + g.chars(40, hexa) + `", "shasum": "` + g.chars(40, hexa) + `"}`
	}},
	{"nix hash", func(g *generator) string {
		return `sha256 = "sha256-` + g.chars(43, base) + `="; # fetchFromGitHub`
	}},
	{"uv lock", func(g *generator) string {
		return `sdist = { url = "https://files.pythonhosted.org/packages/` + g.chars(2, hexa) + "/" + g.chars(2, hexa) + "/" + g.chars(60, hexa) + `/idna-3.7.tar.gz", hash = "sha256:` + g.chars(64, hexa) + `", size = 189575 }`
	}},
	{"terraform lock", func(g *generator) string {
		return "hashes = [\n    \"h1:" + g.chars(43, base) + "=\",\n    \"zh:" + g.chars(64, hexa) + "\",\n  ]"
	}},
	{"git log", func(g *generator) string {
		return "commit " + g.chars(40, hexa) + "\nMerge: " + g.chars(7, hexa) + " " + g.chars(7, hexa) + "\nDate:   Tue Jan 2 03:04:05 2024 +0100\n\n    fix: rotate token before expiry (#" + g.chars(4, "123456789") + ")"
	}},
	{"git log oneline", func(g *generator) string {
		return g.chars(9, hexa) + " auth: password field is optional\n" + g.chars(9, hexa) + " add api key page\n" + g.chars(9, hexa) + " bump secret-manager to 2." + g.chars(2, digit) + ".0"
	}},
	{"git diff", func(g *generator) string {
		return "diff --git a/auth/token.go b/auth/token.go\nindex " + g.chars(10, hexa) + ".." + g.chars(10, hexa) + " 100644\n--- a/auth/token.go\n+++ b/auth/token.go\n@@ -1" + g.chars(2, digit) + ",7 +12,9 @@ func (t *Token) Refresh()"
	}},
	{"git ls-tree", func(g *generator) string {
		return "100644 blob " + g.chars(40, hexa) + "\tsecrets/README.md\n040000 tree " + g.chars(40, hexa) + "\tpasswords"
	}},
	{"git blame", func(g *generator) string {
		return "^" + g.chars(7, hexa) + " (Ada 2024-01-0" + g.chars(1, "123456789") + " 03:04:05 +0000 17) password = getpass()"
	}},
	{"python traceback", func(g *generator) string {
		return "Traceback (most recent call last):\n  File \"/app/auth/token.py\", line " + g.chars(3, "123456789") + ", in refresh_token\n    self.password = kwargs.pop(\"password\")\nKeyError: 'password'"
	}},
	{"java trace", func(g *generator) string {
		return "java.lang.IllegalStateException: token expired\n\tat com.example.auth.TokenService$$Lambda$" + g.chars(3, "123456789") + "/0x00007f" + g.chars(10, hexa) + ".get(Unknown Source)\n\tat com.example.PasswordEncoder.matches(PasswordEncoder.java:" + g.chars(3, "123456789") + ")"
	}},
	{"node trace", func(g *generator) string {
		return "TypeError: Cannot read properties of undefined (reading 'apiKey')\n    at Object.<anonymous> (/app/dist/secrets-" + g.chars(8, alnum) + ".js:1:" + g.chars(5, "123456789") + ")\n    at Module._compile (node:internal/modules/cjs/loader:1358:14)"
	}},
	{"go panic", func(g *generator) string {
		return "goroutine 1" + g.chars(2, digit) + " [running]:\nmain.(*Token).Sign(0xc000" + g.chars(6, hexa) + ", {0xc000" + g.chars(6, hexa) + ", 0x20, 0x20})\n\t/app/token.go:42 +0x1" + g.chars(2, hexa)
	}},
	{"rust trace", func(g *generator) string {
		return "   4: app::auth::verify_password::h" + g.chars(16, hexa) + "\n             at src/auth.rs:42:9"
	}},
	{"c++ symbol", func(g *generator) string {
		return "undefined reference to `_ZN4auth5Token7refreshERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" + g.chars(1, "bclm") + "'"
	}},
	{"kernel oops", func(g *generator) string {
		return "RIP: 0010:key_lookup+0x2a/0x60 Code: 48 89 e5 5d c3 66 0f 1f 44 RSP: 0018:ffffb" + g.chars(11, hexa) + " EFLAGS: 00010246"
	}},
	{"png", func(g *generator) string {
		return "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA" + g.chars(180, alnum+"+/") + "AAAABJRU5ErkJggg=="
	}},
	{"jpeg in JSON", func(g *generator) string {
		return `{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgK` + g.chars(200, alnum+"+/") + `"}}`
	}},
	{"font", func(g *generator) string {
		return "src: url(data:font/woff2;base64,d09GMgABAAAAA" + g.chars(160, alnum+"+/") + ") format('woff2')"
	}},
	{"source map", func(g *generator) string {
		return `{"version":3,"sources":["token.ts"],"mappings":"AAAA,SAASA,` + g.chars(4, upper) + `,CAAC,` + g.chars(6, upper+lower) + `;AACE,OAAOC"}`
	}},
	{"wasm", func(g *generator) string {
		return "const wasm = 'AGFzbQEAAAAB" + base64.RawStdEncoding.EncodeToString([]byte("\x00\x01\x02\x7f"+g.chars(1, lower)+"\x60\x00\x0b\xff\xfe\x01\x00\x00\x02\x03\x80\x81")) + "'"
	}},
	{"model ids", func(g *generator) string {
		return `"model": "` + g.pick("claude-sonnet-4-5-20250929", "gpt-4.1-mini-2025-04-14", "gemini-2.5-pro-preview-06-05", "mistral-large-2411", "deepseek-r1-distill-llama-70b", "anthropic.claude-3-5-haiku-20241022-v1:0", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "Qwen/Qwen2.5-Coder-32B-Instruct", "text-embedding-3-large", "ft:gpt-4o-mini-2024-07-18:acme::B"+g.chars(7, alnum)) + `", "max_tokens": ` + g.chars(4, "123456789")
	}},
	{"system fingerprint", func(g *generator) string {
		return `"system_fingerprint": "fp_` + g.chars(10, hexa) + `", "service_tier": "default"`
	}},
	{"usage", func(g *generator) string {
		return `{"prompt_tokens": ` + g.chars(4, "123456789") + `, "completion_tokens_details": {"reasoning_tokens": ` + g.chars(3, "123456789") + `}, "cached_tokens": 1024}`
	}},
	{"ids of calls", func(g *generator) string {
		return `{"id": "` + g.pick("call_", "toolu_vrtx_01", "tooluse_", "chatcmpl-tool-", "fc_0") + g.chars(22, alnum) + `", "type": "function", "function": {"name": "get_password_policy", "arguments": "{}"}}`
	}},
	{"response ids", func(g *generator) string {
		return g.pick(`{"response_id": "resp_0`, `{"id": "gen-17`, `{"id": "msg_bdrk_01`, `{"thread_id": "thread_`, `{"file_id": "file-`) + g.chars(24, alnum) + `"}`
	}},
	{"encrypted reasoning id", func(g *generator) string {
		return `{"type": "reasoning", "id": "rs_0` + g.chars(48, hexa) + `", "summary": []}`
	}},
	{"uuid v1", func(g *generator) string {
		return g.pick("session ", "correlation-id: ", "X-Request-Id: ", "batch=") + g.chars(8, hexa) + "-" + g.chars(4, hexa) + "-11ee-" + g.pick("8", "9", "a", "b") + g.chars(3, hexa) + "-0242ac120002"
	}},
	{"uuid list", func(g *generator) string { return "[" + g.uuid() + ", " + strings.ToUpper(g.uuid()) + "]" }},
	{"ean in a list", func(g *generator) string {
		return "sku,gtin,qty\nA-1," + g.ean() + ",3\nA-2," + g.ean() + ",1"
	}},
	{"upc", func(g *generator) string { return "UPC 0" + g.chars(11, digit) + ", case pack of 12" }},
	{"article", func(g *generator) string {
		return "Artikelnummer " + g.chars(3, "123456789") + "." + g.chars(3, digit) + "." + g.chars(2, digit) + ", Lagerort 4"
	}},
	{"meter", func(g *generator) string { return "Zählerstand " + g.chars(6, "123456789") + ",4 kWh am 02.01.2024" }},
	{"sample code getpass", func(g *generator) string {
		return "import getpass\npw = getpass.getpass('Passphrase for key " + g.chars(1, digit) + ": ')\nclient.login(user, pw)"
	}},
	{"sample code variables", func(g *generator) string {
		return "const { password, apiKey, token" + g.chars(1, digit) + " } = req.body;\nif (!password) throw new Error('password required');"
	}},
	{"sample code types", func(g *generator) string {
		return "interface Credentials { username: string; password: string; apiKey?: string | null; tokenTtl" + g.chars(1, digit) + ": number }"
	}},
	{"sample code go", func(g *generator) string {
		return "type Config struct {\n\tPassword string `yaml:\"password\"`\n\tAPIKey   Secret `json:\"api_key,omitempty\" env:\"API_KEY_" + g.chars(1, digit) + "\"`\n}"
	}},
	{"sample code compare", func(g *generator) string {
		return "if (token === undefined || secretKey.length < 3" + g.chars(1, digit) + ") { return res.status(401).json({ error: 'invalid_token' }); }"
	}},
	{"sample sql", func(g *generator) string {
		return "ALTER TABLE users ADD COLUMN password_hash varchar(" + g.chars(3, "123456789") + ") NOT NULL, ADD COLUMN api_key_id uuid REFERENCES api_keys(id);"
	}},
	{"sample placeholders", func(g *generator) string {
		return g.pick("export API_KEY=<your-api-key>", "OPENAI_API_KEY=sk-...", "password: ${DB_PASSWORD}", "--token $GITHUB_TOKEN", "Authorization: Bearer YOUR_ACCESS_TOKEN", "api_key=os.environ[\"API_KEY\"]", "password: \"{{ vault_db_password }}\"", "secret: xxxxxxxxxxxxxxxx",
			"token: ********", "API_KEY=replace-me", "password = \"<redacted>\"", "client_secret: [REDACTED]", "apiKey: process.env.API_KEY", "key: %ENCRYPTION_KEY%", "PGPASSWORD=$(cat /run/secrets/pg)", "-p\"$MYSQL_ROOT_PASSWORD\"") + g.pick("", "\n", " # see docs")
	}},
	{"sample helm", func(g *generator) string {
		return "password:\n  valueFrom:\n    secretKeyRef:\n      name: db-credentials-" + g.chars(5, lower+digit) + "\n      key: password"
	}},
	{"sample vault", func(g *generator) string {
		return "vault kv get -field=password secret/data/db-" + g.chars(1, digit) + "\nvault token lookup\nvault list auth/token/accessors"
	}},
	{"sample actions", func(g *generator) string {
		return "env:\n  NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n  API_KEY: ${{ secrets.API_KEY_" + g.chars(1, digit) + " }}\nuses: actions/checkout@" + g.chars(40, hexa)
	}},
	{"sample openapi", func(g *generator) string {
		return "components:\n  securitySchemes:\n    ApiKeyAuth:\n      type: apiKey\n      in: header\n      name: X-API-Key-V" + g.chars(1, digit) + "\n    bearerAuth:\n      type: http\n      scheme: bearer\n      bearerFormat: JWT"
	}},
	{"sample form schema", func(g *generator) string {
		return `{"properties":{"password":{"type":"string","format":"password","minLength":1` + g.chars(1, digit) + `},"api_key":{"type":"string","description":"The API key to use"}},"required":["password"]}`
	}},
	{"password policy", func(g *generator) string {
		return "Passwords must be 12 to " + g.chars(2, "23456789") + " characters and contain A-Z, a-z, 0-9 and one of !@#$%^&*. The last 24 passwords cannot be reused."
	}},
	{"password questions", func(g *generator) string {
		return g.pick("What is the password policy?", "Which token did you use for step 2?", "Do we need an API key for the sandbox?", "My password is not working, what now?", "The password is too short.", "The API key is missing in request 12.", "Is the secret key rotated every 90 days?", "Le mot de passe est trop court.",
			"Das Passwort ist falsch.", "La contraseña es incorrecta.", "Пароль неверный, попробуйте ещё раз.", "パスワードが間違っています。", "密码错误，请重试。", "비밀번호가 틀렸습니다.", "A senha é obrigatória.", "La password è scaduta ieri.", "Hasło jest wymagane.")
	}},
	{"login logs", func(g *generator) string {
		return g.pick("user logged in with password", "password changed for user 17", "api key rotated", "token refreshed, expires in 3600s", "login failed: bad password (attempt 3)", "session token valid until 2026-01-02T03:04:05Z", "MFA code sent", "invalid api key format", "basic auth disabled, use tokens") + " req=" + g.chars(8, hexa)
	}},
	{"key names", func(g *generator) string {
		return `{"primary_key":"id","foreign_key":"orders_user_fk` + g.chars(1, digit) + `","sort_key":"created_at","partition_key":"tenant#acme","cache_key":"user:42:profile:v3","hotkey":"ctrl+shift+p","keyboard":"qwerty"}`
	}},
	{"token settings", func(g *generator) string {
		return g.pick("max_tokens: 4096", "token_count=1523", "tokenizer: cl100k_base", "pad_token_id: 50256", "eos_token: <|endoftext|>", "token_type_ids: [0, 0, 1]", "stop_token=</s>", "special_tokens_map.json", "token_budget: 128000", "tokens_per_second: 43.2", "next_page_token: null")
	}},
	{"public keys", func(g *generator) string {
		return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + g.chars(43, alnum) + " ada-laptop"
	}},
	{"certificate", func(g *generator) string {
		return "-----BEGIN CERTIFICATE-----\nMIIC" + g.chars(60, alnum+"+/") + "\n" + g.chars(64, alnum+"+/") + "\n-----END CERTIFICATE-----"
	}},
	{"certificate fields", func(g *generator) string {
		return "Serial Number: " + g.pick("04:", "0a:", "7f:") + strings.TrimSuffix(strings.Repeat(g.chars(2, hexa)+":", 15), ":") + "\nSHA256 Fingerprint=" + strings.ToUpper(g.chars(2, hexa)) + ":AB:12:9F\nSubject Key Identifier: " + g.chars(40, hexa)
	}},
	{"jwks public", func(g *generator) string {
		return `{"keys":[{"kty":"EC","crv":"P-256","kid":"` + g.chars(10, alnum) + `","use":"sig","x":"` + g.chars(43, urlish) + `","y":"` + g.chars(43, urlish) + `"}]}`
	}},
	{"etag headers", func(g *generator) string {
		return "ETag: W/\"" + g.chars(24, hexa) + "\"\r\nX-Amz-Request-Id: " + g.chars(16, upper+digit) + "\r\nCF-RAY: " + g.chars(16, hexa) + "-FRA\r\nx-cache-key: /v1/items"
	}},
	{"amz id", func(g *generator) string { return "x-amz-id-2: " + g.chars(74, alnum+"+/") + "==" }},
	{"arn", func(g *generator) string {
		return "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-" + g.chars(6, alnum)
	}},
	{"key resource", func(g *generator) string {
		return g.pick("projects/acme/secrets/db-password/versions/", "projects/p/locations/eu/keyRings/r/cryptoKeys/k/cryptoKeyVersions/") + g.chars(1, "123456789")
	}},
	{"azure resource", func(g *generator) string {
		return "/subscriptions/" + g.uuid() + "/resourceGroups/rg/providers/Microsoft.KeyVault/vaults/kv-" + g.chars(4, lower) + "/secrets/db"
	}},
	{"k8s pods", func(g *generator) string {
		return "secret-operator-" + g.chars(10, lower+digit) + "-" + g.chars(5, lower+digit) + "   1/1   Running   0   3d\ntoken-controller-0   1/1   Running"
	}},
	{"k8s secret list", func(g *generator) string {
		return "NAME                  TYPE                                  DATA   AGE\ndefault-token-" + g.chars(5, lower+digit) + "   kubernetes.io/service-account-token   3      12d\ndb-password           Opaque                                1      4d"
	}},
	{"docker ps", func(g *generator) string {
		return g.chars(12, hexa) + "   redis:7   \"docker-entrypoint.s…\"   3 hours ago   Up 3 hours   6379/tcp   cache-1"
	}},
	{"layer", func(g *generator) string {
		return g.chars(12, hexa) + ": Pull complete\nDigest: sha256:" + g.chars(64, hexa)
	}},
	{"etag of parts", func(g *generator) string {
		return `"ETag": "\"` + g.chars(32, hexa) + `-` + g.chars(1, "123456789") + `\""`
	}},
	{"cursor", func(g *generator) string {
		return `{"next_cursor": "` + base64.StdEncoding.EncodeToString([]byte(`{"id":`+g.chars(6, "123456789")+`,"dir":"next"}`)) + `", "has_more": true}`
	}},
	{"hex id in text", func(g *generator) string {
		return g.pick("span ", "object ", "build ", "frame ", "at ") + g.chars(16, digit[1:]) + g.pick(" finished", " (16 hex digits)", " of trace "+g.chars(32, hexa))
	}},
	{"decimal hex ids", func(g *generator) string {
		return `{"spanId":"` + g.chars(16, digit[1:]) + `","parentSpanId":"` + g.chars(16, hexa) + `","name":"charge card"}`
	}},
	{"nanoseconds", func(g *generator) string {
		return `"startTimeUnixNano":"17` + g.chars(17, digit) + `","endTimeUnixNano":"17` + g.chars(17, digit) + `"`
	}},
	{"epoch micro", func(g *generator) string {
		return "ts=17" + g.chars(14, digit) + " dur=" + g.chars(6, "123456789") + "us"
	}},
	{"coordinates", func(g *generator) string {
		return "52.5" + g.chars(6, digit) + ", 13.4" + g.chars(6, digit) + " (±12 m), bbox 13.0883 52.3382 13.7611 52.6755"
	}},
	{"test report", func(g *generator) string {
		return "--- PASS: TestPasswordReset (0." + g.chars(2, digit) + "s)\n--- PASS: TestTokenRefresh/expired (0.01s)\nok  \texample.com/auth\t1." + g.chars(3, digit) + "s"
	}},
	{"compiler", func(g *generator) string {
		return "error[E0425]: cannot find value `api_key` in this scope\n --> src/client.rs:" + g.chars(3, "123456789") + ":17\n  |\n17 |     let key = api_key;\n"
	}},
	{"linter", func(g *generator) string {
		return "auth.py:" + g.chars(2, "123456789") + ":1: S105 Possible hardcoded password assigned to: \"password\""
	}},
	{"package names", func(g *generator) string {
		return g.pick("pip install keyring secretstorage passlib==1.7.", "npm i jsonwebtoken@9.0.", "go get github.com/golang-jwt/jwt/v5@v5.2.", "apt install gnome-keyring libsecret-1-0=0.20.") + g.chars(1, digit)
	}},
	{"environment names", func(g *generator) string {
		return "Required: DB_PASSWORD, API_KEY, JWT_SECRET_" + g.chars(1, digit) + " (all set), SESSION_KEY (missing)"
	}},
	{"paths", func(g *generator) string {
		return g.pick("/etc/ssl/private/server.key", "~/.ssh/id_ed25519", "/run/secrets/db_password", "C:\\Users\\ada\\.aws\\credentials", "/var/lib/kubelet/pki/token-"+g.chars(6, lower+digit)) + ": Permission denied"
	}},
	{"chat thanks", func(g *generator) string {
		return g.pick("thanks, the password works now", "the token expired again, can you look?", "I'll send the password by phone", "ask Bob for the wifi password", "use your own api key please", "pw reset link didn't arrive", "le mot de passe marche, merci", "das Passwort hab ich dir geschickt", "la clave ya funciona", "пароль подошёл, спасибо",
			"パスワードをリセットしました", "密码已经改好了", "비밀번호를 변경했습니다", "şifre çalıştı, teşekkürler")
	}},
	{"prices", func(g *generator) string {
		return "Total 1.234." + g.chars(3, digit) + ",00 € (ref " + g.chars(8, digit) + "), card ending in " + g.chars(4, digit)
	}},
	{"invoice", func(g *generator) string {
		return "Invoice 2024/" + g.chars(5, digit) + ", customer no. " + g.chars(6, "123456789") + ", due 2024-03-0" + g.chars(1, "123456789") + ", order 45000" + g.chars(5, digit)
	}},
	{"flight", func(g *generator) string {
		return "LH " + g.chars(3, "123456789") + " FRA-JFK, seat 2" + g.chars(1, digit) + "A, gate B4" + g.chars(1, digit) + ", boarding 10:25"
	}},
	{"sport", func(g *generator) string {
		return "Final: 3-2 (" + g.chars(2, "123456789") + "'), attendance 54," + g.chars(3, digit) + ", season 2023/24"
	}},
	{"chess", func(g *generator) string {
		return "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Be3 e5 7. Nb3 Be6 8. f3 h5 9. Qd2"
	}},
	{"dna", func(g *generator) string {
		return ">seq" + g.chars(2, digit) + "\n" + g.chars(60, "ACGT") + "\n" + g.chars(60, "ACGT")
	}},
	{"smiles", func(g *generator) string { return "CC(=O)OC1=CC=CC=C1C(=O)O InChIKey=BSYNRYMUTXBXSQ-UHFFFAOYSA-N" }},
	{"css", func(g *generator) string {
		return ".token.key { color: #" + g.chars(6, hexa) + "; background: url('img/password-" + g.chars(8, hexa) + ".svg') }"
	}},
	{"bundle", func(g *generator) string {
		return `<script src="/_next/static/chunks/` + g.chars(4, digit) + "-" + g.chars(16, hexa) + `.js" nonce="" defer></script>`
	}},
	{"accelerator", func(g *generator) string {
		return "Press Ctrl+Alt+F" + g.chars(1, "123456789") + ", then the key labelled PrtScr/SysRq"
	}},
	{"music", func(g *generator) string { return "Key: F# minor, 128 BPM, ISRC US-S1Z-99-0000" + g.chars(1, digit) }},
}

// benignAfterEighth were drawn when the rules for the eighth set were done, and scored before any was changed for them: what stands where those rules look.
var benignAfterEighth = []benignKind{
	{"patch of a setting", func(g *generator) string {
		return `[{"op":"replace","path":"/spec/replicas","value":` + g.chars(1, "123456789") + `},{"op":"add","path":"/metadata/labels/app","value":"web-` + g.chars(4, lower) + `"}]`
	}},
	{"patch of a policy", func(g *generator) string {
		return `[{"op":"add","path":"/auth/token_policy","value":"rotate-after-90d"},{"op":"remove","path":"/auth/password_hint"}]`
	}},
	{"typed attributes", func(g *generator) string {
		return `{"Item":{"pk":{"S":"user#` + g.chars(6, digit) + `"},"sort_key":{"S":"order#2024-01-0` + g.chars(1, "123456789") + `"},"count":{"N":"12"}}}`
	}},
	{"schema of a secret", func(g *generator) string {
		return `{"password":{"type":"string","description":"the password","value":null},"token":{"type":"string","example":"string"},"n":` + g.chars(2, "123456789") + `}`
	}},
	{"header pairs", func(g *generator) string {
		return `[["content-type","application/json"],["x-request-id","` + g.uuid() + `"],["etag","W/\"` + g.chars(20, hexa) + `\""],["x-cache-key","/v1/items?page=2"]]`
	}},
	{"pairs of words", func(g *generator) string {
		return `[["token","freq"],["password",` + g.chars(2, "123456789") + `],["secret","7"],["apikey","n/a"]]`
	}},
	{"setting and value", func(g *generator) string {
		return `{"name":"cache_policy","value":"Managed-CachingOptimized-` + g.chars(1, digit) + `"}`
	}},
	{"variable and class", func(g *generator) string {
		return `{"key":"JAVA_OPTS_EXTRA","value":"-Xmx` + g.chars(1, "123456789") + `g -XX:+UseG1GC -Djava.awt.headless=true"}`
	}},
	{"setting of a route", func(g *generator) string {
		return `{"name":"upstream_service","value":"checkout-api-v2.shop.svc.cluster.local:80` + g.chars(2, digit) + `"}`
	}},
	{"product of terms", func(g *generator) string {
		return "area = width * height\nwidth * height * depth2\nx1 * " + g.chars(6, digit) + " * y\nrate * hours_2024 * 1.5"
	}},
	{"list with stars", func(g *generator) string {
		return "Changes\n * build2-" + g.chars(3, lower) + " released\n * v1.2." + g.chars(1, digit) + " tagged\nnote * see-below"
	}},
	{"cron lines", func(g *generator) string {
		return "*/5 * * * * /usr/bin/backup-db2 --quiet\n0 3 * * " + g.chars(1, "123456") + " root /opt/rotate_keys.sh"
	}},
	{"hosts file", func(g *generator) string {
		return "127.0.0.1 localhost\n127.0.0.1 web-" + g.chars(2, digit) + ".local\n::1 ip6-localhost"
	}},
	{"links of a page", func(g *generator) string {
		return "https://docs.example.com/auth overview page\nhttps://docs.example.com/tokens v2-guide 2024\nhttps://docs.example.com/x chapter " + g.chars(1, digit)
	}},
	{"curl output", func(g *generator) string {
		return "https://example.com/health GET 200\nhttps://example.com/login POST 302 " + g.chars(3, digit) + "ms"
	}},
	{"piped echo", func(g *generator) string {
		return "echo release-2024." + g.chars(1, "123456789") + "_final | tee VERSION && printf 'done\\n' | cat"
	}},
	{"manifest without secrets", func(g *generator) string {
		return "kind: Secret\nmetadata:\n  name: db-" + g.chars(4, lower) + "\nstringData:\n  host: db.example.com\n  port: \"5432\"\n  sslmode: require\ntype: Opaque"
	}},
	{"secure data by reference", func(g *generator) string {
		return "secureJsonData:\n  basicAuthPassword: ${GF_PASSWORD_" + g.chars(1, digit) + "}\n  httpHeaderValue1: $__env{TOKEN}"
	}},
	{"variable of terraform", func(g *generator) string {
		return "variable \"region\" {\n  type    = string\n  default = \"eu-west-" + g.chars(1, "123") + "\"\n}\nvariable \"size\" {\n  default = \"t3.medium\"\n}"
	}},
	{"client of a service", func(g *generator) string {
		return `client = Client("orders", "eu-west-1"); db = Client(project="acme-` + g.chars(4, digit) + `", location="europe-west4")`
	}},
	{"user option", func(g *generator) string {
		return "ffmpeg -user agent -i in.mp4; find . -user www-data -name cache2-" + g.chars(3, lower) + " -print; ps -user root -o pid"
	}},
	{"reset of a value", func(g *generator) string {
		return g.pick("I reset it to the default", "then set it to 'read-only'", "we changed it to version-2024-0"+g.chars(1, "123456789"), "set it to max_retries=5", "reset it to HEAD~2")
	}},
	{"words below", func(g *generator) string {
		return g.pick("The password below the form is optional.", "password follows the usual policy", "see the password is below the minimum of 12 characters")
	}},
	{"verbs of others", func(g *generator) string {
		return g.pick("la password es obligatoria desde 2024", "la api key es válida hasta el 12-03-2024", "die Passphrase ist leer", "le token est expiré depuis 24h", "password er for kort (min 12)", "token je neplatný", "die PIN ist 4-stellig", "the pin is 6 digits",
			"el código es incorrecto", "パスワードは必須です", "密码是必填项", "비밀번호는 8자 이상")
	}},
	{"labels without numbers", func(g *generator) string {
		return g.pick("passport control 12:30, gate B12", "ID card readers v2.0 installed", "driver number of the queue: "+g.chars(2, digit), "IMSI catcher demo 2024", "visa application form DS-160", "health card page 12", "tax number format: NN-NNNNNNN", "护照 页 12", "passport.js 0.7.0 released")
	}},
	{"realm", func(g *generator) string {
		return `WWW-Authenticate: Digest realm="api", nonce="` + g.chars(32, hexa) + `", algorithm=MD5, qop="auth"`
	}},
	{"openssl commands", func(g *generator) string {
		return "openssl x509 -in cert" + g.chars(1, digit) + ".pem -noout -text; openssl rand -hex 32; openssl enc -d -aes-256-cbc -in a -out b"
	}},
	{"routing", func(g *generator) string {
		return `{"exchange":"orders","routing_key":"order.created.v` + g.chars(1, digit) + `","binding_key":"order.*"}`
	}},
	{"smtp without login", func(g *generator) string {
		return "250-AUTH LOGIN PLAIN\n250-SIZE 35882577\n250 8BITMIME\n220 mx" + g.chars(1, digit) + ".example.com ready"
	}},
	{"write keys", func(g *generator) string {
		return `{"write_key_columns":["id","tenant"],"write_concern":"majority","project_key":"ACME-` + g.chars(3, digit) + `","issue_key":"ACME-` + g.chars(4, digit) + `"}`
	}},
	{"numbers behind words", func(g *generator) string {
		return g.pick("object ", "job ", "offset ", "block ", "trace ") + g.chars(16, digit[1:]) + " and event " + g.chars(16, digit[1:])
	}},
	{"headings of a book", func(g *generator) string {
		return "Contents\n2.1.1.1 Keys\n2.1.1.2 Tokens and secrets\n2.1.2.1 Pass" + g.chars(1, "e") + "s\n"
	}},
	{"prompt of a login", func(g *generator) string {
		return "login: ada\nLast login: Tue Jan  2 03:04:0" + g.chars(1, digit) + " 2024 from 127.0.0.1\n$ exit"
	}},
	{"sample of a config", func(g *generator) string {
		return "user = \"app:readonly\"\nhost = \"db" + g.chars(1, digit) + "\"\nauth-user-pass\nauth SHA256\ncipher AES-256-GCM"
	}},
	{"test doubles", func(g *generator) string {
		return "expect(login('ada', 'wrong')).toBe(false); // returns 401 after " + g.chars(1, "123456789") + " attempts"
	}},
	{"names of symbols", func(g *generator) string {
		return "core::ptr::drop_in_place<auth::Token>::h" + g.chars(16, hexa) + "\nstd::sys::secret::h" + g.chars(16, hexa)
	}},
	{"names of pods", func(g *generator) string {
		return "token-refresher-" + g.chars(9, lower+digit) + "-" + g.chars(5, lower+digit) + " secret-sync-job-28" + g.chars(6, digit) + "-" + g.chars(5, lower)
	}},
	{"opaque states", func(g *generator) string {
		return `{"nextToken":null,"continuation":"` + g.chars(40, alnum) + `","cursor_position":"` + g.chars(24, alnum) + `"}`
	}},
}
