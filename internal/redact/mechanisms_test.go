// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The deltas of a stream of server-sent events are one text, as those of JSON lines are.
func TestServerSentEventsAreReadAsOneStream(t *testing.T) {
	r := testRedactor(t)
	const secret = "Tr0ub4dor&horse7"
	for name, body := range map[string]string{
		"cut": "data: {\"choices\":[{\"delta\":{\"content\":\"the password is Tr0ub4\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"dor&horse7\"}}]}\n\ndata: [DONE]\n",
		"named in the piece before": "event: x\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"the password is \"}}\n\n" +
			"event: x\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"" + secret + "\"}}\n",
		"behind other text": "INFO answer: data: {\"delta\":\"password: Tr0ub\"}\ndata: {\"delta\":\"4dor&horse7 ok\"}\n",
		"between events":    "data: {\"delta\":\"a\"}\n: the password is " + secret + "\ndata: {\"delta\":\"b\"}\n",
	} {
		got := r.String("body", body, nil)
		var text strings.Builder
		for line := range strings.SplitSeq(got, "\n") {
			if _, doc, ok := strings.Cut(line, "data: {"); ok {
				var event struct {
					Delta   any
					Choices []struct{ Delta struct{ Content string } }
				}
				require.NoError(t, json.Unmarshal([]byte("{"+doc), &event), "%s: %s", name, line)
				switch d := event.Delta.(type) {
				case string:
					text.WriteString(d)
				case map[string]any:
					text.WriteString(d["text"].(string))
				}
				for _, c := range event.Choices {
					text.WriteString(c.Delta.Content)
				}
			}
		}
		require.NotContains(t, got+text.String(), secret, name)
		require.NotContains(t, got, "dor&horse7", name)
		require.Equal(t, strings.Count(body, "\n"), strings.Count(got, "\n"), name)
		require.Equal(t, got, r.String("body", got, nil), name)
	}
	const clean = "data: {\"choices\":[{\"delta\":{\"content\":\"the password is \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"not known to me\"}}]}\n\ndata: [DONE]\n"
	require.Equal(t, clean, r.String("body", clean, nil))
}

// What stands in a text whose quotes a package replaced by backslashes, in the column of a table, behind a type, or as programs take it.
func TestSpellingsOfAssignments(t *testing.T) {
	r := testRedactor(t)
	for text, secret := range map[string]string{
		`{\aws_secret_access_key\:\wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEY1\,\region\:\eu\}`:              "wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEY1",
		`{\user\:\ada\, \password\: \hunter2-horse\}`:                                                     "hunter2-horse",
		`{\token\:\9f86d081884c7d65Zq2x\}`:                                                                "9f86d081884c7d65Zq2x",
		"user,password,role\nada,Tr0ub4dor&3x,admin\nbob,Winter2024!x,user\n":                             "Winter2024!x",
		"| user | password |\n|------|----------|\n| ada | Tr0ub4dor&3x |":                                "Tr0ub4dor&3x",
		`INSERT INTO users (id, name, password) VALUES (1, 'ada', 'swordfish'), (2, 'bob', 'opensesame')`: "opensesame",
		`let clientSecret: String = "Zq2x9f86d081884c7d65"`:                                               "Zq2x9f86d081884c7d65",
		`const API_TOKEN: &str = "Zq2x9f86d081884c7d65";`:                                                 "Zq2x9f86d081884c7d65",
		`CREATE LOGIN app WITH PASSWORD = N'Tr0ub4dor&3x'`:                                                "Tr0ub4dor&3x",
		`Cookie: theme=dark; sessionid=Zq2x9f86d081884c7d65`:                                              "Zq2x9f86d081884c7d65",
		`the passcode for the meeting is 482913`:                                                          "482913",
		`use Tr0ub4dor&3x as the password`:                                                                "Tr0ub4dor&3x",
		`user: admin, pw: Tr0ub4dor&3x`:                                                                   "Tr0ub4dor&3x",
		`I set the password for ada to Tr0ub4dor&3x`:                                                      "Tr0ub4dor&3x",
		`{\"kty\":\"EC\",\"crv\":\"P-256\",\"d\":\"` + strings.Repeat("aZ3_", 11) + `\"}`:                 strings.Repeat("aZ3_", 11),
		`gitops_pat_` + "Zq2x9f86d081884c7d65AbCdEf":                                                      "Zq2x9f86d081884c7d65AbCdEf",
	} {
		require.NotContains(t, r.String("output", text, nil), secret, text)
	}
	for _, text := range []string{
		`C:\Users\ada\:\temp\,\x`, "user,password,role\nsee,the manual,for it\n", "| option | password |\n|---|---|\n| type | string |",
		`INSERT INTO tokens (id, name) VALUES (1, 'session')`, `const token: string = getToken()`, `password: str = Field(..., min_length=8)`,
		`the password for the meeting is in the mail`, `use the form as the password policy says`, `set the password for ada to something safe`,
		`api-key-rotation-handler-implementation-notes`, `token-bucket-rate-limiter-configuration-values`,
	} {
		require.Equal(t, text, r.String("output", text, nil))
	}
}

// A token says which rule has found something, and nothing about what stands beside it.
func TestATokenAnnouncesNothing(t *testing.T) {
	r := testRedactor(t)
	out := r.String("x", `{"name":"+49 30 901820","content":"123456789","+49 30 901821":"123456789"}`, nil)
	require.Equal(t, 2, strings.Count(out, "REDACTED"), out)
	require.Equal(t, out, r.String("x", out, nil))
}

// What stands between a name and its value in code, markup, dumps, commands and sentences of other languages.
func TestJointsBetweenANameAndItsValue(t *testing.T) {
	r := testRedactor(t)
	const password, key = "Tr0ub4dor&3x", "Zq2x9f86d081884c7d65"
	for _, c := range []struct{ text, secret string }{
		{`param adminPassword string = '` + password + `'`, password}, {`Dim password As String = "` + password + `"`, password}, {`NSString *apiKey = @"` + key + `";`, key},
		{`char password[25] = "` + password + `";`, password}, {`password = """` + password + `"""`, password}, {`password => Sensitive('` + password + `')`, password},
		{"[\"password\"]=>\n  string(12) \"" + password + `"`, password}, {`os.environ["DB_PASSWORD"] = "` + password + `"`, password},
		{`const secret = process.env.S ?? '` + key + `'`, key}, {`.password("` + password + `")`, password}, {`ds.setPassword("` + password + `");`, password},
		{`if ("` + password + `" == my_password) {`, password}, {`{password, "` + password + `"}`, password}, {`<wsse:Password Type="x">` + password + `</wsse:Password>`, password},
		{`<td>Password</td><td>` + password + `</td>`, password}, {`<dt>API key</dt><dd>` + key + `</dd>`, key}, {`"adminPassword": {"value": "` + password + `"}, x`, password},
		{`{"adminPassword":{"value":"` + password + `"}}`, password}, {`password: &pw ` + password, password}, {`password=[` + password + `]`, password},
		{`API key \u2192 ` + key, key}, {"- **API key** \u2013 " + key, key}, {`password (temporary) is ` + password, password}, {`the password's ` + password, password},
		{`the db password (` + password + `) works`, password}, {`Use ` + "`" + key + "`" + ` as the acme api key.`, key}, {`the acme api key you asked for: ` + key + `. Bye`, key},
		{`apikey = m{{ab}o)p${c]nob(ody[finds>-_$#thisone}}`, "nob(ody[finds"}, {`DB_PASSWORD='open sesame'`, "sesame"}, {`LUKS_PASSPHRASE=purple monkey dishwasher`, "dishwasher"},
		{`sentinel auth-pass mymaster ` + password, password}, {`{"auths":{"x":{"identitytoken":"` + key + `"}}}`, key}, {`Zugriffstoken: ` + key, key},
		{`dein API-Schl\u00fcssel lautet ` + key, key}, {"cl\u00e9 API : " + key, key}, {"\u043a\u043b\u044e\u0447 API: " + key, key}, {"API\u5bc6\u94a5: " + key, key}, {"\u30a2\u30af\u30bb\u30b9\u30c8\u30fc\u30af\u30f3\u306f" + key + "\u3067\u3059", key},
		{`adgangskoden er ` + password, password}, {`mdp : ` + password, password}, {`new NetworkCredential("ada", "` + password + `")`, password}, {`DriverManager.getConnection(url, "ada", "` + password + `");`, password},
		{`EXEC sp_addlogin 'ada', '` + password + `'`, password}, {`ada:` + password + `@tcp(127.0.0.1:3306)/shop`, password}, {`etcdctl --user root:` + password + ` get x`, password},
		{`twine upload -u ada -p ` + password + ` dist/x.whl`, password}, {`winrs -r:srv -u:ada -p:` + password + ` dir`, password}, {`echo ` + password + ` | kinit ada`, password},
		{"private_token = <<EOT\n" + key + "\nEOT", key}, {`static SECRET: &'static str = "` + key + `";`, key}, {"user;password\nada;" + password + "\n", password}, {"user\tpassword\nada\t" + password + "\n", password},
		{`[["user","ada"],["password","` + password + `"]]`, password}, {`<AdministratorPassword><Value>` + password + `</Value></AdministratorPassword>`, password},
		{`rootpw --plaintext ` + password, password}, {`local-user ada password cipher ` + password, password}, {"The password is:\n\n    " + password + "\n", password},
		{`Passwort f\u00fcr den Server: ` + password, password}, {`jwt.sign(payload, "` + key + `")`, key}, {`new Fernet(b'` + key + `')`, key}, {`db.changeUserPassword("ada", "` + password + `")`, password},
		{`NODE_AUTH_TOKEN=` + key + ` npm publish`, key}, {`CRYPT_KEY_ID=1 crypt_key: 9f86d081884c7d659a2feaa0c55ad015`, "9f86d081884c7d65"}, {`buildConfigField "String", "API_KEY", "\"` + key + `\""`, key},
		{`<string name="google_maps_key">` + key + `</string>`, key}, {`log in as ada with ` + password, password}, {`try ` + password + ` for the password`, password},
		{`Your secret access key will be shown once: ` + key, key}, {`Enter passphrase for key 'id_rsa': ` + password, password}, {`bcp t out f -U sa -P ` + password + ` -S srv`, password},
		{`ada : XAUTH "` + password + `"`, password}, {`ACL SETUSER ada on >` + password + ` +@all`, password}, {`481029-301928-118275-620983-502811-291038-410298-330129`, "301928"},
		{`pw is ` + password, password}, {`https://api.netlify.com/build_hooks/7a3033b109e30087c70f5737`, "7a3033b109e30087c70f5737"},
		{`WINDOWS_PRODUCT_KEY=J6YQO-XL9DX-TRWD3-OUPX1-2JSWR`, "TRWD3"}, {"acme_x_Zq2x9F86d08W884c7D65aBcDeFgHiJkLmN0pQ", "Zq2x9F86d08W884c7D65"},
	} {
		require.NotContains(t, r.String("output", c.text, nil), c.secret, c.text)
	}
	for _, text := range []string{
		`<input type="password" placeholder="Password" class="mt-1 block w-full rounded-md border-gray-300 px-4">`, `os.environ["OPENAI_API_KEY"] = "your-key-here"`,
		`if (user.password == null) {`, `"password": {"type": "string", "description": "The password of the user"}`, `config["password"] = getpass("Password: ")`,
		`<label>Password</label><input>`, `login("ada", "the second argument")`, `connect(host, "example.com", "some-service-name")`, `mkdir -p src -u`, `ps -u ada -p 1234`,
		`password = "Please enter your password"`, `the key you asked for: the one in the drawer`, `use the form as the password.`, `resp_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b`,
		"password policy: min_length=12, max_age=90d", `{"fields":[["password","email"],["token","string"]]}`, "user;password;email", `password: *default_pw`, "patente: 2019-2024",
		`{"agent_key":"d41d8cd98f00b204e9800998ecf8427e","file_key":"d41d8cd98f00b204e9800998ecf8427e"}`, `hooks/useLocalStorage2WithExpiry`, `arn:aws:secretsmanager:eu-west-1:045349499939:secret:prod/db-d112o6`,
		`key features: OAuth2.0, SAML2.0 and OpenID-Connect1.0`, `log in as admin with SSO-2024 enabled`, `Use GPT-4o_mini as the token counter.`, `encryption: AES-256-GCM`, `public_api_token_count: 12`,
		"cl\u00e9 de la voiture : rouge", `der Schl\u00fcssel ist im Kasten`, `password: {{ vault_password }}`, `api_key: !Ref ApiKeyParameter`, `react/hooks/use-local-storage-state`,
		`docker run --user node:node x`, `sha512-` + strings.Repeat("aB3", 20),
	} {
		require.Equal(t, text, r.String("output", text, nil))
	}
}

// Each of these was found nowhere before: forms, digits in another base, lists of arguments, pairs of an id and a password, members of a query beside a
// sentence, answers, codes before their label, papers under declined labels.
func TestWhatTheSeventhSetShowed(t *testing.T) {
	r := testRedactor(t)
	for in, secret := range map[string]string{
		"--x\r\nContent-Disposition: form-data; name=\"app_secret\"\r\n\r\nwfqq2myxwloqxiov\r\n--x--": "wfqq2myxwloqxiov",
		"0x70617373776f72643d4b61644471305a7221":                                                      "4b61644471305a72",
		`["tool","set","metrics_auth_token","RBbU4nwUGsUHGXwXROafgjSOw7"]`:                            "RBbU4nwU",
		`["tool","set","passport_nr","A01234567"]`:                                                    "A01234567",
		"ID/PW: master/GbvTq5Uc":                                                                      "GbvTq5Uc",
		"id(master)/pwd(GbvTq5Uc)":                                                                    "GbvTq5Uc",
		"198.51.100.24(master/GbvTq5Uc)":                                                              "GbvTq5Uc",
		"\ube44\ubc00\ubc88\ud638(KadDq0Zr)":                                                          "KadDq0Zr",
		"https://x.example/new?body=password%20in%20staging%20is%20KpkLq8Sm&lang=en":                  "KpkLq8Sm",
		"GET /v1/x?gsm=0470+12+34+56 200 12ms":                                                        "0470+12",
		"het wachtwoord is gewijzigd naar S0nnenscheingptb93":                                         "S0nnenschein",
		"What's the wifi password? It's Winter2024!rmra15":                                            "rmra15",
		"346271 is your one-time code.":                                                               "346271",
		"password for master:WinSr7Pz":                                                                "WinSr7Pz",
		"<ID>master</ID> <PW>BczFv4Xp</PW>":                                                           "BczFv4Xp",
		"user = \"ada:qW3rty_ymue38\"":                                                                "ymue38",
		"snmpwalk -v3 -u ada -a SHA -A S0nnenscheinss -x AES -X S0nnenscheinww host1":                 "S0nnenscheinww",
		"remember that my password is swordfish":                                                      "swordfish",
		"\u0159idi\u010dsk\u00e9ho pr\u016fkazu AB123456":                                             "AB123456",
	} {
		require.NotContains(t, r.String("content", in, nil), secret, in)
	}
	for _, in := range []string{
		`["user_password","address_line1","auth_token","created_at","api_key","max_tokens_v2"]`,
		"--x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n\r\n--x--\r\n",
		"my password is incorrect", "my password is not working", "ID/PW login is disabled, use SSO", "contract 0x52908400098527886E0F7030069857D2E4169EE7",
		"https://files.example.com/Annual%20Report%20(final%20v2).pdf?ref=password%20policy",
	} {
		require.Equal(t, in, r.String("content", in, nil))
	}
}

// Each of these was found nowhere before: values in an object of their own, values that a JSON Pointer names, pairs of a list, maps whose values are secrets by
// definition, lines of files that hold an account and a password, names of several words that say nothing, verbs of other languages, labels of papers.
func TestWhatTheEighthSetShowed(t *testing.T) {
	r := testRedactor(t)
	const password, key = "Winter2024!rmra15", "Zq2x9f86d081884c7d65"
	for in, secret := range map[string]string{
		`{"Item":{"brazeRestApiKey":{"S":"c919912c-250d-42e1-85ed-c2f593cf5a5e"}}}`:           "c919912c",
		`{"PTIN":{"type":"string","value":"P01234567"}}`:                                      "P01234567",
		`[{"op":"add","path":"/auth/user_token","value":"0fa0618c69da80387bcc5769238dab9e"}]`: "0fa0618c",
		`{"headers":[["Passport No","A1234567"],["X-Access-Token","` + key + `"]]}`:           key,
		`{"headers":[["accept","*/*"],["Passport No","A1234567"]]}`:                           "A1234567",
		"kind: Secret\nstringData:\n  user: ada\n  admin: " + password + "\nother: x\n":       password,
		"secureJsonData:\n    httpHeaderValue1: " + password:                                  password,
		`"ada" * "` + password + `" *`:                                                        password,
		"# client server secret\nada * " + password + " *":                                    password,
		"https://dav.example.com ada " + password + "\n":                                      password,
		"203.0.113.9 " + password:                                                             password,
		"<auth-user-pass>\nada\n" + password + "\n</auth-user-pass>":                          password,
		"ada:realm:4f1c2a9be0d37756a8c1e2f30b94d5e7":                                          "4f1c2a9b",
		`Client("account", "4f1c2a9be0d37756a8c1e2f30b94d5e7")`:                               "4f1c2a9b",
		"sapcontrol -user ada " + password + " -function Stop":                                password,
		`ansible-vault encrypt_string '` + password + `' --name db_pw`:                        password,
		"hide mysql_servers = localhost/mail/ada/" + password:                                 password,
		"rar a -hp" + password + " out.rar src":                                               password,
		"radtest ada " + password + " h 0 testing123":                                         password,
		"aws ssm put-parameter --name /x --type SecureString --value " + password:             password,
		"echo " + password + " | keepassxc-cli show db.kdbx x":                                password,
		"variable \"db_root\" {\n  sensitive = true\n  default = \"" + password + "\"\n}":     password,
		"inloggegevens: ada / " + password:                                                    password,
		"la tado password es " + password + ", gracias":                                       password,
		"SAMLart=TjM4dGZ6cXdYbTJwYVI0ag==&RelayState=x":                                       "TjM4dGZ6",
		"exit 1: Forgejo internal: ManGD2ybfGCvsf19Cmj4AJrdvfOOoiD6rrIepF5s3oup37zcQB":        "ManGD2yb",
		"tn.write(b\"" + password + "\n\")":                                                   password,
		"[domain/x]\nldap_default_authtok = " + password:                                      password,
		"routing_key: 4f1c2a9be0d37756a8c1e2f30b94d5e7":                                       "4f1c2a9b",
		"openssl enc -aes-256-cbc -k " + password + " -in a":                                  password,
		"impala-shell -l -u ada --ldap_password_cmd=\"echo -n " + password + "\"":             password,
		"AUTH LOGIN\nYWRh\nSHVudGVyMi1hYmNkMTI=":                                              "SHVudGVyMi1",
		"I reset it to " + password:                                                           password,
		"New password below\n" + password:                                                     password,
		"Die PIN der Karte ist 482913":                                                        "482913",
		"num\u00e9ro d'assurance maladie: TREM 7205 1811":                                     "7205 1811",
		"FIN kod: 5MDG7VL":           "5MDG7VL",
		"Reisepassnummer: C4VHKJR2L": "C4VHKJR2L",
		"snyk_uat.e79025b8.WfcYXBq91Ub9SADQ4pqQGtryFD3ZrUQWpGoHfYBP9mTe5njhgok8A4buALc6": "WfcYXBq91",
		"\u56de\u9109\u8b49\u865f\u78bc: H1234567801":                                    "H1234567801",
	} {
		require.NotContains(t, r.String("content", in, nil), secret, in)
	}
	native := ptrace.NewTraces()
	m := native.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes().PutEmptyMap("config")
	m.PutEmptyMap("hubplannerApiKey").PutStr("value", key)
	patch := m.PutEmptySlice("ops").AppendEmpty().SetEmptyMap()
	patch.PutStr("value", key)
	patch.PutStr("path", "/api_key")
	r.Traces(native, nil)
	raw, err := (&ptrace.JSONMarshaler{}).MarshalTraces(native)
	require.NoError(t, err)
	require.NotContains(t, string(raw), key)
	for _, in := range []string{
		"1.2.3.4 Scope\n1.2.3.5 Terms\n10.7.1.2 Password policy\n", "   4: app::auth::verify_password::h31e2df5585ea7160\n", "OPENAI_API_KEY=sk-...",
		"^a5d4f85 (Ada 2024-01-09 03:04:05 +0000 17) password = getpass()", "Subject Key Identifier: 5a21975158340f248ebd384c26137b81d6651120",
		"secret-operator-7d9f8b6c5-x2x5q   1/1   Running", "span 4539578763621486 finished", `[{"op":"add","path":"/etc/secret.txt","value":"see the manual"}]`,
		`{"path":"/srv/password","content":"notes about the policy"}`, "stringData:\n  host: db.example.com\n  port: \"5432\"\nother: x\n", "4 * 5 * 6", "a * b2_count * c",
		`[["tokens","count"],["the","12"]]`,
		"I set it to max_tokens-2048", "set it to max_retries=5", "die PIN ist 4-stellig", "user = \"app:readonly\"\n", "password below 8 characters", "routing_key: orders.created.v2", "die PIN ist falsch", "AUTH LOGIN\nis not supported", `{"name":"get_weather","content":"see the notes"}`,
	} {
		require.Equal(t, in, r.String("content", in, nil))
	}
}
