// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The ninth set was drawn before any rule was changed for it, and before the code of the rules was looked at: what coding and browser agents show every
// day. ninthPromised is what the document promised already: Telegram's URLs, PEM in pieces, cards in other groups, expect and sudo, quoted local parts.
// ninthText is the rest: form fills, results of queries and tables, keys in pieces of source code, cookies, links that let in whoever has them, codes of
// second factors, signatures of requests, plans of Terraform. The name of a kind is behind its theme. Two halves were drawn by the hash of the name.
const ninthPromised = `
tg getUpdates               | curl -s https://api.telegram.org/bot{TG}/getUpdates
tg sendMessage              | curl -X POST "https://api.telegram.org/bot{TG}/sendMessage" -d chat_id=1 -d text=hi
tg python f                 | requests.post("https://api.telegram.org/bot{TG}/sendMessage", json=payload)
tg file                     | https://api.telegram.org/file/bot{TG}/photos/file_1.jpg
tg httpx log                | INFO httpx: HTTP Request: POST https://api.telegram.org/bot{TG}/getMe "HTTP/1.1 200 OK"
tg local server             | http://127.0.0.1:8081/bot{TG}/getMe
tg webhook route            | POST /hooks/bot{TG}/update
tg json url                 | {"url":"https://api.telegram.org/bot{TG}/setWebhook?url=https://x.example.com"}
tg test dc                  | https://api.telegram.org/bot{TG}/test/getMe
tg base url                 | TELEGRAM_BASE=https://api.telegram.org/bot{TG}
tg slashes                  | {"url":"https:\/\/api.telegram.org\/bot{TG}\/getMe"}
tg nginx                    | proxy_pass https://tg.example.com/bot{TG}/;
tg word                     | Unauthorized: bot{TG} was revoked
tg go error                 | Post "https://api.telegram.org/bot{TG}/sendPhoto": context deadline exceeded
tg node                     | TELEGRAM 401: /bot{TG}/getChat
pem json lines              | ["-----BEGIN RSA PRIVATE KEY-----","MIIEpAIBAAKCAQEAv8XnT1uPq0hK3mZr","{L}","-----END RSA PRIVATE KEY-----"]
pem json lines member       | {"file":"id_ed25519","lines":["-----BEGIN OPENSSH PRIVATE KEY-----","{L}","-----END OPENSSH PRIVATE KEY-----"]}
pem json lines pretty       | {\n  "content": [\n    "-----BEGIN EC PRIVATE KEY-----",\n    "{L}",\n    "-----END EC PRIVATE KEY-----"\n  ]\n}
pem json lines other        | {"key":["-----BEGIN PRIVATE KEY-----","MIIEvQIBADANBgkqhkiG9w0BAQEFAASC","{L}","Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4","-----END PRIVATE KEY-----"],"n":1}
pem python list             | ['-----BEGIN PRIVATE KEY-----', '{L}', '-----END PRIVATE KEY-----']
pem yaml list               | - "-----BEGIN PRIVATE KEY-----"\n- "{L}"\n- "-----END PRIVATE KEY-----"
pem objects of lines        | [{"n":1,"text":"-----BEGIN RSA PRIVATE KEY-----"},{"n":2,"text":"{L}"},{"n":3,"text":"-----END RSA PRIVATE KEY-----"}]
pem end alone               | {L}\n-----END RSA PRIVATE KEY-----
pem end alone many          | MIIEpAIBAAKCAQEAv8XnT1uPq0hK3mZrMIIEpAIBAAKCAQEAv8XnT1uPq0hK3mZr\n{L}\nq0hK3mZr8XnT==\n-----END PRIVATE KEY-----
pem end alone openssh       | $ tail -n 2 ~/.ssh/id_ed25519\n{L}\n-----END OPENSSH PRIVATE KEY-----
pem end alone json          | ["{L}","-----END RSA PRIVATE KEY-----"]
pem begin alone             | -----BEGIN EC PRIVATE KEY-----\n{L}
pem begin alone cut         | -----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAv8XnT1uPq0hK3mZrMIIEpAIBAAKCAQEAv8XnT1uPq0hK3mZr\n{L}\n[truncated]
pem begin alone json        | {"lines":["-----BEGIN PRIVATE KEY-----","{L}"]}
pem cat -n                  |      1	-----BEGIN PRIVATE KEY-----\n     2	{L}\n     3	-----END PRIVATE KEY-----
pem arrow numbers           |     1→-----BEGIN PRIVATE KEY-----\n    2→{L}\n    3→-----END PRIVATE KEY-----
pem end numbers             |    26	{L}\n    27	-----END RSA PRIVATE KEY-----
pem grep                    | key.pem:1:-----BEGIN RSA PRIVATE KEY-----\nkey.pem-2-{L}\nkey.pem-3-q0hK3mZr8XnT\n
pem diff                    | @@ -1,3 +1,3 @@\n+-----BEGIN PRIVATE KEY-----\n+{L}\n+-----END PRIVATE KEY-----
pem quoted mail             | > -----BEGIN PRIVATE KEY-----\n> {L}\n> -----END PRIVATE KEY-----
pem js plus                 | const key = "-----BEGIN PRIVATE KEY-----" +\n  "{L}" +\n  "-----END PRIVATE KEY-----";
pem java plus               | String k = "-----BEGIN RSA PRIVATE KEY-----\\n" + "{L}\\n" + "-----END RSA PRIVATE KEY-----";
pem py implicit             | key = ("-----BEGIN PRIVATE KEY-----\\n"\n       "{L}\\n"\n       "-----END PRIVATE KEY-----")
pem array join              | const key = ['-----BEGIN PRIVATE KEY-----', '{L}', '-----END PRIVATE KEY-----'].join(EOL)
pem spaces                  | -----BEGIN RSA PRIVATE KEY----- {L} {L} -----END RSA PRIVATE KEY-----
pem yaml block              | tls.key: |\n  -----BEGIN PRIVATE KEY-----\n  {L}\n  -----END PRIVATE KEY-----
pem pgp                     | -----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{L}\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----
pem pgp end                 | {L}\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----
pem encrypted end           | {L}\n-----END ENCRYPTED PRIVATE KEY-----
card slashes                | card {CS} exp 09/29
card slashes bare           | {CS}
card underscore             | pan_{CU}
card underscore bare        | {CU}
card underscore json        | {"note":"paid with {CU}"}
card newline                | card number:\n{CL}\nthanks
card newline bare           | {CL}
card eight                  | {CE}
card eight label            | Karte {CE} gültig bis 09/29
card eight dash             | the number is {CED} ok?
card eight json             | {"card_number":"{CE}"}
card dots                   | Visa {CDT}
card amex slash             | amex {CAS}
card tabs                   | card: {CTB}
card pipes                  | {CS}|09|2029|123
expect send                 | expect "password:" { send "{P}\r" }
expect send dashes          | expect "*?assword:*"\nsend -- "{P}\r"
expect c option             | expect -c 'spawn ssh ada@h; expect "password:"; send "{P}\r"; interact'
expect c escaped            | expect -c "spawn ssh ada@h; expect \"password:\"; send \"{P}\r\"; interact"
expect re                   | expect -re "(?i)password.*" { exp_send "{P}\\n" }
expect passphrase           | expect "Enter passphrase for key"\nsend "{P}\r"
expect branches             | expect {\n  "yes/no" { send "yes\r"; exp_continue }\n  "password:" { send "{P}\r" }\n}
expect braces               | expect {Password: } { send {{P}} }
expect word                 | expect "Password:"; send "{W}\r"
expect german               | expect "Passwort:"\nsend "{P}\r"
expect french               | expect "Mot de passe :"\nsend "{P}\r"
expect colon case           | expect "PIN:"\nsend "{N6}\r"
expect enable               | expect "Password:"\nsend "{P}\r"\nexpect ">"\nsend "enable\r"
expect heredoc              | expect <<'EOF'\nspawn sudo ls\nexpect "password for ada"\nsend "{P}\r"\nexpect eof\nEOF
expect perl                 | $exp->expect(5, "password:"); $exp->send("{P}\\n");
pexpect pass                | c.expect('[Pp]assword:')\nc.sendline('{P}')
pexpect i                   | child.expect(["password:", pexpect.EOF])\nchild.sendline("{P}")
pexpect run                 | pexpect.run("ssh ada@h", events={"(?i)password": "{P}\\n"})
node expect                 | nexpect.spawn("ssh ada@h").expect("password:").sendline("{P}")
autoexpect                  | expect -exact "Password: "\nsend -- "{P}\r"
ansible expect              | expect:\n    command: passwd ada\n    responses:\n      (?i)password: "{P}"
sudo printf                 | printf '%s\\n' {P} | sudo -S apt update
sudo printf quotes          | printf '%s\\n' '{P}' | sudo -S -p '' id
sudo printf dq              | printf "%s\\n" "{P}" | sudo -S id
sudo printf bare            | printf '{P}\\n' | sudo -S id
sudo printf s               | printf %s {P} | sudo --stdin ls
sudo printf word            | printf '%s\\n' {W} | sudo -S systemctl restart x
sudo echo                   | echo {P} | sudo -S ls
sudo echo quotes            | echo '{P}' | sudo -kS ls
sudo echo e                 | echo -e "{P}\\n" | sudo -S ls
sudo echo n                 | echo -n "{W}" | sudo -S -u root ls
sudo herestring             | sudo -S ls <<< '{P}'
sudo herestring bare        | sudo -S -p "" ls <<<{P}
sudo heredoc                | sudo -S apt update <<EOF\n{P}\nEOF
sudo cat heredoc            | cat <<EOF | sudo -S apt update\n{P}\nEOF
sudo yes                    | yes {P} | sudo -S ls
sudo ssh                    | ssh h "echo {P} | sudo -S reboot"
sudo paren                  | (echo {P}; echo y) | sudo -S apt install x
sudo options between        | echo "{P}" | sudo -H -S -u ada whoami
sudo printf two             | printf '%s\\n%s\\n' {P} {P} | passwd ada
passwd echo two             | echo -e "{P}\\n{P}" | passwd ada
printf chpasswd             | printf 'ada:%s\\n' '{P}' | sudo chpasswd
printf docker               | printf '%s' '{P}' | docker login -u ada --password-stdin r.example.com
printf gh                   | printf '%s' {H} | gh auth login --with-token
printf cryptsetup           | printf '%s' '{P}' | cryptsetup luksOpen /dev/sda1 x -
printf vault                | printf '%s' {H} | vault login -
sudo python                 | subprocess.run(["sudo", "-S", "ls"], input="{P}\\n", text=True)
sudo node                   | spawn('sudo', ['-S', 'ls']); p.stdin.write('{P}\\n')
su pipe                     | echo {P} | su - root -c id
mail quoted space           | write to "{LP}"@corp-mail.com
mail quoted angle           | From: Ada <"{LP}"@corp-mail.com>
mail quoted json            | {"to":"\"{LP}\"@corp-mail.com"}
mail quoted mailto          | mailto:"{LP}"@corp-mail.com?subject=x
mail quoted list            | ann@corp-mail.com, "{LP}"@corp-mail.com
mail quoted dots            | "{LD}"@corp-mail.com
mail quoted at              | "{LA}"@corp-mail.com
mail quoted env             | EMAIL='"{LP}"@corp-mail.com'
mail quoted smtp            | RCPT TO:<"{LP}"@corp-mail.com>
`

const ninthText = `
form pw element             | {"element":"Password field","ref":"e12","text":"{P}"}
form pw element word        | {"element":"Password field","ref":"e12","text":"{W}","submit":true}
form pw short element       | {"element":"Password","ref":"s1e5","text":"{P}","slowly":false}
form pw element last        | {"text":"{P}","element":"password textbox","ref":"e3"}
form pw element de          | {"element":"Passwort-Feld","ref":"e9","text":"{P}"}
form pw element fr          | {"element":"Champ mot de passe","ref":"e9","text":"{P}"}
form pw element es          | {"element":"Campo de contraseña","ref":"e9","text":"{P}"}
form pw element ja          | {"element":"パスワード入力欄","ref":"e9","text":"{P}"}
form pw element ru          | {"element":"Поле пароля","ref":"e9","text":"{P}"}
form pw element pt          | {"element":"Campo de senha","ref":"e9","text":"{W}"}
form pw element zh          | {"element":"密码输入框","ref":"e9","text":"{P}"}
form pw confirm             | {"element":"Confirm password input","ref":"e13","text":"{W}"}
form otp element            | {"element":"One-time code input","ref":"e4","text":"{N6}"}
form 2fa element            | {"element":"2FA code textbox","ref":"e4","text":"{N6}"}
form verification element   | {"element":"Verification code field","ref":"e4","text":"{N6}"}
form api key element        | {"element":"API key input","ref":"e4","text":"{H}"}
form token element          | {"element":"Personal access token text box","ref":"e4","text":"{H}"}
form fill_form              | {"fields":[{"name":"Username","type":"textbox","ref":"e1","value":"ada"},{"name":"Password","type":"textbox","ref":"e2","value":"{P}"}]}
form fill_form word         | {"fields":[{"name":"Email","type":"textbox","ref":"e1","value":"x"},{"name":"Your password","type":"textbox","ref":"e2","value":"{W}"}]}
form fill_form element      | {"fields":[{"element":"Password textbox","type":"textbox","ref":"e2","value":"{P}"}]}
form fields type            | {"fields":[{"name":"f2","type":"password","value":"{P}"}]}
form fields label           | {"fields":[{"label":"Kennwort","value":"{W}"}]}
form inputs id              | {"inputs":[{"id":"user","value":"ada"},{"id":"login-password","value":"{P}"}]}
form selector text          | {"selector":"#password","text":"{P}"}
form selector word          | {"selector":"#password","text":"{W}"}
form selector value         | {"selector":"input[name='passwd']","value":"{P}"}
form selector type          | {"selector":"input[type=\"password\"]","value":"{W}"}
form selector testid        | {"selector":"[data-testid=password-input]","text":"{P}"}
form selector pw            | {"selector":"#pw","value":"{P}"}
form selector login         | {"selector":"form#login input.login-password","value":"{W}"}
form xpath                  | {"xpath":"//input[@type='password']","text":"{P}"}
form locator                | {"locator":"getByLabel('Password')","value":"{P}"}
form target                 | {"action":"type","target":"password field","text":"{P}"}
form fill label             | {"action":"fill","label":"Password","value":"{W}"}
form description            | {"method":"fill","description":"the password input","arguments":["{P}"]}
form placeholder            | {"action":"input_text","placeholder":"Enter your password","text":"{P}"}
form key field              | {"field":"password","content":"{W}"}
form instruction type       | {"instruction":"type '{P}' into the password field"}
form say type into          | Type "{P}" into the Password field and press enter
form say enter in           | Enter {P} in the password box
form typed into             | Typed '{W}' into password field
form filled with            | Filled "Password" with "{P}"
form gherkin                | When I fill in "Password" with "{P}"
form gherkin enter          | And I enter "{W}" in the "Password" field
form page fill              | await page.fill('#password', '{P}');
form page fill word         | page.fill("#password", "{W}")
form page fill name         | page.fill('input[name="password"]', '{W}')
form page type              | await page.type('input[type=password]', '{P}', {delay: 50});
form by label               | page.get_by_label("Password").fill("{P}")
form by role                | await page.getByRole('textbox', { name: 'Password' }).fill('{P}');
form by placeholder         | await page.getByPlaceholder('Passwort').fill('{W}');
form locator fill           | page.locator("#pass").fill("{P}")
form locator type word      | await page.locator('input#password').pressSequentially('{W}');
form selenium id            | driver.find_element(By.ID, "password").send_keys("{P}")
form selenium name          | driver.find_element_by_name('passwd').send_keys('{W}')
form selenium java          | driver.findElement(By.id("password")).sendKeys("{P}");
form selenium var           | password_input.send_keys("{P}")
form cypress                | cy.get('[name=password]').type('{P}')
form cypress word           | cy.get('#password').type('{W}{enter}')
form testing lib            | userEvent.type(screen.getByLabelText(/password/i), '{P}')
form fireevent              | fireEvent.change(getByLabelText("Password"), { target: { value: "{P}" } })
form webdriverio            | await $('#password').setValue('{P}')
form codecept               | I.fillField('password', '{P}')
form capybara               | fill_in 'Password', with: '{P}'
form robot                  | Input Password    id=password    {P}
form robot text             | Input Text    id:user_password    {P}
form jquery                 | $('#password').val('{P}')
form query value            | document.querySelector('#password').value = '{P}'
form query value word       | document.getElementById("password").value="{W}";
form eval value             | page.$eval('#password', el => el.value = '{P}')
form evaluate json          | {"script":"document.querySelector(\"input[type=password]\").value = \"{P}\""}
form snapshot               | - textbox "Password" [ref=e12]: {P}
form snapshot word          | - textbox "Password" [active] [ref=e12]: {W}
form html input             | <input type="password" name="p" value="{P}">
form html input order       | <input value="{P}" type="password" id="x"/>
form html otp               | <input name="otp" value="{N6}"/>
form maestro                | - tapOn: "Password"\n- inputText: "{P}"
form applescript            | tell application "System Events" to keystroke "{P}" -- password
form adb                    | adb shell input text '{P}' # password
sql columns rows            | {"columns":["id","username","password"],"rows":[[1,"ada","{P}"]]}
sql columns rows word       | {"columns":["username","password"],"rows":[["ada","{W}"],["bob","{W}"]]}
sql columns objects         | {"columns":[{"name":"id","type":"int"},{"name":"api_key","type":"text"}],"rows":[[1,"{H}"]]}
sql fields rows             | {"fields":[{"name":"login","dataTypeID":25},{"name":"secret","dataTypeID":25}],"rows":[["ada","{P}"]]}
sql headers data            | {"headers":["user","token"],"data":[["ada","{H}"]]}
sql rows first              | {"rows":[["ada","{P}"]],"columns":["user","password"]}
sql pandas split            | {"columns":["user","passwd"],"index":[0],"data":[["ada","{W}"]]}
sql sqljs values            | [{"columns":["user","password"],"values":[["ada","{P}"]]}]
sql influx                  | {"results":[{"series":[{"name":"u","columns":["time","password"],"values":[["2026-01-02T03:04:05Z","{P}"]]}]}]}
sql neo4j                   | {"results":[{"columns":["u.name","u.password"],"data":[{"row":["ada","{P}"],"meta":[null,null]}]}]}
sql trino                   | {"columns":[{"name":"user","type":"varchar"},{"name":"passwd","type":"varchar"}],"data":[["ada","{P}"]]}
sql snowflake               | {"resultSetMetaData":{"rowType":[{"name":"USER"},{"name":"PASSWORD"}]},"data":[["ada","{P}"]]}
sql bigquery                | {"schema":{"fields":[{"name":"user"},{"name":"password"}]},"rows":[{"f":[{"v":"ada"},{"v":"{P}"}]}]}
sql rds data                | {"columnMetadata":[{"name":"user"},{"name":"password"}],"records":[[{"stringValue":"ada"},{"stringValue":"{P}"}]]}
sql athena                  | {"ResultSet":{"Rows":[{"Data":[{"VarCharValue":"user"},{"VarCharValue":"password"}]},{"Data":[{"VarCharValue":"ada"},{"VarCharValue":"{P}"}]}]}}
sql header row              | [["user","password"],["ada","{P}"]]
sql columnar                | {"user":["ada","bob"],"password":["Winter2024!x","{P}"]}
sql pandas dict             | {"user":{"0":"ada"},"password":{"0":"{W}"}}
sql records                 | [{"user":"ada","password":"{W}"}]
sql psql                    | \n id | username | password\n----+----------+----------\n  1 | ada      | {P}\n(1 row)
sql psql word               | \n username |   passwd    | active\n----------+-------------+--------\n bob      | hunter22    | t\n ada      | {W} | f\n(2 rows)
sql psql key                | \n  name  | api_key\n--------+--------\n main   | {H}\n(1 row)
sql psql expanded           | -[ RECORD 1 ]----\nid       | 1\nusername | ada\npassword | {W}
sql mysql                   | \n+----+------+--------------------+\n| id | user | password           |\n+----+------+--------------------+\n|  1 | ada  | {P} |\n+----+------+--------------------+
sql mysql vertical          | *************************** 1. row ***************************\n      id: 1\nuser_name: ada\npassword: {W}
sql markdown                | \n| user | password |\n|------|----------|\n| ada | {P} |
sql markdown word           | \n| Name | Kennwort | Rolle |\n| --- | :---: | --- |\n| ada | {W} | admin |
sql markdown code           | \n| service | api key |\n|:--|:--|\n| mail | ` + "`" + `{H}` + "`" + ` |
sql markdown tight          | \nuser|password\n---|---\nada|{W}
sql box                     | \n┌──────┬──────────────┐\n│ user │ password     │\n├──────┼──────────────┤\n│ ada  │ {P} │\n└──────┴──────────────┘
sql duckdb                  | \n┌─────────┬──────────────┐\n│  user   │   password   │\n│ varchar │   varchar    │\n├─────────┼──────────────┤\n│ ada     │ {W} │\n└─────────┴──────────────┘
sql sqlite column           | \nuser  password\n----  ------------\nada   {P}
sql sqlite header           | \nid|user|password\n1|ada|{P}
sql spaces                  | \nNAME    TOKEN                             AGE\nmain    {H}    3d
sql pandas print            | \n   user   password\n0   ada   {P}
sql html                    | <table><tr><th>user</th><th>password</th></tr><tr><td>ada</td><td>{P}</td></tr></table>
sql rst                     | \n====  ============\nuser  password\n====  ============\nada   {P}\n====  ============
sql tsv                     | user	password\nada	{W}
key plus js                 | const k = "ghp_aB3dE5gH7jK9mN1pQ3" +\n  "{K18}";
key plus one line           | token = "ghp_aB3dE5gH7jK9mN1pQ3" + "{K18}"
key plus first              | k = "ghp_{K18}" + "aB3dE5gH7jK9mN1pQ3"
key plus single             | k = 'sk-ant-api03-aB3dE5gH7jK9mN1pQ3aB3dE5gH7jK9mN1pQ3' + '{H}'
key plus three              | x = "AKIA" + "{U8}" + "QWERTYUI"
key plus python             | KEY = ("glpat-aB3dE5gH7j"\n       "{K18}")
key dot php                 | $k = 'ghp_aB3dE5gH7jK9mN1pQ3' . '{K18}';
key amp vb                  | k = "ghp_aB3dE5gH7jK9mN1pQ3" & _\n    "{K18}"
key dots lua                | local k = "ghp_aB3dE5gH7jK9mN1pQ3" .. "{K18}"
key pipes sql               | SELECT 'ghp_aB3dE5gH7jK9mN1pQ3' || '{K18}'
key name plus               | api_key = "aB3dE5gH7jK9mN1p" + "{K18}"
key name plus pw            | password = "Winter" + "{P}"
key name plus js            | const apiSecret = 'aB3dE5gH7jK9mN1p' +\n    '{K18}';
key name py implicit        | SECRET_KEY = ("aB3dE5gH7jK9mN1p"\n              "{K18}")
key name join               | api_key = "".join(["aB3dE5gH7jK9mN1p", "{K18}"])
key wrapped line            | ghp_aB3dE5gH7jK9mN1pQ3\n{K18}
key wrapped indented        | token: ghp_aB3dE5gH7jK9mN1pQ3\n       {K18}
key wrapped backslash       | GITHUB_TOKEN=ghp_aB3dE5gH7jK9mN1pQ3\\n{K18}
key wrapped jwt             | Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwi\n{H}.{D43}
key wrapped long            | sk-ant-api03-aB3dE5gH7jK9mN1pQ3aB3dE5gH7jK9mN1pQ3aB3dE5gH7jK9mN1pQ3\n{H}\n
key wrapped mail            | token ghp_aB3dE5gH7jK9mN1pQ3=\n{K18}
key wrapped pat             | github_pat_11ABCDEFG0aB3dE5gH7jK9_aB3dE5gH7jK9mN1pQ3\naB3dE5gH7jK9mN1pQ3{K18}
cookie netscape             | # Netscape HTTP Cookie File\n.example.com	TRUE	/	TRUE	1893456000	session	{H}
cookie netscape httponly    | #HttpOnly_app.example.com	FALSE	/	TRUE	0	sid	{H}
cookie netscape odd name    | .example.com	TRUE	/	FALSE	1893456000	_gh_sess	{H}
cookie netscape spaces      | app.example.com  FALSE  /  TRUE  1893456000  PHPSESSID  {T}
cookie document             | document.cookie = "sid={H}; path=/; secure"
cookie document read        | document.cookie → "lang=en; SESSION={H}; _ga=GA1.2.1"
cookie document result      | {"result":"lang=en; sessionid={H}"}
cookie set other            | Set-Cookie: _app={H}; Path=/; HttpOnly; SameSite=Lax
cookie set host             | set-cookie: __Host-x={H}; Secure; Path=/
cookie header php           | Cookie: PHPSESSID={T}; lang=en
cookie header connect       | cookie: connect.sid=s%3A{H}.{D43}
cookie header last          | Cookie: _ga=GA1.1.1; cf_clearance={H}
cookie header odd           | Cookie: theme=dark; foo_bar={H}
cookie json list            | [{"name":"sid","value":"{H}","domain":".example.com","path":"/","httpOnly":true,"secure":true}]
cookie json odd name        | {"cookies":[{"name":"_app","value":"{H}","domain":".example.com","path":"/","expires":-1,"httpOnly":true,"sameSite":"Lax"}],"origins":[]}
cookie storage state        | {"cookies":[],"origins":[{"origin":"https://x.example.com","localStorage":[{"name":"auth_token","value":"{H}"}]}]}
cookie puppeteer            | await page.setCookie({name: 'sid', value: '{H}', domain: 'x.example.com'});
cookie requests             | requests.get(u, cookies={"sid": "{H}"})
cookie curl                 | curl -b 'SID={H}; lang=en' https://x.example.com
cookie curl long            | curl --cookie "JSESSIONID={X32}" https://x.example.com
cookie java                 | new Cookie("JSESSIONID", "{X32}")
cookie go                   | http.Cookie{Name: "sid", Value: "{H}"}
cookie flask                | response.set_cookie('sid', '{H}', httponly=True)
cookie express              | res.cookie('sid', '{H}', { httpOnly: true })
cookie next auth            | cookie: __Secure-next-auth.session-token={H}
cookie playwright add       | context.add_cookies([{"name": "sid", "value": "{H}", "url": "https://x.example.com"}])
cookie selenium add         | driver.add_cookie({'name': 'foo', 'value': '{H}'})
cookie jar python           | <Cookie sid={H} for x.example.com/>
cookie har                  | {"request":{"cookies":[{"name":"s","value":"{H}"}],"headers":[]}}
jsessionid path             | https://x.example.com/app;jsessionid={X32}?a=1
jsessionid upper            | GET /shop/cart;JSESSIONID={T}!-1234567 HTTP/1.1
jsessionid form             | <form action="/login.do;jsessionid={X32}" method="post">
jsessionid node             | /app/home;jsessionid={X32}.node1
phpsessid query             | https://x.example.com/i.php?PHPSESSID={T}
sid path                    | https://x.example.com/app;sid={X32}
aspnet cookieless           | https://x.example.com/(S({S24}))/orders.aspx
link reset path             | https://app.example.com/reset-password/{H}
link reset query            | https://app.example.com/reset?token={H}
link password reset         | https://app.example.com/password/reset/{X64}?email=x
link django                 | https://app.example.com/accounts/reset/MQ/{DJ}/
link devise                 | https://app.example.com/users/password/edit?reset_password_token={K18}
link devise confirm         | https://app.example.com/users/confirmation?confirmation_token={K18}
link magic path             | https://app.example.com/auth/magic/{H}
link magic t                | https://app.example.com/magic?t={H}
link magic-link             | https://app.example.com/magic-link?key={H}
link verify path            | https://app.example.com/verify/{H}
link verify email           | https://app.example.com/verify-email?code={K18}
link laravel verify         | https://app.example.com/email/verify/12/{X40}?expires=1893456000&signature={X64}
link invite path            | https://app.example.com/invite/{H}
link invitation             | https://app.example.com/invitations/{K18}/accept
link join                   | https://app.example.com/join/{H}
link confirm path           | https://app.example.com/confirm/{H}
link confirm query          | https://app.example.com/confirm?id=1&hash={X40}
link activate               | https://app.example.com/activate/{K18}
link login token            | https://app.example.com/login/email/{H}
link sso ticket             | https://app.example.com/sso?ticket={H}
link supabase               | https://x.supabase.co/auth/v1/verify?token={X64}&type=magiclink
link firebase               | https://x.firebaseapp.com/__/auth/action?mode=resetPassword&oobCode={H}&apiKey=x
link auth0                  | https://x.auth0.com/u/reset-verify?ticket={H}#
link clerk                  | https://app.example.com/sign-in?__clerk_ticket={J}
link stytch                 | https://app.example.com/authenticate?stytch_token_type=magic_links&token={D43}
link ghost                  | https://blog.example.com/members/?token={H}&action=signin
link slack invite           | https://join.slack.com/t/acme/shared_invite/zt-1a2b3c4d5-{K18}
link zoom pwd               | https://zoom.us/j/1234567890?pwd={H}
link dropbox                | https://www.dropbox.com/scl/fi/a1b2c3/x.pdf?rlkey={R25}&dl=0
link onetime                | https://onetimesecret.com/secret/{R31}
link bitwarden              | https://send.bitwarden.com/#1a2b3c4d/{A1}
link mail body              | Click here to reset your password: https://app.example.com/u/{H}
link html                   | <a href="https://app.example.com/reset/{H}">Reset password</a>
link unlock                 | https://app.example.com/users/unlock?unlock_token={K18}
link oauth code             | https://app.example.com/oauth/callback?code={H}&state=1
link short code             | https://app.example.com/verify?code={N6}
link one-time login         | https://app.example.com/user/reset/1/1767225600/{D43}/login
link passwordless           | https://app.example.com/passwordless/callback?loginToken={H}
link wp                     | https://app.example.com/wp-login.php?action=rp&key={W20}&login=ada
link accept                 | https://app.example.com/accept-invite?invitation={H}
link setup                  | https://app.example.com/setup-account/{H}
link fragment               | https://app.example.com/#access_token={H}&type=recovery
otp otpauth                 | otpauth://totp/Acme:ada?secret={T}&issuer=Acme&digits=6
otp otpauth short           | otpauth://totp/Acme?secret={T16}
otp hotp                    | otpauth://hotp/Acme:ada?counter=0&secret={T16}
otp migration               | otpauth-migration://offline?data={B}
otp setup key               | Can't scan it? Enter this setup key: {TS}
otp manual                  | Manual entry key: {T16}
otp secret said             | Your TOTP secret is {T16}
otp authenticator           | Add this key to your authenticator app: {TL}
otp pyotp                   | pyotp.TOTP("{T16}").now()
otp oathtool                | oathtool --totp -b {T16}
otp oathtool spaces         | oathtool -b --totp "{TS}"
otp speakeasy               | speakeasy.totp({ secret: '{T16}', encoding: 'base32' })
otp otplib                  | authenticator.generate('{T16}')
otp env                     | TOTP_SEED={T16}
otp json                    | {"otp_secret":"{T16}"}
otp mfa serial              | {"Base32StringSeed":"{T}"}
otp sms is                  | Your code is {N6}
otp sms login               | Your login code is {N6}. Do not share it.
otp sms first               | {N6} is your verification code
otp sms google              | G-{N6} is your Google verification code.
otp sms use                 | Use {N6} to sign in to Acme
otp sms one-time            | Your one-time passcode: {N6}
otp sms security            | Acme security code: {N6}
otp sms enter               | Enter {N6} to verify your account
otp sms spaced              | Your Acme code: {N33}
otp sms dash                | WhatsApp code {N3D}
otp sms expires             | {N6} is your Acme code. It expires in 10 minutes.
otp sms two-factor          | Two-factor code: {N6}
otp sms de                  | Dein Code lautet {N6}
otp sms de best             | Ihr Bestätigungscode: {N6}
otp sms de tan              | Ihre TAN lautet {N6}
otp sms fr                  | Votre code de vérification est {N6}
otp sms es                  | Su código de verificación es {N6}
otp sms es tu               | Tu código es {N6}
otp sms pt                  | Seu código de verificação é {N6}
otp sms it                  | Il tuo codice di verifica è {N6}
otp sms nl                  | Je verificatiecode is {N6}
otp sms ru                  | Код подтверждения: {N6}
otp sms ru vash             | Ваш код: {N6}
otp sms zh                  | 您的验证码是{N6}
otp sms zh colon            | 验证码：{N6}
otp sms ja                  | 認証コードは{N6}です
otp sms ko                  | 인증번호 {N6}
otp sms pl                  | Twój kod weryfikacyjny to {N6}
otp sms tr                  | Doğrulama kodunuz: {N6}
otp mail subject            | Subject: {N6} - your sign-in code
otp npm                     | npm publish --otp={N6}
otp npm space               | npm publish --otp {N6}
otp aws                     | aws sts get-session-token --serial-number arn:aws:iam::1:mfa/ada --token-code {N6}
otp gh prompt               | Two-factor authentication code: {N6}
otp json code               | {"verification_code":"{N6}"}
otp json otp                | {"email":"x","otp":"{N6}"}
otp json mfa                | {"mfa_code":{N6}}
otp json totp               | {"totp":"{N6}"}
backup list                 | Backup codes:\n1. 4f8a-92bc\n2. {RC}
backup list first           | Your recovery codes:\n{RC}\n91bc-2d4e\n77ab-0c1d
backup list digits          | Backup verification codes\n\n1. 1234 5678\n2. {D44}
backup list plain digits    | backup codes: 84737281, {D8}
backup list bullets         | Recovery codes:\n- 4f8a92bc1d\n- {X10}
backup json                 | {"backup_codes":["4f8a-92bc","{RC}"]}
backup json camel           | {"recoveryCodes":["4f8a-92bc","{R}"]}
backup json obj             | {"backupCodes":[{"code":"{RC}","used":false}]}
backup de                   | Backup-Codes:\n{D8}\n83746152
backup de wieder            | Wiederherstellungscodes:\n4f8a-92bc\n{R}
backup fr                   | Codes de secours :\n{D8}
backup es                   | Códigos de recuperación:\n- {R}
backup columns              | Save these recovery codes:\n4f8a9-2bc1d  {R}\n8c7b6-a5d4e  91bc2-d4e0f
backup github               | # GitHub recovery codes\n{R}\n8c7b6-a5d4e
backup scratch              | Emergency scratch codes are:\n  82736451\n  {D8}
backup key                  | recovery key: {RK}
sig v4 url                  | https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260102T030405Z&X-Amz-SignedHeaders=host&X-Amz-Signature={X64}
sig v4 credential           | https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={AK}%2F20260102%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Expires=60
sig v4 header               | Authorization: AWS4-HMAC-SHA256 Credential=ASIAX/20260102/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature={X64}
sig v4 header credential    | Authorization: AWS4-HMAC-SHA256 Credential={AK}/20260102/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=x
sig v4 json                 | {"Authorization":"AWS4-HMAC-SHA256 Credential=x/20260102/us-east-1/execute-api/aws4_request, SignedHeaders=host, Signature={X64}"}
sig v4 post fields          | {"fields":{"key":"k","x-amz-algorithm":"AWS4-HMAC-SHA256","x-amz-signature":"{X64}"}}
sig v4 form                 | <input type="hidden" name="x-amz-signature" value="{X64}">
sig v4 token                | https://b.s3.amazonaws.com/k?X-Amz-Security-Token=IQoJb3JpZ2luX2Vj{A40}&X-Amz-Date=x
sig v4 python dict          | {'X-Amz-Signature': '{X64}', 'X-Amz-Date': '20260102T030405Z'}
sig v4 policy               | {"x-amz-credential":"{AK}/20260102/us-east-1/s3/aws4_request"}
sig v4 canonical            | Signature: {X64}\nStringToSign: AWS4-HMAC-SHA256
sig v2 header               | Authorization: AWS AKIAX:{A27}=
sig v2 query                | https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Expires=1893456000&Signature={A27}%3D
sig goog                    | https://storage.googleapis.com/b/k?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature={X64}{X64}
sig goog header             | Authorization: GOOG4-HMAC-SHA256 Credential=x/20260102/auto/storage/goog4_request, SignedHeaders=host, Signature={X64}
sig oss                     | https://b.oss-cn-hangzhou.aliyuncs.com/k?OSSAccessKeyId=x&Expires=1893456000&Signature={A27}%3D
sig acs3                    | Authorization: ACS3-HMAC-SHA256 Credential=x,SignedHeaders=host,Signature={X64}
sig tc3                     | Authorization: TC3-HMAC-SHA256 Credential=x/2026-01-02/cvm/tc3_request, SignedHeaders=content-type;host, Signature={X64}
sig cloudfront              | https://d1.cloudfront.net/k?Expires=1893456000&Signature={J}__&Key-Pair-Id=K2JCJMDEHXQW5F
sig azure shared            | Authorization: SharedKey acct:{A43}=
sig oauth1                  | Authorization: OAuth oauth_consumer_key="x", oauth_nonce="abc", oauth_signature="{A27}%3D", oauth_version="1.0"
sig hawk                    | Authorization: Hawk id="dh37", ts="1353832234", nonce="j4h3g2", mac="{A43}="
sig http signature          | Signature: keyId="k",algorithm="rsa-sha256",headers="date",signature="{A43}="
sig http sig 9421           | Signature: sig1=:{A43}=:
sig hub                     | X-Hub-Signature-256: sha256={X64}
sig stripe                  | Stripe-Signature: t=1767225600,v1={X64}
sig slack                   | X-Slack-Signature: v0={X64}
digest header               | Authorization: Digest username="ada", realm="x", nonce="abc", uri="/", response="{X32}"
digest response mid         | Authorization: Digest username="ada", response="{X32}", opaque="x", qop=auth, nc=00000001
digest nonce                | Authorization: Digest username="ada", realm="x", nonce="{X32}", uri="/"
digest cnonce               | Authorization: Digest username="ada", realm="x", response="x", cnonce="{X32}"
digest proxy                | Proxy-Authorization: Digest username="ada",realm="p",nonce="abc",uri="/x",response="{X32}",algorithm=MD5
digest json                 | {"authorization":"Digest username=\"ada\", realm=\"x\", uri=\"/\", response=\"{X32}\""}
digest curl                 | curl -H 'Authorization: Digest username="ada", realm="x", nonce="y", uri="/", response="{X32}"' https://x.example.com
digest sip                  | REGISTER sip:x SIP/2.0\nAuthorization: Digest username="100",realm="pbx",nonce="abc",uri="sip:x",response="{X32}"
digest info                 | Authentication-Info: rspauth="{X32}", cnonce="x", nc=00000001
tf plan add                 |   + password             = "{P}"
tf plan add word            |       + admin_password = "{W}"
tf plan change              |   ~ password = "Winter2023!" -> "{P}"
tf plan change first        |   ~ password = "{P}" -> "Spring-2024-Xy"
tf plan change word         |   ~ db_password = "oldsecretword" -> "{W}"
tf plan remove              |   - password = "{P}" -> null
tf plan env                 |   ~ variables = {\n      ~ "DB_PASSWORD" = "alpha" -> "{P}"\n    }
tf plan key                 |   + api_key = "{H}"
tf plan secret string       |   + secret_string = "{P}"
tf plan jsonencode          |   + secret_string = jsonencode(\n        {\n          + password = "{P}"\n        }\n    )
tf plan random              |   # random_password.db will be created\n  + resource "random_password" "db" {\n      + length = 16\n      + result = "{V}"\n    }
tf plan ssm                 |   + resource "aws_ssm_parameter" "p" {\n      + type  = "SecureString"\n      + value = "{P}"\n    }
tf plan helm                |   + set_sensitive {\n      + name  = "auth.password"\n      + value = "{P}"\n    }
tf plan set                 |   + set {\n      + name  = "db.password"\n      + value = "{W}"\n    }
tf plan k8s                 |   + data = {\n      + "token" = "{H}"\n    }
tf plan forces              |   -/+ master_password = "{P}" # forces replacement
tf plan ansi                |   [32m+[0m password = "{P}"
tf show                     | # aws_db_instance.x:\nresource "aws_db_instance" "x" {\n    password = "{W}"\n    username = "ada"\n}
tf output                   | db_password = "{W}"
tf output json              | {"db_password":{"sensitive":true,"type":"string","value":"{W}"}}
tf output neutral           | {"db":{"sensitive":true,"type":"string","value":"{P}"}}
tf state                    | {"resources":[{"type":"aws_db_instance","instances":[{"attributes":{"username":"ada","password":"{W}"}}]}]}
tf state random             | {"type":"random_password","name":"db","instances":[{"schema_version":3,"attributes":{"length":16,"result":"{V}"}}]}
tf state random string      | {"mode":"managed","type":"random_string","instances":[{"attributes":{"result":"{Z}x7"}}]}
tf state sensitive          | {"instances":[{"attributes":{"value":"{P}"},"sensitive_attributes":[[{"type":"get_attr","value":"value"}]]}]}
tf plan json                | {"change":{"actions":["update"],"before":{"password":"x"},"after":{"password":"{W}"}}}
tf plan json sensitive      | {"change":{"after":{"value":"{P}"},"after_sensitive":{"value":true}}}
tf vars                     | -var db_password={W}
tf tfvars                   | db_password = "{W}"
tf env var                  | TF_VAR_db_password={W} terraform apply
pulumi preview              |   ~ password: "oldOne12" => "{P}"
pulumi plus                 |     + adminPassword: "{W}"
pulumi stack                | KEY          VALUE\ndbPassword   {P}
cfn parameter               | ParameterKey=DbPassword,ParameterValue={W}
cfn json                    | {"ParameterKey":"DbPassword","ParameterValue":"{W}"}
ansible diff                | -db_password: Winter2023!\n+db_password: {W}
`
