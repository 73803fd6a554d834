// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// personKinds are identity numbers that the published descriptions of their check digits use as examples (python-stdnum, national offices,
// Wikipedia): what stands beside one, and spellings of it.
const personKinds = `
AU tax file number          | tfn                    | 123456782 | 876 543 210
AU medicare                 | medicare number        | 2123456701 | 2123 45670 1
NZ IRD                      | ird number             | 49091850 | 049-091-850
SG NRIC                     | nric                   | S1234567D | T0000001E
MY identity card            | mykad                  | 770305-02-1234
CH AHV                      | ahv number             | 756.9217.0769.85 | 7569217076985
AT social insurance         | svnr                   | 1237010180 | 1237 010180
DE tax                      | steuer id              | 86095742719 | 36 574 261 809
DK CPR                      | cpr number             | 070761-4285 | 0707614285
SE personnummer             | personnummer           | 811218-9876 | 19811218-9876
NO fodselsnummer            | fodselsnummer          | 15108695088 | 151086 95088
FI hetu                     | hetu                   | 131052-308T
IS kennitala                | kennitala              | 120174-3399
NL BSN                      | bsn                    | 111222333 | 111 222 333
BE national number          | rijksregisternummer    | 85.07.30-033.28 | 85073003328
FR NIR                      | nir                    | 2 95 10 99 126 111 93 | 295109912611193
ES DNI                      | dni                    | 54362315K | 54362315-K
ES NIE                      | nie                    | X2482300W | X-2482300-W
PT NIF                      | nif                    | 501964843 | 501 964 843
IT codice fiscale           | codice fiscale         | RCCMNL83S18D969H
IE PPS                      | pps number             | 6433435F | 6433435OA
GB NINO                     | national insurance     | AB123456C | AB 12 34 56 C
GB NHS                      | nhs number             | 943 476 5919 | 9434765919
PL PESEL                    | pesel                  | 44051401359
CZ rodne cislo              | rodne cislo            | 710319/2745 | 7103192745
HU tax                      | adoazonosito           | 8071592153
RO CNP                      | cnp                    | 1630615123457
BG EGN                      | egn                    | 7523169263
HR OIB                      | oib                    | 33392005961
SI EMSO                     | emso                   | 0101006500006
EE isikukood                | isikukood              | 36805280109
LT asmens kodas             | asmens kodas           | 33309240064
LV personas kods            | personas kods          | 161175-19997
GR AMKA                     | amka                   | 01013099997
UA tax                      | rnokpp                 | 1759013776
RU SNILS                    | snils                  | 112-233-445 95 | 11223344595
TR kimlik                   | tc kimlik              | 17291716060
MX CURP                     | curp                   | BOXW310820HNERXN09
BR CPF                      | cpf                    | 390.533.447-05 | 39053344705
BR CNPJ                     | cnpj                   | 16.727.230/0001-97 | 16727230000197
AR CUIT                     | cuit                   | 20-05536168-2 | 20055361682
CL RUT                      | rut                    | 12.531.909-2 | 76086428-5
EC cedula                   | cedula                 | 1714307103
ZA id number                | id number              | 7503305044089
IN PAN                      | pan card               | ACUPA7085R
IN Aadhaar                  | aadhaar                | 2341 2341 2346 | 234123412346
PK CNIC                     | cnic                   | 34201-0891231-8
JP My Number                | my number              | 123456789018 | 1234 5678 9018
KR RRN                      | rrn                    | 971013-9019902
CN identity card            | id card                | 360426199101010071
HK identity card            | hkid                   | A123456(3)
TW identity card            | national id            | A123456789
TH identity card            | thai id                | 1-2345-45678-78-1 | 1234545678781
IL identity card            | teudat zehut           | 39337423 | 039337423
US SSN                      | ssn                    | 536-90-4399 | 536904399
US SSN by its long name     | social security number | 536904399 | 536 90 4399
US ITIN                     | itin                   | 912-90-3456
US routing number           | routing number         | 111000025
CA SIN                      | sin                    | 123-456-782 | 046 454 286
IBAN DE                     | iban                   | DE89370400440532013000 | DE89 3704 0044 0532 0130 00
IBAN GB                     | iban                   | GB82WEST12345698765432
IBAN NO                     | iban                   | NO9386011117947
IBAN MT                     | iban                   | MT84MALT011000012345MTLCAST001S
card Visa                   | card                   | 4111 1111 1111 1111 | 4012888888881881
card Mastercard             | card                   | 5555555555554444 | 5105-1051-0510-5100
card Amex                   | card                   | 3782 822463 10005 | 371449635398431
card Discover               | card                   | 6011 1111 1111 1117
card JCB                    | card                   | 3530111333300000
card UnionPay               | card                   | 6240008631401148
card with no-break spaces   | card                   | 4111 1111 1111 1111
phone US                    | phone                  | +1 212 555 0142 | (212) 555-0142 | 2125550142
phone GB                    | mobile                 | +44 7911 123456 | 07911 123456
phone DE                    | telefon                | +49 30 901820 | 030 901820
phone FR                    | telephone              | +33 6 12 34 56 78 | 06 12 34 56 78
phone CN                    | phone                  | 13800138000 | 138 0013 8000
phone IN                    | mobile                 | 9876543210 | 98765 43210
phone BR                    | telefone               | (11) 91234-5678
phone JP                    | phone                  | 090-1234-5678
phone AU                    | mobile                 | 0412 345 678
phone RU                    | phone                  | 8 (912) 345-67-89
mail                        | email                  | jane.doe@corp-mail.com | jane.doe+news@mail.corp.co.uk
mail with a long name       | email                  | maximilian.von-hohenstein_1984@research.university.edu
IPv4                        | client ip              | 203.0.113.77
IPv6                        | client ip              | 2001:db8:85a3::8a2e:370:7334
`

// textKinds are texts in which a password stands as people and programs write it. {P} is a chosen password, {W} words that look harmless, {H} a
// generated one; what stands for it must go.
const textKinds = `
prose was changed           | the password was changed to {P}
prose is now                | the new password is now {P}, tell nobody
prose has been set          | root password has been set to "{P}"
prose to log in             | log in with user admin and password {P}
prose slash                 | credentials: admin / {P}
prose bold                  | **Password:** {P}
prose bold colon            | **Password**: {P}
prose code                  | password: ` + "`{P}`" + `
prose next line             | Password:\n{P}\n
prose table                 | | password | {P} |
prose word                  | password: {W}
prose de                    | das Passwort lautet {P}
prose de kennwort           | Kennwort: {P}
prose fr                    | le mot de passe est {P}
prose fr colon              | mot de passe : {P}
prose es                    | la contraseña es {P}
prose es clave              | contraseña: {P}
prose pt                    | senha: {P}
prose it                    | la password è {P}
prose it parola             | parola d'ordine: {P}
prose nl                    | wachtwoord: {P}
prose pl                    | hasło: {P}
prose cs                    | heslo: {P}
prose sv                    | lösenord: {P}
prose da                    | adgangskode: {P}
prose fi                    | salasana: {P}
prose hu                    | jelszó: {P}
prose tr                    | şifre: {P}
prose ru                    | пароль: {P}
prose uk                    | гасло: {P}
prose ja                    | パスワード: {P}
prose zh                    | 密码：{P}
prose zh is                 | 密码是 {P}
prose ko                    | 비밀번호: {P}
prose ar                    | كلمة المرور: {P}
prose he                    | סיסמה: {P}
prose hi                    | पासवर्ड: {P}
prose id                    | kata sandi: {P}
prose vi                    | mật khẩu: {P}
key of two words            | Your OpenAI key: {X32}
wandb key                   | wandb api key: {X40}
secret key                  | secret key: {H}
access key in prose         | here is the access key {H}
app password                | app password: {G}
k8s env                     | - name: DB_PASSWORD\n  value: {P}
k8s env quoted              | env:\n  - name: API_TOKEN\n    value: "{H}"
k8s secret data             | kind: Secret\ndata:\n  password: {B}
yaml block                  | db_password: |\n  {P}\n
yaml folded                 | api_key: >-\n  {H}\n
cdata                       | <password><![CDATA[{P}]]></password>
xml attribute               | <connection user="app" password="{P}"/>
sql identified              | CREATE USER 'app'@'%' IDENTIFIED BY '{P}';
sql alter                   | ALTER USER app WITH PASSWORD '{P}';
php define                  | define('DB_PASSWORD', '{P}');
php array                   | 'password' => '{P}',
powershell                  | ConvertTo-SecureString "{P}" -AsPlainText -Force
powershell unquoted         | $p = ConvertTo-SecureString {P} -AsPlainText -Force
redis-cli                   | redis-cli -h cache -a {P} ping
az login                    | az login --service-principal -u app -p {H} --tenant t
curl user                   | curl -u admin:{P} https://api.example.com
curl cookie                 | curl -b "session={H}" https://api.example.com
curl proxy                  | curl --proxy-user ada:{P} https://api.example.com
wget                        | wget --user=ada --password={P} https://x.example.com
mysql                       | mysql -uroot -p{P} shop
sshpass                     | sshpass -p '{P}' ssh root@host
psql env                    | PGPASSWORD={P} psql -h db
docker login                | docker login -u ada -p {P}
htpasswd                    | htpasswd -b .htpasswd ada {P}
openssl                     | openssl enc -aes-256-cbc -pass pass:{P}
net use                     | net use Z: \\srv\share /user:ada {P}
ftp url                     | ftp://ada:{P}@files.example.com/x
jdbc                        | jdbc:postgresql://db/x?user=app&password={P}
odbc                        | Server=db;Uid=app;Pwd={P};Database=x
netrc                       | machine example.com login ada password {P}
pgpass                      | db.example.com:5432:shop:app:{P}
npmrc                       | //npm.corp.example/:_authToken={H}
os.environ.get              | os.environ.get("API_KEY", "{H}")
os.getenv                   | os.getenv('DB_PASSWORD', '{P}')
process.env                 | process.env.SECRET || "{H}"
gh secret                   | gh secret set TOKEN --body "{H}"
kubectl secret              | kubectl create secret generic db --from-literal=password={P}
helm set                    | helm install x --set auth.password={P}
ansible                     | ansible_ssh_pass={P}
terraform                   | variable "db_password" {\n  default = "{P}"\n}
java                        | String password = "{P}";
python kwarg                | connect(user="app", password="{P}")
python tuple                | auth=("ada", "{P}")
http basic                  | Authorization: Basic {C}
set-cookie                  | Set-Cookie: sessionid={H}; Path=/; HttpOnly
x-api-key                   | X-Api-Key: {H}
bcrypt                      | $2b$12${BC}
argon2                      | $argon2id$v=19$m=65536,t=3,p=4${A1}${A2}
shadow                      | root:$6$saltsalt${S6}:19000:0:99999:7:::
ntlm                        | Administrator:500:aad3b435b51404eeaad3b435b51404ee:{X32}:::
jwk                         | {"kty":"RSA","n":"abc","e":"AQAB","d":"{J}"}
putty                       | PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n{J}\nPrivate-MAC: {X64}
pem                         | -----BEGIN RSA PRIVATE KEY-----\n{J}\n-----END RSA PRIVATE KEY-----
pin                         | your pin is {N6}
otp                         | your verification code is {N6}
recovery                    | recovery codes: {R}
security answer             | otpauth://totp/x:ada?secret={T}&issuer=x
mail in url                 | https://app.example.com/team/invite?team=42&email={M}&token={H}
mail in short url           | https://x.example.com/u?email={M}
`
