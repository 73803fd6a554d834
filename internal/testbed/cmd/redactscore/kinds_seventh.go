// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The seventh set was drawn before any rule was changed for it, from sources that no set had used: the rules and names of fields of secrets-patterns-db (names
// of services and the forms of their keys), the samples of documents and commands of CredSweeper, the lists of types of Amazon Macie and Microsoft Purview.
// Its values stand in places of its own (places_seventh.go). Two halves were drawn by the hash of the name; the second was scored once, when everything was
// done. It is in the notation of the other tables.
const seventhVendor = `
BEEBOLE_TOKEN              [0-9a-z]{40}
BESTTIME_API_KEY_PRIVATE   pri_[0-9a-f]{32}
BILLOMAT_APP_SECRET        [0-9a-z]{32}
BITBAR_API_KEY             [A-Za-z0-9]{32}
BITLY_GENERIC_TOKEN+       [a-f0-9]{40}
BROWSHOT_API_KEY           [a-zA-Z0-9]{28}
BUDDYNS_TOKEN              [0-9a-z]{40}
BUGHERD_KEY                [0-9a-z]{22}
BUTTERCMS_WRITE_TOKEN      [a-f0-9]{40}
CALORIENINJAS_KEY          [0-9A-Za-z+/]{38}==
CAMPAYN_KEY                [a-f0-9]{64}
CAPTAINDATA_PROJECT_KEY    [a-f0-9]{64}
CARBON_INTERFACE_KEY       [a-zA-Z0-9]{21}
CASPIO_CLIENT_SECRET       [a-f0-9]{50}
CENSYS_API_SECRET          [a-zA-Z0-9]{32}
CEXIO_API_SECRET           [0-9A-Za-z]{26}
CHATFUEL_TOKEN             [a-zA-Z0-9]{128}
CLICKHELP_API_KEY          [0-9A-Za-z]{24}
CLINCHPAD_API_KEY          [a-f0-9]{32}
CLOCKIFY_API_KEY           [a-zA-Z0-9]{48}
CLOUDCONVERT_TOKEN+        eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9\.[A-Za-z0-9_-]{120}\.[A-Za-z0-9_-]{86}
CLOVERLY_PRIVATE_KEY       private_key:[a-z0-9]{16}
COINAPI_KEY                [A-F0-9]{8}-[A-F0-9]{4}-[A-F0-9]{4}-[A-F0-9]{4}-[A-F0-9]{12}
COINLIB_API_KEY            [a-f0-9]{16}
COLUMN_API_KEY             live_[a-zA-Z0-9]{27}
COMMERCEJS_SECRET          sk_[a-f0-9]{45}
CROWDIN_PERSONAL_TOKEN     [0-9a-f]{80}
CRYPTOCOMPARE_API_KEY      [a-f0-9]{64}
CURRENTS_RECORD_KEY        [A-Za-z0-9]{16}
CUSTOMERGURU_API_SECRET    [a-zA-Z0-9]{50}
DAILY_API_KEY              [0-9a-f]{64}
DANDELION_TOKEN            [a-f0-9]{32}
DEBOUNCE_API               [a-zA-Z0-9]{13}
DEEPAI_API_KEY             [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
DEPUTY_ACCESS_TOKEN        [0-9a-f]{32}
DETECTLANGUAGE_KEY         [a-f0-9]{32}
DFUSE_API_KEY              web_[0-9a-f]{32}
DIFFBOT_TOKEN              [a-f0-9]{32}
LOCATIONIQ_KEY             pk\.[a-f0-9]{32}
LOGINRADIUS_API_SECRET     [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
LOYVERSE_TOKEN             [0-9a-f]{32}
LUNO_API_SECRET            [a-zA-Z0-9_-]{43}
MADKUDU_KEY                [0-9a-f]{32}
MAILMODO_API_KEY           [A-Z0-9]{7}-[A-Z0-9]{7}-[A-Z0-9]{7}-[A-Z0-9]{7}
MAILSAC_KEY                k_[0-9A-Za-z]{36}
MAPQUEST_CONSUMER_KEY      [0-9A-Za-z]{32}
MEISTERTASK_PAT            [a-zA-Z0-9]{43}
MESIBO_APP_TOKEN           [0-9a-z]{64}
METAAPI_TOKEN              [0-9a-f]{64}
METRILO_SECRET             [a-f0-9]{16}
MINDMEISTER_TOKEN          [a-zA-Z0-9]{43}
MITE_API_KEY               [0-9a-f]{16}
MIXMAX_API_TOKEN           [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
MOONCLERK_KEY              [0-9a-f]{32}
NASDAQ_DATA_LINK_API_KEY   [a-zA-Z0-9_-]{20}
NEUTRINO_API_KEY           [a-zA-Z0-9]{48}
NEXMO_API_SECRET+          [A-Za-z0-9]{16}
NICEREPLY_PRIVATE_KEY      [0-9a-f]{40}
NOZBE_API_TOKEN            [0-9A-Za-z]{16}_[0-9A-Za-z_-]{64}
OMNISEND_API_KEY           [a-f0-9]{24}-[A-Za-z0-9]{50}
ONEPAGECRM_API_KEY         [A-Za-z0-9+/]{43}=
ONWATER_TOKEN              [a-zA-Z0-9_-]{20}
OPTIMIZELY_TOKEN           2:[0-9A-Za-z_-]{52}
OWLBOT_TOKEN               [a-f0-9]{40}
PANDASCORE_ACCESS_TOKEN    [0-9A-Za-z_-]{51}
PARTNERSTACK_SECRET        [0-9A-Za-z]{64}
PASSBASE_SECRET_API_KEY    [a-zA-Z0-9]{128}
PASTEBIN_API_DEV_KEY       [a-zA-Z0-9_]{32}
PAYMONGO_SECRET_KEY        sk_live_[A-Za-z0-9]{24}
PDFSHIFT_API_KEY           sk_[0-9a-f]{40}
PIVOTAL_TRACKER_TOKEN      [a-f0-9]{32}
PIXABAY_KEY                [0-9]{8}-[a-f0-9]{25}
PLANVIEW_LEANKIT_TOKEN     [0-9a-f]{128}
PLANYO_API_KEY             [0-9a-z]{62}
SSLMATE_API_KEY            [a-zA-Z0-9_]{36}
STITCHDATA_TOKEN           [0-9a-z_]{35}
STORECOVE_API_KEY          [a-zA-Z0-9_-]{43}
STREAK_API_KEY             [0-9a-f]{32}
SUGESTER_API_TOKEN         [a-zA-Z0-9]{32}
SUPERNOTES_KEY             [0-9A-Za-z_-]{43}
SURVEYSPARROW_TOKEN        [a-zA-Z0-9_-]{88}
SURVICATE_KEY              [a-f0-9]{32}
SWELL_SECRET               sk_live_[A-Za-z0-9]{32}
SWIFTYPE_KEY               [a-zA-Z0-9]{6}_[a-zA-Z0-9]{6}-[a-zA-Z0-9]{6}
TATUM_API_KEY              t-[0-9a-f]{24}-[0-9a-f]{24}
TAXJAR_API_TOKEN           [a-f0-9]{32}
TEXTMAGIC_API_KEY          [0-9A-Za-z]{30}
THEODDSAPI_KEY             [0-9a-f]{32}
THOUSANDEYES_TOKEN         [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
TIINGO_TOKEN               [0-9a-f]{40}
TIMEZONE_API_TOKEN         [a-zA-Z0-9]{20}
TMETRIC_TOKEN              [0-9A-F]{64}
TOGGL_API_TOKEN+           [0-9a-f]{32}
TOMORROW_IO_APIKEY         [a-zA-Z0-9]{32}
TRADIER_ACCESS_TOKEN       [a-zA-Z0-9]{28}
TRAVELPAYOUTS_TOKEN        [a-f0-9]{32}
TYNTEC_APIKEY              [a-zA-Z0-9]{32}
UNPLUGG_KEY                [a-f0-9]{64}
UNSPLASH_SECRET_KEY+       [0-9A-Za-z_-]{43}
UPLOADCARE_SECRET_KEY+     [a-f0-9]{20}
URLSCAN_API_KEY            [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
USERSTACK_KEY              [a-f0-9]{32}
VERIMAIL_KEY               [A-F0-9]{32}
VERIPHONE_KEY              [0-9A-F]{32}
VIEWNEO_TOKEN              eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImp0aSI6[A-Za-z0-9_-]{100}\.[A-Za-z0-9_-]{160}\.[A-Za-z0-9_-]{600}
VPNAPI_KEY                 [a-f0-9]{32}
VYTE_SECRET                [0-9a-z]{50}
WALKSCORE_APIKEY           [0-9a-f]{32}
WEATHERSTACK_ACCESS_KEY    [0-9a-f]{32}
WEBSCRAPER_TOKEN           [a-zA-Z0-9]{60}
WEPAY_CLIENT_SECRET        [a-f0-9]{10}
WHOXY_KEY                  [0-9a-z]{33}
WORKSNAPS_TOKEN            [0-9A-Za-z]{40}
TWO_FACTOR_SECRET          [A-Z2-7]{16}
CODE_VERIFIER              [A-Za-z0-9_~.-]{43}
SECURITY_PIN               [0-9]{6}
MYSQL_PWD+                 [A-Z][a-z]{4}[0-9]{4}
CREDS                      [A-Za-z0-9]{24}
PASSWD_CONFIRM             [A-Z][a-z]{5}[0-9]{3}!
RAW_CSRF_SECRET            [A-Za-z0-9+/]{43}=
`

const seventhPerson = `
US MBI                      | MBI                    | 1EG4-TE5-MK73 | 1EG4TE5MK73
US NPI                      | NPI number             | 1245319599
US HICN                     | health insurance claim number | 123-45-6789-A
US IPPIN                    | identity protection pin | 482916
US A-number                 | alien registration number | A123456789
GB electoral roll           | electoral roll number  | AB1234
GB vehicle                  | V5C reference number   | 12345678901
GB company UTR              | UTR                    | 1234567890
CA PR card                  | permanent resident card | RA0302123456
CA bank account             | transit and account number | 12345-003 1234567
FR driving                  | permis de conduire n°  | 12AB34567
DE VAT                      | USt-IdNr               | DE136695976
DE social insurance         | Sozialversicherungsnummer | 65 170839 J 003
DE bank account             | Kontonummer            | 0532013000
IT identity card            | carta d'identità       | CA12345AA
IT VAT                      | partita IVA            | 07643520567
ES driving                  | permiso de conducir    | 12345678Z
ES CIF                      | CIF                    | B58818501
PT citizen card             | cartão de cidadão      | 00000000 0 ZZ4
NL driving                  | rijbewijsnummer        | 5123456789
BE driving                  | rijbewijs nr           | 0123456789
AT passport                 | Reisepassnummer        | P1234567
AT tax                      | Abgabenkontonummer     | 12 345/6789
CH driving                  | Fahrausweisnummer      | 001234567001
SE tax                      | skattenummer           | 850412-1236
DK passport                 | pasnummer              | 212345678
FI passport                 | passin numero          | FP1234567
FI health card              | sairausvakuutuskortti  | 8024680246012345678
EE passport                 | passi number           | K1234567
LV passport                 | pases numurs           | LV1234567
LT driving                  | vairuotojo pažymėjimo numeris | 01234567
PL identity card            | numer dowodu osobistego | ABA300000
PL REGON                    | REGON                  | 123456785
SK passport                 | číslo pasu             | BA1234567
HU TAJ                      | TAJ szám               | 123456788
HU passport                 | útlevélszám            | BA1234567
SI passport                 | številka potnega lista | PB1234567
SI tax                      | davčna številka        | 15012557
HR passport                 | broj putovnice         | 123456789
RO driving                  | permis de conducere    | B00123456C
RO passport                 | număr pașaport         | 051234567
BG passport                 | номер на паспорт       | 123456789
GR driving                  | άδεια οδήγησης         | 123456789
CY passport                 | αριθμός διαβατηρίου    | K00123456
MT passport                 | passport no            | 1234567
IE driving                  | driving licence no     | 123456789
RU driving                  | водительское удостоверение | 77 12 345678
UA identity card            | номер ID-картки        | 001234567
TR driving                  | sürücü belgesi no      | 123456
IL passport                 | מספר דרכון             | 12345678
SA iqama                    | رقم الإقامة            | 2123456789
AE emirates id              | رقم الهوية             | 784-1990-1234567-1
IN ration card              | ration card number     | WB12345678
IN driving                  | DL no                  | MH12 20110012345
JP driving                  | 運転免許証番号         | 301234567890
JP residence card           | 在留カード番号         | AB12345678CD
JP health insurance         | 保険証番号             | 12345678
KR driving                  | 운전면허번호           | 11-12-345678-90
KR alien registration       | 외국인등록번호         | 850412-5123456
CN travel permit            | 港澳通行证             | C12345678
TW passport                 | 護照號碼               | 301234567
HK passport                 | 護照                   | K12345678
SG passport                 | passport number        | K1234567E
SG work pass                | FIN                    | F1234567N
TH passport                 | หมายเลขหนังสือเดินทาง  | AA1234567
ID NIK                      | NIK                    | 3171015704850001
ID KK                       | nomor KK               | 3171010101150012
PH PhilHealth               | philhealth number      | 12-345678901-2
VN tax                      | mã số thuế             | 0100109106
AU crn                      | centrelink reference number | 123 456 789A
NZ driving                  | NZ driver licence      | AB123456
NZ passport                 | NZ passport            | LA123456
ZA passport                 | passport nr            | A01234567
BR driving                  | CNH                    | 02650306461
BR RG                       | RG                     | 24.678.131-4
BR PIS                      | PIS/PASEP              | 120.12345.67-9
MX RFC                      | RFC                    | GODE561231GR8
MX NSS                      | número de seguridad social | 12345678903
AR passport                 | número de pasaporte    | AAB123456
CL passport                 | pasaporte              | F12345678
CO NIT                      | NIT                    | 800.197.268-4
EU health card              | EHIC                   | 80756015110012345678
card spaced                 | credit card number     | 5500 0000 0000 0004
card by number              | pan                    | 4539578763621486
card with dashes            | debit card             | 6011-1111-1111-1117
phone spelled               | primary phone          | (212) 555-0187
phone dots                  | work phone             | 212.555.0187
phone DK                    | tlf                    | 20 12 34 56
phone CZ                    | mobil                  | 601 123 456
phone HU                    | mobilszám              | 06 20 123 4567
phone RO                    | nr. telefon            | 0712 345 678
phone PT                    | telemóvel              | 912 345 678
phone BE                    | gsm                    | 0470 12 34 56
phone IE                    | mobile                 | 085 123 4567
phone SG                    | hp no                  | 9123 4567
phone MY                    | no telefon             | 012-345 6789
phone CO                    | celular                | 300 123 4567
phone CL                    | celular                | 9 6123 4567
IPv4 with port              | peer                   | 198.51.100.24
mail plus                   | account                | jane.fake+billing@mail.example.org
mail subdomain              | reply to               | j_fake@dept.corp.example.co.uk
IBAN ES                     | iban                   | ES91 2100 0418 4502 0005 1332
IBAN IT                     | conto                  | IT60X0542811101000000123456
IBAN BE                     | rekening               | BE68 5390 0754 7034
IBAN SE                     | bankkonto              | SE4550000000058398257466
`

const seventhText = `
id pw slash                 | ID/PW: master/{Z}
id pw paren                 | ANYID(PW):master({Z})
id pass equals              | id/pw=master/{Z}
id pw colon                 | ID:PW=master:{Z}
username password slash     | username/password: master/{Z}
id pw blank                 | id/pw master/{Z}
id pw words                 | ID PW master {Z}
id pw arrow                 | ID/PW->master/{Z}
id pw comma                 | id/pass:master,{Z}
id pw double                | id pw master // {Z}
id pw are                   | Default ID/PW are wpasp/{Z}.
id pw korean                | 계정/PW:master/{Z}
id korean                   | 아이디(master) 비밀번호({Z})
korean bibeon               | 비번: {Z}
korean amho                 | 암호는 {Z} 입니다
korean key                  | 토큰 = {H}
ip paren pair               | 198.51.100.24(master/{Z})
ip paren pw                 | 198.51.100.24(pw:{Z})
ip id pw                    | IP/ID/PW 198.51.100.24/master/{Z}
ip comma pair               | 198.51.100.24,master/{Z}
ssh pair                    | ssh master@198.51.100.24 (pw:{Z})
ssh password                | ssh master@198.51.100.24 password:{Z}
mail id pw                  | ID: gildong.hong@example.com PW: {Z}
id password words           | ID gildong.hong@example.com Password {Z}
dash pass                   | ID-master / PASS - {Z}
is the password             | master is username {Z} is the password
pwd of                      | pwd of master is {Z}
password in                 | password in staging is {Z}
password for colon          | password for master:{Z}
initial password            | Account name: master Initial Password: {Z}
wifi pw                     | Access wifi: lobby(PW:{Z})
default paren               | password(default: {Z})
user dash pass              | -User:master -Password:{Z}
id amp pwd                  | (ID&PWD): master/{Z}
id pwd each                 | id(master)/pwd({Z})
pw tags                     | <ID>master</ID> <PW>{Z}</PW>
pass typo                   | passowrd is {Z}
p/w                         | p/w: {Z}
oauth2 bearer               | curl --oauth2-bearer "{B}" https://example.com
domain password             | -Domain 'localhost' -Password '{P}'
getenv default              | PASSWORD = os.environ.get("PASSWORD") or "{P}"
getenv bytes                | password = getenv("DBPW", b"{P}")
ternary                     | const token = process.env.TOKEN ? process.env.TOKEN : "{H}"
dotnet connection           | <add name="Db" connectionString="Server=db;User ID=ada;Password={P};" />
odbc pwd                    | Driver={SQL Server};Server=db;Uid=ada;Pwd={P};
azure sb                    | Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={K44}
azure cosmos                | AccountEndpoint=https://x.documents.azure.com:443/;AccountKey={K44};
publish profile             | <publishProfile userName="$site" userPWD="{D43}" />
web.config machine key      | <machineKey validationKey="{X64}" decryptionKey="{X32}" />
iis app pool                | appcmd set apppool /processModel.password:{P}
runas savecred              | cmdkey /add:host1 /user:ada /pass:{P}
dism unattend               | <AdministratorPassword><Value>{P}</Value></AdministratorPassword>
autologon                   | "DefaultPassword"="{P}"
gpp cpassword               | <Properties action="U" cpassword="{B}" userName="ada" />
unattended mac              | dscl . -passwd /Users/ada {P}
security keychain           | security add-generic-password -a ada -s db -w {P}
hdiutil                     | echo -n "{P}" | hdiutil attach -stdinpass x.dmg
openssl pkcs12              | openssl pkcs12 -export -in c.pem -passout pass:{P}
keytool storepass           | keytool -list -keystore k.jks -storepass {P}
jarsigner                   | jarsigner -storepass {P} -keypass {P} app.jar alias
7zip                        | 7z x -p{V} archive.7z
unrar                       | unrar x -p{V} archive.rar
cryptsetup                  | echo {P} | cryptsetup luksOpen /dev/sdb1 data -
restic                      | RESTIC_REPOSITORY=/b RESTIC_PASSWORD='{P}' restic backup /srv
ldappasswd                  | ldappasswd -s {P} uid=ada
kinit echo                  | echo '{P}' | kinit ada@EXAMPLE.COM
psql uri keyword            | psql "host=db user=ada password={P} dbname=x"
pg alter                    | ALTER ROLE ada WITH ENCRYPTED PASSWORD '{P}';
mysql grant                 | GRANT ALL ON x.* TO 'ada'@'%' IDENTIFIED BY '{P}';
oracle identified           | ALTER USER ada IDENTIFIED BY "{P}";
mongo shell                 | db.createUser({user: "ada", pwd: "{P}", roles: []})
redis config                | CONFIG SET requirepass {P}
cassandra                   | CREATE ROLE ada WITH PASSWORD = '{P}' AND LOGIN = true;
influx cli                  | influx auth create --token {D43}
consul acl                  | consul acl token update -token={X32} -id a
vault write                 | vault write auth/userpass/users/ada password={P}
vault kv                    | vault kv put secret/db password={P}
kubectl literal             | kubectl create secret generic db --from-literal=password={P}
kubectl docker              | kubectl create secret docker-registry r --docker-password={P}
ansible inventory           | host1 ansible_user=ada ansible_ssh_pass={P}
puppet                      | mysql::server { root_password => '{P}' }
chef data bag               | {"id":"db","password":"{P}"}
salt pillar                 | mysql:\n  root_pw: {P}
docker login stdin          | echo "{H}" | docker login -u ada --password-stdin
docker build arg            | docker build --build-arg NPM_AUTH={H} .
compose env                 | environment:\n  - MARIADB_ROOT_PASSWORD={P}
gh actions env              | env:\n  DEPLOY_PAT: {H}
travis secure               | global:\n  - API_SECRET={H}
maven settings              | <server><id>nexus</id><username>ada</username><password>{P}</password></server>
gradle props                | signing.password={P}
npmrc auth                  | //registry.example.com/:_password={B}
gitcredentials              | https://ada:{Z}@git.example.com
git extraheader             | git -c http.extraheader="Authorization: Basic {C}" clone https://x
git remote token            | git remote set-url origin https://{H}@git.example.com/x.git
netrc one line              | machine api.example.com login ada password {P}
wgetrc                      | http_password = {P}
curlrc                      | user = "ada:{P}"
ncftp                       | ncftpput -u ada -p {P} host1 / a.txt
sshpass env                 | SSHPASS={P} sshpass -e ssh host1
expect spawn                | spawn ssh ada@host1\nexpect "password:"\nsend "{P}\r"
snmpv3                      | snmpwalk -v3 -u ada -a SHA -A {P} -x AES -X {P} host1
snmp community              | snmp-server community {Z} RO
juniper secret              | set system login user ada authentication plain-text-password-value "{P}"
wpa supplicant              | psk="{P}"
wireguard preshared         | PresharedKey = {K44}
freeradius                  | client ap { secret = {P} }
exim auth                   | client_send = : ada : {P}
grafana ini                 | [security]\nadmin_password = {P}
jenkins xml                 | <apiToken>{X32}</apiToken>
wordpress define            | define( 'AUTH_KEY', '{H}' );
drupal settings             | $settings['hash_salt'] = '{D43}';
joomla config               | public $password = '{P}';
magento env                 | 'crypt' => ['key' => '{X32}']
laravel env                 | APP_KEY=base64:{K44}
rails credentials           | secret_key_base: {X64}
spring yaml                 | spring:\n  datasource:\n    password: {P}
log4j jdbc                  | <param name="password" value="{P}"/>
hibernate                   | <property name="hibernate.connection.password">{P}</property>
react env                   | REACT_APP_PRIVATE_TOKEN={H}
jupyter token               | http://localhost:8888/?token={X40}
colab userdata              | os.environ["HF_AUTH"] = "{H}"
requests auth               | requests.get(u, auth=("ada", "{P}"))
requests bearer             | headers = {"Authorization": f"Bearer {H}"}
axios basic                 | axios.get(u, { auth: { username: 'ada', password: '{P}' } })
fetch header                | fetch(u, { headers: { 'x-access-token': '{H}' } })
jdbc manager                | DriverManager.getConnection(u, "ada", "{P}")
boto3                       | boto3.client("s3", aws_secret_access_key="{A40}")
twilio client               | Client("account", "{X32}")
stripe set                  | stripe.api_key = "{H}"
smtplib                     | server.login("ada@example.com", "{P}")
prose otp bank              | {N6} is your one-time code. Do not share it.
prose pin                   | Your PIN is {N6}, please change it.
prose creds block           | Username: ada\nPassword: {P}\nURL: https://x.example.com
prose token quote           | the token ("{H}") expires tomorrow
prose new key               | I generated a new key for you: {H}
prose paste                 | paste this into the password field: {P}
prose it is                 | What's the wifi password? It's {P}
prose remember              | remember that my password is {W}
prose shared pass           | shared pass for the team: {W}
prose pt senha              | a senha do banco é {P}
prose nl ww                 | het wachtwoord is gewijzigd naar {P}
prose pl haslo              | hasło do serwera to {P}
prose cs heslo              | heslo k serveru je {P}
prose ru parol              | пароль от сервера: {P}
prose tr sifre              | sunucunun şifresi {P}
`
