// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

// benignNinth are texts that look like those of the ninth set and hold nothing to redact. They were drawn with that set, before any rule was changed
// for it. A line is a text; a mark stands for random characters: digits (d, and n for one that is no zero), hexadecimal digits (x), letters and digits
// (a), capitals and digits (U), base64 (b), a UUID (u).
const benignNinth = `
https://api.telegram.org/bot<token>/getMe
https://api.telegram.org/bot$TOKEN/sendMessage
https://api.telegram.org/bot{token}/getUpdates
url = fmt.Sprintf("https://api.telegram.org/bot%s/sendMessage", token)
GET /bot{d2}/commands HTTP/1.1
/robots/bot{d6}/status
["-----BEGIN PUBLIC KEY-----","{b64}","-----END PUBLIC KEY-----"]
["-----BEGIN CERTIFICATE-----","{b64}","{b64}","-----END CERTIFICATE-----"]
{b64}\n-----END CERTIFICATE-----
{b64}\n{b64}\n-----END PUBLIC KEY-----
The file must begin with -----BEGIN RSA PRIVATE KEY----- and end with -----END RSA PRIVATE KEY-----.
if (!key.startsWith("-----BEGIN PRIVATE KEY-----")) throw new Error("not a PEM key number {d2}");
re.compile("-----BEGIN [A-Z ]*PRIVATE KEY-----") # {d3}
grep -r "BEGIN RSA PRIVATE KEY" . | wc -l\n{d2}
const HEADER = '-----BEGIN PRIVATE KEY-----'; const FOOTER = '-----END PRIVATE KEY-----';
due 2026/0{n1}/1{n1}, paid 2026/02/1{n1}
/archive/2024/1234/56{d2}/7890/index.html
1_000_000_000_0{d2}_000
2019\n2020\n2021\n20{d2}
ports:\n8080\n8081\n8{d3}\n9090
from 20260102 to 202602{d2}
window 20260102 03{d2}0506
0000_1111_2222_{d4}
00000000 0{d7}
expect(page).toHaveTitle("Password manager {d2}")
expect "$ "\nsend "ls -l /tmp/{d3}\r"
expect "login:"\nsend "ada\r"
child.expect("continue.*")\nchild.sendline("yes") # {d2}
expect "password:"\nsend "$env(PASSWORD)\r" # {d2}
expect "assword:"\nsend "$password\r" # {d2}
expect(screen.getByLabelText("Password")).toBeVisible(); // {d2}
expect(res.status).toBe(401); expect(res.body.error).toBe("password required"); // {d2}
expect "continue? (y/n)" { send "y\r" } # {d2}
printf '%s\n' "$PW" | sudo -S apt install lib{n1}
echo "$SUDO_PASSWORD" | sudo -S ls /root/{d2}
cat /run/secrets/pw | sudo -S id -u {d3}
echo 'vm.swappiness=1{n1}' | sudo tee -a /etc/sysctl.conf
printf '%s\n' "nameserver local" | sudo tee /etc/resolv{d2}
yes | sudo apt install lib{d2}
echo done | sudo -n tee /tmp/{d3}
npm install "react"@18.{d2}.0
"typescript"@latest {d3}
GRANT ALL ON x.* TO "app"@"localhost"; -- {d2}
see "@scope/pkg"@1.{d2}
{"element":"Username field","ref":"e{d2}","text":"ada"}
{"element":"Search box","ref":"e{d2}","text":"how to reset a password"}
{"element":"Show password button","ref":"e{d2}"}
{"element":"Forgot password link","ref":"e{d2}","button":"left"}
{"element":"Password field","ref":"e{d2}","text":""}
{"element":"Password field","ref":"e{d2}","text":"${PASSWORD}"}
{"element":"Password field","ref":"e{d2}","text":"<secret>login_password</secret>"}
{"element":"Zip code","ref":"e{d2}","text":"12345"}
{"element":"Country code","ref":"e{d2}","text":"+49"}
{"element":"Code editor","ref":"e{d2}","text":"def f(): pass"}
{"element":"Token count input","ref":"e{d2}","text":"4096"}
{"element":"Coupon code","ref":"e{d2}","text":"SUMMER"}
{"selector":"#forgot-password","action":"click","timeout":{d4}}
{"selector":"#password","state":"visible","timeout":{d4}}
{"selector":"#search","value":"password manager {d2}"}
{"selector":"#password-hint","text":"At least {n1} characters"}
{"selector":".token-list","text":"{d2} tokens"}
{"fields":[{"name":"Remember password","type":"checkbox","ref":"e{d2}","value":"true"}]}
{"fields":[{"name":"Username","type":"textbox","ref":"e{d2}","value":"ada"},{"name":"City","type":"combobox","ref":"e3","value":"Paris"}]}
{"name":"password","type":"string","description":"The password of the user, {n1} characters or more"}
{"label":"Password","type":"password","required":true,"minLength":{n1}}
await page.click('#password'); // {d2}
await page.waitForSelector('#password', {timeout: {d4}});
await page.press('#password', 'Enter'); // {d2}
await expect(page.getByLabel('Password')).toBeVisible({timeout: {d4}});
await page.fill('#search', 'forgot password'); // {d2}
await page.fill('#username', 'ada{d2}');
await page.getByRole('button', { name: 'Reset password' }).click(); // {d2}
driver.find_element(By.ID, "password").clear() # {d2}
driver.find_element(By.ID, "password").send_keys(Keys.RETURN) # {d2}
page.fill("#password", os.environ["PW"]) # {d2}
page.fill('#password', credentials.password) // {d2}
- textbox "Password" [ref=e{d2}]
- button "Forgot password?" [ref=e{d2}]
- link "Reset password" [ref=e{d2}]:\n  - /url: /reset
- textbox "Username" [ref=e{d2}]: ada
- heading "Password policy" [level={n1}]
<input type="password" id="p{d2}" placeholder="Enter your password" autocomplete="current-password">
<input type="text" name="username" value="ada{d2}">
<label for="p{d2}">Password</label>
When I fill in "Username" with "ada{d2}"
And I click on "Forgot password" in row {n1}
I should see "Password is too short" in line {d2}
- tapOn: "Forgot password"\n- assertVisible: "Reset {d2}"
{"columns":["id","name","status"],"rows":[[{d2},"ada","active"]]}
{"columns":["user","token_count"],"rows":[["ada",{d4}]]}
{"columns":["user","password_changed_at"],"rows":[["ada","2026-01-0{n1}"]]}
{"columns":["user","has_password"],"rows":[["ada",true],["bob{d2}",false]]}
{"columns":["token","count"],"rows":[["the",{d3}],["of",{d2}]]}
{"columns":["user","password"],"rows":[["ada{d2}",null],["bob","********"]]}
{"columns":["table_name","column_name"],"rows":[["users{d2}","password"],["users","api_key"]]}
{"columns":["key","value"],"rows":[["theme","dark"],["lang","en{d2}"]]}
{"columns":["country_code","code"],"rows":[["DE","49"],["FR","3{n1}"]]}
[["name","password_policy"],["ada{d2}","strict"]]
\n   Column   |          Type          | Nullable\n------------+------------------------+----------\n password   | character varying({d3}) | not null\n api_key    | text                   |
\n| Option | Description | Default |\n|---|---|---|\n| password | The password of the user | none |\n| token | Access token, {d2} characters | |
\n| Parameter | Type | Required |\n|---|---|---|\n| api_key | string | yes |\n| page{d2} | int | no |
\n| Feature | Password | Passkey |\n|---|---|---|\n| Login | yes | no |\n| Area {n1} | ✓ | ✗ |
\n| Token | Meaning |\n|---|---|\n| + | plus |\n| IDENT | a name |\n| NUM{n1} | a number |
\n| Key | Action |\n|---|---|\n| Ctrl+C | copy |\n| F{n1} | help |
\n| Code | Meaning |\n|---|---|\n| 404 | Not found |\n| 50{n1} | Server error |
\nNAME         TYPE     DATA   AGE\ndb-secret    Opaque   2      {d2}d\nweb-token    Opaque   1      3d
\n| Field | Password rules |\n|---|---|\n| length | at least {n1} characters |
\n| Secret | Rotated | Owner |\n|---|---|---|\n| db-password | 2026-01-0{n1} | team-db |
\n+----+------+---------------+\n| id | user | last_login    |\n+----+------+---------------+\n|  1 | ada  | 2026-01-0{n1}    |\n+----+------+---------------+
\n username | password_hash_type | tokens\n----------+--------------------+--------\n ada      | argon2             | {d2}\n(1 row)
"Hello, " + name + "! You have " + "{d2}" + " messages"
path = "/usr/local" +\n  "/share/doc/{d3}"
const s = "abcdefghijklmnop" +\n  "qrstuvwxyz{d4}";
msg = ("The quick brown fox jumps over "\n       "the lazy dog {d2} times")
key = "user:" + id + ":profile:{d2}"
password = "<" + name + "{n1}>"
.example.com	TRUE	/	TRUE	1893456000	lang	en{d1}
.example.com	TRUE	/	FALSE	0	theme	dark{d1}
# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html {d2}
document.cookie = "theme=dark; max-age={d5}"
Set-Cookie: lang=en; Path=/; Max-Age={d5}
Set-Cookie: theme=dark; Expires=Wed, 21 Oct 2026 07:28:{d2} GMT; Path=/
res.clearCookie('sid', {path: '/{d2}'})
Cookie: theme=dark; lang=en; tz={d3}
[{"name":"theme","value":"dark","domain":".example.com","path":"/","expires":{d5}}]
the URL may contain ;jsessionid= when cookies are off, see page {d2}
https://app.example.com/reset-password?lang=en&v={d2}
https://app.example.com/verify/email/step-{n1}
https://app.example.com/invite
https://app.example.com/join/acme-corp-{d2}
https://app.example.com/confirm/order?page={d2}
https://github.com/acme/reset/commit/{x40}
https://docs.example.com/auth/magic-links/overview#section-{n1}
https://blog.example.com/2026/01/how-to-reset-your-password-{d2}
https://app.example.com/login?next=/settings/{d3}
https://app.example.com/activate/premium?plan={d2}
https://app.example.com/verify?lang=de&country=4{n1}
https://example.com/articles/{u}
https://app.example.com/confirm?step={n1}&of=3
https://app.example.com/invitations?status=pending&page={d2}
https://app.example.com/users/{d6}/reset
https://www.youtube.com/watch?v={a11}
https://app.example.com/password/reset?redirect=%2Fhome%2F{d2}
POST /v1/verify/email 202 {d2}ms
GET /reset/index.html HTTP/1.1 304 {d3}
https://registry.example.com/join/-/join-1.{d2}.0.tgz
https://app.example.com/verify/2026/0{n1}/report.pdf
exit code is {d3}
error code {d6} in module net
the postal code is 10{d4}
Your order number is {d6}
HTTP status code: 50{n1}
the area code is 41{n1}, call later
zip code: 94{d3}
product code 48{d4}, 3 left in stock
use {d6} tokens at most
Error code: 0x8007{x4}
Process finished with exit code {d2}
your ticket is #{d6}
use {d4}00 as the batch size
opcode is {d3}
code review {d6} is ready
invoice {d6} is your last one
the country code is {d2}
Use {d6} rows for the sample
lines of code: {d6}
{d6} is the number of rows
otpauth://totp/Label?secret=SECRET&issuer=Acme{d2}
You have {n1} recovery codes left. Generate new backup codes in settings.
Backup codes:\nstore them in a safe place, page {d2}
Recovery codes can be used once.\n1. Open settings {d2}\n2. Press generate
the recovery key is stored in the vault, shelf {n1}
TOTP uses a period of 30 seconds and {n1} digits
const signature: (a: string, n{n1}: number) => void
"signature": "def f(x: int) -> int{d2}"
script-src 'self' 'nonce-{a16}'
{"response":"ok{d2}","nonce":{d4}}
WWW-Authenticate: Basic realm="x{d2}"
X-Amz-Date: 202601{d2}T030405Z
x-amz-request-id: {U16}
X-Amz-Expires=36{d2}&X-Amz-SignedHeaders=host
X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=202601{d2}T030405Z
Digest: sha-256=abc{d2}
qop="auth", algorithm=MD5, nc=000000{d2}
the transaction nonce is {d4}
signed with AWS4-HMAC-SHA256 in step {n1}
  + password             = (sensitive value) # {d2}
  ~ password = (sensitive value)\n  ~ size = {d2}
  + password             = (known after apply)\n  + port = {d4}
  + ami           = "ami-0{x16}"
  ~ instance_type = "t3.micro" -> "t{n1}.small"
  + key_name = "deploy-key-{n1}"
  + token_type = "Bearer" # {d2}
  + result = (sensitive value) # {d2}
  + length = {d2}\n  + special = true\n  + min_upper = {n1}
  + name  = "/prod/db/password{n1}"
  + name  = "auth.password"\n  + description = "page {d2}"
  + secret_id = (known after apply) # {d2}
  + kms_key_id = "arn:aws:kms:eu-west-1:0000{d8}:key/{u}"
  + password_reset_required = false # {d2}
  ~ tags = {\n      ~ "owner" = "ada" -> "bob{n1}"\n    }
{"vpc":{"sensitive":false,"type":"string","value":"vpc-0{x16}"}}
{"type":"aws_instance","instances":[{"attributes":{"id":"i-0{x16}","result":"ok"}}]}
Plan: {n1} to add, 0 to change, 2 to destroy.
random_password.db: Creation complete after {n1}s [id=none]
~ password: [secret] => [secret] # {d2}
§ 6.4.5.{n1}
see § 6.{n1}.5.3 and §§ 7.1.2.3
§6.{n1}.5.3
(§ 4.3.2.{n1})
siehe Abschnitt 4.1.{n1}.3
clause 8.2.{n1}.4 of the contract
RFC 5280, 4.2.{n1}.12
ISO 27001 A.8.2.{n1}.3
Chapter 3.{n1}.4.1
figure 4.2.{n1}.3 shows it
Table 7.1.{n1}.4
item 1.2.3.{n1}
Annex B.2.1.3.{n1}
Appendix 5.4.3.{n1}
paragraph 5.4.3.{n1}
par. 5.4.3.{n1}
sec. 5.1.{n1}.6
Sect. 5.1.{n1}.6
subsection 5.1.{n1}.6
art. 6.4.5.{n1}
Artikel 6.4.5.{n1}
artículo 6.4.5.{n1}
раздел 6.4.5.{n1}
пункт 6.4.5.{n1}
第 6.4.5.{n1} 节
第6.4.5.{n1}条
6.4.5.{n1}節
Ziffer 6.4.5.{n1}
Kap. 6.4.5.{n1}
règle 6.4.5.{n1}
rule 6.4.5.{n1} says so
requirement 6.4.5.{n1} of PCI DSS
PCI DSS 6.4.5.{n1}
CIS 5.2.3.{n1} Ensure audit is on
control 5.2.3.{n1}
step 1.2.3.{n1}
point 1.2.3.{n1}
WBS 1.2.3.{n1}
see 6.4.5.{n1}
in 6.4.5.{n1} we show
## 6.4.5.{n1} Session handling
6.4.5.{n1} Session handling
6.4.5.{n1}. Session handling
- 6.4.5.{n1} Session handling
[6.4.5.{n1}](#session)
§ 6.4.5.1 – 6.4.5.{n1}
§§ 6.4.5.1, 6.4.5.2 und 6.4.5.{n1}
version 10.0.190{d2}.1
Version=4.0.303{d2}.42000
FileVersion: 6.1.76{d2}.17514
firmware 3.2.1.{n1}
build 10.0.226{d2}.3447
Chrome/120.0.60{d2}.109
libfoo.so.1.2.3.{n1}
foo==1.2.3.{n1}
foo-1.2.3.{n1}.tar.gz
>=1.2.3.{n1},<2
v1.2.3.{n1}
release 1.2.3.{n1}
upgrade from 1.2.3.4 to 1.2.3.{n1}
OID 2.5.4.{n1}
oid: 1.3.6.{n1}
"version": "1.2.3.{n1}"
AssemblyVersion("1.2.3.{n1}")
getpass('Password: ') # {d2}
pw = getpass.getpass("Enter password: ") # {d2}
key = input("API key: ") # {d2}
t = raw_input('Token: ') # {d2}
read -s -p "Password: " PW{n1}
$pw = Read-Host -Prompt "Password" -AsSecureString # {d2}
const pw = prompt("Enter your password"); // {d2}
pw = click.prompt("Password", hide_input=True) # {d2}
char[] pw = console.readPassword("Password: "); // {d2}
{type: 'password', name: 'password', message: 'Enter your password', min: {n1}}
Console.Write("Password: "); // {d2}
std::cout << "Password: "; // {d2}
fmt.Print("Enter password: ") // {d2}
rl.question('Password: ', cb{n1})
st.text_input("Password", type="password") # {d2}
QInputDialog.getText(self, "Password", "Enter password:") # {d2}
dialog --passwordbox "Enter password" 10 3{n1}
zenity --password --title="Sudo password" --timeout={d2}
whiptail --passwordbox "Please enter your password" 8 {d2}
parser.add_argument('--password', help='the password of the user') # {d2}
questionary.password("Enter token:").ask() # {d2}
getpass.getpass(f"Password for {user}: ") # {d2}
getpass(prompt='New password: ') # {d2}
input('Passwort: ') # {d2}
input("Mot de passe : ") # {d2}
rpassword::prompt_password("Password: ").unwrap() // {d2}
ask("Password: ") { |q| q.echo = "*" } # {d2}
IO.console.getpass("Password: ") # {d2}
password = getpass.getpass('Enter your sudo password: ') # {d2}
password = input("Password (8 characters or more): ") # {d2}
secret = getpass("Client secret: ") # {d2}
token = getpass.getpass("GitHub token: ") # {d2}
password := prompt("Password for ada: ") // {d2}
PASSWORD=$(systemd-ask-password "Enter passphrase:") # {d2}
passphrase = pinentry("Passphrase: ") # {d2}
pass = System.console().readPassword("Enter %s: ", "password") // {d2}
password = typer.prompt("Password", hide_input=True, confirmation_prompt=True) # {d2}
password: await ask('Password?') // {d2}
password = STDIN.noecho(&:gets) # {d2}
getpass("Contraseña: ") # {d2}
getpass("Пароль: ") # {d2}
getpass('パスワード: ') # {d2}
readline.question("What is your password? ", cb{n1})
inquirer.prompt([{ type: "password", name: "apiKey", message: "Paste your API key:" }]) // {d2}
`

var benignMark = regexp.MustCompile(`\{(d[0-9]|n1|x[0-9]{1,2}|a[0-9]{2}|U16|b64|u)\}`)

// benignLines returns every line of a table, each filled so many times.
func benignLines(table string, seed uint64, times int) (texts []string) {
	g := newGenerator(seed)
	for line := range strings.SplitSeq(strings.Trim(table, "\n"), "\n") {
		line = strings.ReplaceAll(line, `\n`, "\n")
		for range times {
			texts = append(texts, benignMark.ReplaceAllStringFunc(line, func(mark string) string {
				n := atoi(mark[2 : len(mark)-1])
				switch mark[1] {
				case 'd':
					return g.chars(n, digit)
				case 'n':
					return g.chars(1, "123456789")
				case 'x':
					return g.chars(n, hexa)
				case 'a':
					return g.chars(n, alnum)
				case 'U':
					return g.chars(n, upper+digit)
				case 'b':
					return g.chars(n, base)
				}
				return g.uuid()
			}))
		}
	}
	return texts
}
