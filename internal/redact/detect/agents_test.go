// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// redactedTo checks what becomes of texts: · stands for a mask.
func redactedTo(t *testing.T, texts map[string]string) {
	t.Helper()
	d := masking(t)
	for text, want := range texts {
		got := d.Walk(nil).Value("content", text)
		require.Equal(t, want, strings.ReplaceAll(got, token.Mask, "·"), text)
		require.Equal(t, got, d.Walk(nil).Value("content", got), "again: %s", text)
	}
}

func TestTheTokenInAURLOfTelegramGoes(t *testing.T) {
	const bot = "1234567890:AAF0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0u"
	redactedTo(t, map[string]string{
		"https://api.telegram.org/bot" + bot + "/getMe":                 "https://api.telegram.org/bot·/getMe",
		"https://api.telegram.org/file/bot" + bot + "/photos/file_1":    "https://api.telegram.org/file/bot·/photos/file_1",
		"https://api.telegram.org/bot<token>/getMe and /bot12/commands": "https://api.telegram.org/bot<token>/getMe and /bot12/commands",
	})
}

func TestAPrivateKeyGoesWhereItsPartsStandApart(t *testing.T) {
	line := strings.Repeat("aB3dE5gH", 8)
	redactedTo(t, map[string]string{
		line + "\n" + line + "\n-----END RSA PRIVATE KEY-----\nok":                                "·\nok",
		"  26\t" + line + "\n  27\t-----END PRIVATE KEY-----":                                     "  26\t·",
		`["` + line + `","-----END RSA PRIVATE KEY-----"]`:                                        `["·",""]`,
		`[{"n":1,"t":"-----BEGIN EC PRIVATE KEY-----"},{"n":2,"t":"` + line + `"}]`:               `[{"n":1,"t":"-----BEGIN EC PRIVATE KEY-----"},{"n":2,"t":"·"}]`,
		`["-----BEGIN CERTIFICATE-----","` + line + `","-----END CERTIFICATE-----"]`:              `["-----BEGIN CERTIFICATE-----","` + line + `","-----END CERTIFICATE-----"]`,
		"it begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----, see": "it begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----, see",
	})
}

func TestACardGoesInWhateverGroupsItStands(t *testing.T) {
	redactedTo(t, map[string]string{
		"card 4111/1111/1111/1111 ok":                  "card · ok",
		"card 41111111/11111111 and 41111111_11111111": "card · and ·",
		"pan_4111_1111_1111_1111":                      "pan_·",
		"4111\n1111\n1111\n1111\nok":                   "·\nok",
		"no 41111111 11111111":                         "no ·",
		"2019\n2020\n2021\n2022":                       "2019\n2020\n2021\n2022",
		"/4112/1111/1111/1111/1.html":                  "/4112/1111/1111/1111/1.html",
		"from 20260102 to 20260203":                    "from 20260102 to 20260203",
		"1_000_000_000_000_000 of them":                "1_000_000_000_000_000 of them",
	})
}

func TestWhatIsTypedAtAPromptGoes(t *testing.T) {
	redactedTo(t, map[string]string{
		`expect "password:" { send "swordfish\r" }`:           `expect "password:" { send "·\r" }`,
		`expect "login:" { send "ada\r" }`:                    `expect "login:" { send "ada\r" }`,
		`expect "password:"; send "$password\r"`:              `expect "password:"; send "$password\r"`,
		`printf '%s\n' swordfish | sudo -S id`:                `printf '%s\n' · | sudo -S id`,
		`printf '%s\n' "$PW" | sudo -S id`:                    `printf '%s\n' "$PW" | sudo -S id`,
		`sudo -S -p '' id <<< 'swordfish'`:                    `sudo -S -p '' id <<< '·'`,
		"cat <<EOF | sudo -S id\nswordfish\nEOF":              "cat <<EOF | sudo -S id\n·\nEOF",
		`echo 'vm.swappiness=10' | sudo tee -a /etc/sysctl.d`: `echo 'vm.swappiness=10' | sudo tee -a /etc/sysctl.d`,
		`getpass('Password: ') # 2`:                           `getpass('Password: ') # 2`,
		`read -s -p "Password: " PW2`:                         `read -s -p "Password: " PW2`,
	})
}

func TestAQuotedLocalPartIsPartOfTheAddress(t *testing.T) {
	redactedTo(t, map[string]string{
		`mail "ada lovelace"@example.com now`:   `mail · now`,
		`{"to":"\"ada lovelace\"@example.com"}`: `{"to":"·"}`,
		`npm i "react"@18.2.0`:                  `npm i "react"@18.2.0`,
		`GRANT x TO "app"@"localhost"`:          `GRANT x TO "app"@"localhost"`,
	})
}

func TestWhatIsTypedIntoAFieldForASecretGoes(t *testing.T) {
	redactedTo(t, map[string]string{
		`{"element":"Password field","ref":"e1","text":"swordfish"}`:                `{"element":"Password field","ref":"e1","text":"·"}`,
		`{"text":"swordfish","element":"Passwort-Feld"}`:                            `{"text":"·","element":"Passwort-Feld"}`,
		`{"selector":"input[type=\"password\"]","value":"swordfish"}`:               `{"selector":"input[type=\"password\"]","value":"·"}`,
		`{"fields":[{"name":"f","type":"password","value":"swordfish"}]}`:           `{"fields":[{"name":"f","type":"password","value":"·"}]}`,
		`page.fill('#password', 'swordfish')`:                                       `page.fill('#password', '·')`,
		`- textbox "Password" [ref=e1]: swordfish`:                                  `- textbox "Password" [ref=e1]: ·`,
		`Typed 'swordfish' into password field`:                                     `Typed '·' into password field`,
		`{"element":"Search box","text":"how to reset a password"}`:                 `{"element":"Search box","text":"how to reset a password"}`,
		`{"element":"Show password button","text":"Show"}`:                          `{"element":"Show password button","text":"Show"}`,
		`{"element":"Password field","text":"${PASSWORD}"}`:                         `{"element":"Password field","text":"${PASSWORD}"}`,
		`page.fill('#search', 'forgot password')`:                                   `page.fill('#search', 'forgot password')`,
		`{"name":"password","type":"string","description":"The password, 8 chars"}`: `{"name":"password","type":"string","description":"The password, 8 chars"}`,
	})
}

func TestWhatNobodyTypesIntoAFieldStays(t *testing.T) {
	same := map[string]string{}
	for _, text := range []string{
		`{"element":"Pin to dashboard","text":"Revenue"}`, `{"label":"pass","value":"12 of 12"}`, `{"type":"pass","text":"login works"}`, `{"hint":"Enter your PIN","text":"Continue"}`,
		`{"prompt":"Write a password validator in Go","content":"package main"}`, `{"prompt":"What is 2FA?","answer":"second factor"}`, `{"field":"password","text":"is required"}`,
		`{"id":"login.password.label","text":"Passwort"}`, `{"target":"password_hash","value":"bcrypt"}`, `{"key":"one time purchase","value":"lifetime"}`, `{"sensitive":true,"text":"case matters"}`,
		`labels.set("password", "Kennwort")`, `statuses.set("pass", "green")`, `document.getElementById('pin').value = 'left'`, `<input type="radio" name="otp_method" value="sms">`,
		`if (!token) return res.status(401).send("token missing")`, `app.post('/token', (req, res) => { res.send("created"); })`,
	} {
		same[text] = text
	}
	redactedTo(t, same)
	redactedTo(t, map[string]string{
		`{"element":"PIN","text":"4711"}`:                                               `{"element":"PIN","text":"·"}`,
		`{"label":"One-time code","value":"482 913"}`:                                   `{"label":"One-time code","value":"·"}`,
		`{"selector":"input[placeholder='Password'] >> nth=0","text":"swordfish"}`:      `{"selector":"input[placeholder='Password'] >> nth=0","text":"·"}`,
		`{"outputs":{"db":{"value":"swordfish","type":"string","sensitive":true}}}`:     `{"outputs":{"db":{"value":"·","type":"string","sensitive":true}}}`,
		`while "assword:" not in read(): pass` + "\n" + `    chan.send("swordfish\\n")`: `while "assword:" not in read(): pass` + "\n" + `    chan.send("·\\n")`,
	})
}

func TestTheValuesOfASecretColumnGo(t *testing.T) {
	redactedTo(t, map[string]string{
		`{"columns":["user","password"],"rows":[["ada","swordfish"],["bob",null]]}`:                               `{"columns":["user","password"],"rows":[["ada","·"],["bob",null]]}`,
		`{"rows":[["ada","swordfish"]],"columns":[{"name":"user"},{"name":"passwd"}]}`:                            `{"rows":[["ada","·"]],"columns":[{"name":"user"},{"name":"passwd"}]}`,
		`{"schema":{"fields":[{"name":"u"},{"name":"password"}]},"rows":[{"f":[{"v":"ada"},{"v":"swordfish"}]}]}`: `{"schema":{"fields":[{"name":"u"},{"name":"password"}]},"rows":[{"f":[{"v":"ada"},{"v":"·"}]}]}`,
		" user | password \n------+----------\n ada  | swordfish\n(1 row)":                                        " user | password \n------+----------\n ada  | ·\n(1 row)",
		"| user | password |\n|---|---|\n| ada | swordfish |":                                                     "| user | password |\n|---|---|\n| ada | · |",
		"user  password\n----  ---------\nada   swordfish\n":                                                      "user  password\n----  ---------\nada   ·\n",
		"| Feature | Password |\n|---|---|\n| Login | yes |":                                                      "| Feature | Password |\n|---|---|\n| Login | yes |",
		`{"columns":["user","token_count"],"rows":[["ada","4096"]]}`:                                              `{"columns":["user","token_count"],"rows":[["ada","4096"]]}`,
		"password\tvarchar\tnot null\n\terr := check(password)\t// nothing\n\tpassword\tstring\n":                 "password\tvarchar\tnot null\n\terr := check(password)\t// nothing\n\tpassword\tstring\n",
	})
}

func TestAKeyInPiecesGoesAsAWhole(t *testing.T) {
	redactedTo(t, map[string]string{
		`k = "ghp_aB3dE5gH7jK9mN1pQ3" + "aB3dE5gH7jK9mN1pQ3"`: `k = "·" + "·"`,
		"k = (\"glpat-aB3dE5gH7j\"\n     \"K9mN1pQ3aB3dE5\")": "k = (\"·\"\n     \"·\")",
		"ghp_aB3dE5gH7jK9mN1pQ3\naB3dE5gH7jK9mN1pQ3\n":        "·\n·\n",
		`path = "/usr/local" +` + "\n" + `  "/share/doc/123"`: `path = "/usr/local" +` + "\n" + `  "/share/doc/123"`,
		"merge 8c7b6a5d4e\n9d8e7f6a5b into main":              "merge 8c7b6a5d4e\n9d8e7f6a5b into main",
	})
}

func TestWhatLetsInOnceGoes(t *testing.T) {
	redactedTo(t, map[string]string{
		"https://a.example.com/reset-password/aB3dE5gH7jK9mN1pQ3":                 "https://a.example.com/reset-password/·",
		"https://a.example.com/verify?code=394738":                                "https://a.example.com/verify?code=·",
		"https://a.example.com/app;jsessionid=0A1B2C3D4E5F6071?x":                 "https://a.example.com/app;jsessionid=·?x",
		"https://github.com/login/oauth/authorize?client_id=Iv1.8a61f9b3a7aba766": "https://github.com/login/oauth/authorize?client_id=Iv1.8a61f9b3a7aba766",
		"https://api.stripe.com/v1/setup_intents/seti_1OqX2bLkdIwHu7ix1YzQmR4s":   "https://api.stripe.com/v1/setup_intents/seti_1OqX2bLkdIwHu7ix1YzQmR4s",
		"https://api.example.com/v1/users/verified?cursor=eyJpZCI6MTIzNH0":        "https://api.example.com/v1/users/verified?cursor=eyJpZCI6MTIzNH0",
		"sessionid=migration-2024-03-12-users":                                    "sessionid=migration-2024-03-12-users",
		"Disaster recovery code review: ticket OPS-12345, build 20240312":         "Disaster recovery code review: ticket OPS-12345, build 20240312",
		`base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"`:                             `base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"`,
		"https://blog.example.com/how-to-reset-your-password-12":                  "https://blog.example.com/how-to-reset-your-password-12",
		"https://github.com/acme/reset/commit/" + strings.Repeat("a1b2c3d4", 5):   "https://github.com/acme/reset/commit/" + strings.Repeat("a1b2c3d4", 5),
		"Your code is 394738":                                   "Your code is ·",
		"Dein Code lautet 394738":                               "Dein Code lautet ·",
		"error code 394738 in module net":                       "error code 394738 in module net",
		"the postal code is 101000":                             "the postal code is 101000",
		"Backup codes:\n1. 4f8a-92bc\n2. 91bc-2d4e\nKeep":       "Backup codes:\n1. ·\n2. ·\nKeep",
		"otpauth://totp/A:ada?secret=JBSWY3DPEHPK3PXP&issuer=A": "otpauth://totp/A:ada?secret=·&issuer=A",
	})
}

func TestANumberInASentenceIsNoCode(t *testing.T) {
	same := map[string]string{}
	for _, text := range []string{
		"Your code is 1200 lines long", "your code has 1453 warnings", "Your code: 1532 passed, 3 failed", "Is your code 3000 lines?", "I ran your code, 10000 iterations took 3.2 s",
		"the login code takes 2500 ms on CI", "Your code returns 1024 instead of 2048", "sign-in code path: 12345 calls per second", "votre code postal est 75011", "Ihr Code hat 1500 Zeilen",
		"Your Google Analytics code is UA-12345678-1", "signal: code 11111 was ignored", "your access code expires 20261231", "use 8080 to access the dashboard", "use 3000 for your dev server",
		"type 12345 to confirm deletion of 12345 items", "2048 is your limit; change the code in config.py", "4096 is your context limit, so the code must truncate",
	} {
		same[text] = text
	}
	redactedTo(t, same)
	redactedTo(t, map[string]string{
		"Your Uber code is 4829. Never share it": "Your Uber code is ·. Never share it",
		"Your code is G-123456":                  "Your code is G-·",
		"Use 4829 to verify your phone":          "Use · to verify your phone",
		"482-913 is your code and expires soon":  "· is your code and expires soon",
		"Your code is 482913 and expires soon":   "Your code is · and expires soon",
	})
}

func TestWhatProvesARequestGoes(t *testing.T) {
	sum := strings.Repeat("a1b2c3d4", 8)
	redactedTo(t, map[string]string{
		"X-Amz-Date=20260102T030405Z&X-Amz-Signature=" + sum:            "X-Amz-Date=20260102T030405Z&X-Amz-Signature=·",
		`Digest username="ada", realm="x", response="` + sum[:32] + `"`: `Digest username="ada", realm="x", response="·"`,
		`WWW-Authenticate: Digest realm="x", nonce="` + sum[:32] + `"`:  `WWW-Authenticate: Digest realm="x", nonce="` + sum[:32] + `"`,
	})
}

func TestWhatAPlanOfTerraformShowsGoes(t *testing.T) {
	redactedTo(t, map[string]string{
		`  ~ password = "swordfish" -> "bluebanana"`:                                                `  ~ password = "·" -> "·"`,
		`  + password = (sensitive value)`:                                                          `  + password = (sensitive value)`,
		`{"type":"random_password","instances":[{"attributes":{"length":16,"result":"abc!defg"}}]}`: `{"type":"random_password","instances":[{"attributes":{"length":16,"result":"·"}}]}`,
		`{"vpc":{"sensitive":false,"value":"vpc-0a1b2c3d4e5f"}}`:                                    `{"vpc":{"sensitive":false,"value":"vpc-0a1b2c3d4e5f"}}`,
	})
}

func TestANumberedSectionIsNoAddress(t *testing.T) {
	redactedTo(t, map[string]string{
		"see \u00a7 6.4.5.3 and 7.1.2.3":   "see \u00a7 6.4.5.3 and 7.1.2.3",
		"upgrade from 1.2.3.4 to 1.2.3.5":  "upgrade from 1.2.3.4 to 1.2.3.5",
		"OID 2.5.4.3 in libfoo.so.1.2.3.4": "OID 2.5.4.3 in libfoo.so.1.2.3.4",
		"the host 6.4.5.3 answers":         "the host · answers",
		"from 203.0.113.7":                 "from ·",
		"8.8.8.8":                          "·",
	})
}
