// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// secondVendor are forms of credentials that no rule was written for when the table was made, in the notation of vendorKinds; + marks services that
// many use. Facts (prefix, alphabet, length) as the rules of Betterleaks 1.6, Kingfisher, Nosey Parker and TruffleHog and the documentation of the
// services describe them. No value comes from there: all are generated.
const secondVendor = `
AIKIDO_CI_TOKEN!           AIK_CI_[A-Za-z0-9]{24}
AIKIDO_CLIENT_SECRET!      AIK_SECRET_[A-Za-z0-9]{64}
AIRTABLE_OAUTH_TOKEN+      oaa[A-Za-z0-9]{14}\.v1\.[A-Za-z0-9_-]{40}\.[a-f0-9]{64}
ALIBABA_STS_KEY_ID!        STS\.[A-Za-z0-9]{26}
ALIBABA_SECURITY_TOKEN!    CAIS[A-Za-z0-9+/]{200}
AUTHRESS_ACCESS_KEY!       sc_[a-z0-9]{20}\.[a-z0-9]{4}\.acc_[a-z0-9]{16}\.[A-Za-z0-9+/_-]{60}
BITLY_ACCESS_TOKEN         [a-f0-9]{40}
CLOUDINARY_API_SECRET+     [A-Za-z0-9_-]{27}
COCKROACH_API_KEY!         CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}
CAPELLA_API_SECRET         [A-Za-z0-9+/]{86}==
DATAGOV_API_KEY            [A-Za-z0-9]{40}
DEVIN_API_KEY!             apk_user_[A-Za-z0-9+/]{140}=
DEVIN_SERVICE_TOKEN!       cog_[a-z2-7]{52}
DISQUS_API_SECRET          [A-Za-z0-9]{64}
DOCKER_ORG_TOKEN!+         dckr_oat_[A-Za-z0-9_-]{32}
ENDOR_API_KEY!             endr\+[A-Za-z0-9]{16}
GREPTILE_API_KEY           [A-Za-z0-9+/]{48}
GUMROAD_ACCESS_TOKEN       [A-Za-z0-9-]{43}
INFOMANIAK_TOKEN           [A-Za-z0-9_-]{86}
KAGI_API_KEY               [A-Za-z0-9_-]{11}\.[A-Za-z0-9_-]{43}
KIMI_API_KEY!              sk-[A-Za-z0-9]{48}
PARADIGM_API_KEY           [A-Za-z0-9_-]{43}
MINIMAX_API_KEY!           sk-api-[A-Za-z0-9_-]{119}
OLLAMA_API_KEY             [a-f0-9]{32}\.[A-Za-z0-9_-]{24}
OVH_CONSUMER_KEY           [A-Za-z0-9]{32}
POLYMARKET_PASSPHRASE      [a-f0-9]{64}
SLACK_SESSION_TOKEN!+      xoxc-[0-9]{12}-[0-9]{12}-[0-9]{13}-[a-f0-9]{64}
TOGETHER_V1_KEY!+          tgp_v1_[A-Za-z0-9_-]{43}
UPSTAGE_API_KEY            up_[A-Za-z0-9]{29}
VERCEL_AI_GATEWAY_KEY!+    vck_[A-Za-z0-9_-]{56}
VERCEL_APP_TOKEN!          vca_[A-Za-z0-9_-]{56}
VERCEL_REFRESH_TOKEN!      vcr_[A-Za-z0-9_-]{56}
VERCEL_INTEGRATION_TOKEN!  vci_[A-Za-z0-9_-]{56}
ZAI_API_KEY                [a-f0-9]{32}\.[A-Za-z0-9]{16}
ARCJET_KEY!                ajkey_[a-z0-9]{26}
BLOCK_PROTOCOL_API_KEY!    b10ck5\.[A-Za-z0-9]{32}\.[A-Za-z0-9]{36}
BUILDER_PRIVATE_KEY!       bpk-[a-f0-9]{32}
CAL_API_KEY!               cal_live_[a-f0-9]{32}
CROSSMINT_SECRET!          sk_production_[A-Za-z0-9]{32}
CYPRESS_RECORD_KEY+        [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
CODACY_PROJECT_TOKEN       [a-f0-9]{32}
DEEPL_AUTH_KEY!+           [a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}:fx
LICHESS_TOKEN!             lip_[A-Za-z0-9]{20}
RAMP_CLIENT_SECRET!        ramp_sec_[A-Za-z0-9]{48}
ROOTLY_API_KEY!            rootly_[a-f0-9]{64}
AIRBYTE_CLIENT_SECRET      [A-Za-z0-9]{32}
AMAZON_MWS_TOKEN!          amzn\.mws\.[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
APPSYNC_API_KEY!           da2-[a-z0-9]{26}
GCP_HMAC_ID!               GOOG1E[A-Z0-9]{55}
BACKBLAZE_APPLICATION_KEY! K00[0-9][A-Za-z0-9/+]{27}
PANGEA_TOKEN!              pts_[a-z2-7]{32}
XENDIT_SECRET_KEY!         xnd_production_[A-Za-z0-9]{52}
PERCY_TOKEN!               web_[a-f0-9]{64}
STYTCH_SECRET!             secret-live-[A-Za-z0-9_-]{36}=
CHECKLY_API_KEY!           cu_[a-f0-9]{32}
UPTIMEROBOT_API_KEY        u[0-9]{6}-[a-f0-9]{24}
TRIGGER_SECRET_KEY!        tr_prod_[A-Za-z0-9]{20}
INNGEST_SIGNING_KEY!       signkey-prod-[a-f0-9]{64}
LIVEBLOCKS_SECRET_KEY!     sk_prod_[A-Za-z0-9_-]{64}
KNOCK_API_KEY              sk_[A-Za-z0-9]{43}
CONVEX_DEPLOY_KEY!         prod:happy-otter-123\|eyJ2MiI6[A-Za-z0-9]{60}=
ARIZE_API_KEY!             ak-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}-[A-Za-z0-9_-]{32}
LANGTRACE_API_KEY          [a-f0-9]{64}
AGENTOPS_API_KEY+          [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
HUMANLOOP_API_KEY!         hl_sk_[a-f0-9]{48}
PROMPTLAYER_API_KEY!       pl_[a-f0-9]{32}
VELLUM_API_KEY             [A-Za-z0-9]{8}\.[A-Za-z0-9]{32}
LITELLM_MASTER_KEY!+       sk-[A-Za-z0-9]{22}
COMET_API_KEY              [A-Za-z0-9]{25}
AI21_API_KEY               [A-Za-z0-9]{32}
NOMIC_API_KEY!             nk-[A-Za-z0-9_-]{43}
MIXEDBREAD_API_KEY!        emb_[a-f0-9]{52}
SAMBANOVA_API_KEY          [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
FAL_KEY+                   [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}:[a-f0-9]{32}
RUNWAYML_API_SECRET!       key_[a-f0-9]{128}
LUMA_API_KEY!              luma-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
HEYGEN_API_KEY             [A-Za-z0-9+/]{58}==
RETELL_API_KEY!            key_[a-f0-9]{28}
CHROMA_API_KEY!            ck-[A-Za-z0-9]{43}
TURBOPUFFER_API_KEY!       tpuf_[A-Za-z0-9]{32}
SCRAPINGBEE_API_KEY        [A-Z0-9]{80}
BRIGHTDATA_API_KEY         [a-f0-9]{64}
APOLLO_KEY!                service:graph:[A-Za-z0-9_-]{22}
HASURA_ADMIN_SECRET+       [A-Za-z0-9]{64}
APPWRITE_API_KEY!          standard_[a-f0-9]{256}
STRAPI_API_TOKEN+          [a-f0-9]{256}
GHOST_ADMIN_API_KEY        [a-f0-9]{24}:[a-f0-9]{64}
XATA_API_KEY!              xau_[A-Za-z0-9]{38}
NATS_USER_SEED!            SU[A-Z2-7]{56}
STELLAR_SECRET_SEED!       S[A-D][A-Z2-7]{54}
SOLANA_PRIVATE_KEY         [1-9A-HJ-NP-Za-km-z]{88}
BITCOIN_WIF                [KL][1-9A-HJ-NP-Za-km-z]{51}
BIP32_XPRV!                xprv9[1-9A-HJ-NP-Za-km-z]{106}
PACKAGECLOUD_TOKEN         [a-f0-9]{48}
CLOUDSMITH_API_KEY         [a-f0-9]{40}
DEPOT_TOKEN!               depot_project_[a-f0-9]{64}
NX_CLOUD_ACCESS_TOKEN+     [A-Za-z0-9]{58}==
TURBO_TOKEN                [A-Za-z0-9]{24}
GITPOD_TOKEN!              gitpod_pat_[A-Za-z0-9_-]{60}
STACKHAWK_API_KEY!         hawk\.[A-Za-z0-9]{20}\.[A-Za-z0-9]{20}
SEMGREP_APP_TOKEN+         [a-f0-9]{64}
SOCKET_SECURITY_API_KEY!   sktsec_[A-Za-z0-9_-]{43}_api
GITGUARDIAN_API_KEY        [A-Za-z0-9]{71}
WIZ_CLIENT_SECRET          [A-Za-z0-9]{64}
CROWDSTRIKE_CLIENT_SECRET  [A-Za-z0-9]{40}
DNSIMPLE_TOKEN!            dnsimple_a_[A-Za-z0-9]{32}
PORKBUN_SECRET_API_KEY!    sk1_[a-f0-9]{64}
GODADDY_API_SECRET         [A-Za-z0-9]{22}
TOMTOM_API_KEY             [A-Za-z0-9]{32}
IPINFO_TOKEN               [a-f0-9]{14}
NEWSAPI_KEY                [a-f0-9]{32}
POLYGON_API_KEY            [A-Za-z0-9_]{32}
ALPHAVANTAGE_API_KEY       [A-Z0-9]{16}
COINMARKETCAP_KEY          [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
CLEARBIT_KEY!              sk_[a-f0-9]{32}
HUNTER_API_KEY             [a-f0-9]{40}
LOOPS_API_KEY              [a-f0-9]{32}
COURIER_AUTH_TOKEN!        pk_prod_[A-Z0-9]{28}
SMTP2GO_API_KEY!           api-[A-F0-9]{32}
INFOBIP_API_KEY            [a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
SHORTCUT_API_TOKEN         [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
TEAMWORK_API_TOKEN!        tkn\.v1_[A-Za-z0-9]{60}==
SMARTSHEET_ACCESS_TOKEN    [A-Za-z0-9]{37}
ZOOM_CLIENT_SECRET+        [A-Za-z0-9]{32}
WEBEX_BOT_TOKEN!           [A-Za-z0-9]{64}_PF84_[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
FEISHU_WEBHOOK_URL!        https://open\.feishu\.cn/open-apis/bot/v2/hook/[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
DINGTALK_WEBHOOK_URL!      https://oapi\.dingtalk\.com/robot/send\?access_token=[a-f0-9]{64}
WECOM_WEBHOOK_URL!         https://qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
DINGTALK_SECRET!           SEC[a-f0-9]{64}
PUSHOVER_TOKEN             [a-z0-9]{30}
PUSHBULLET_TOKEN!          o\.[A-Za-z0-9]{32}
NTFY_TOKEN!                tk_[a-z0-9]{29}
QUICKNODE_URL!             https://spring-cool-road\.quiknode\.pro/[a-f0-9]{40}/
PORKBUN_API_KEY!           pk1_[a-f0-9]{64}
STRAVA_CLIENT_SECRET       [a-f0-9]{40}
WEBFLOW_TOKEN              [a-f0-9]{64}
LOKALISE_TOKEN             [a-f0-9]{40}
MINIO_ROOT_PASSWORD+       [A-Za-z0-9]{16}
POSTGRES_PASSWORD+         [a-z]{6}[0-9]{3}
MYSQL_ROOT_PASSWORD+       [A-Za-z0-9!]{12}
RABBITMQ_DEFAULT_PASS+     [a-z]{8}
GF_SECURITY_ADMIN_PASSWORD+ [A-Za-z0-9]{14}
BORG_PASSPHRASE            [a-z]{5}-[a-z]{6}-[a-z]{5}
BECOME_PASS                [A-Za-z0-9]{10}
TOKEN_SECRET+              [a-f0-9]{64}
COOKIE_SECRET+             [A-Za-z0-9]{32}
APP_SECRET_KEY+            [A-Za-z0-9]{32}
PASSWORD_SALT              [A-Za-z0-9]{22}
HMAC_KEY                   [a-f0-9]{64}
AES_KEY+                   [a-f0-9]{64}
MASTER_KEY                 [A-Za-z0-9+/]{43}=
SIGNING_SECRET+            [a-f0-9]{64}
CLIENT_KEY_DATA            [A-Za-z0-9+/]{120}==
`

// secondPerson are further numbers of persons; a value in braces is generated (numbers.go of this folder).
const secondPerson = `
IR melli code               | melli code             | {IR}
KZ IIN                      | iin                    | {KZ}
AE Emirates ID              | emirates id            | {AE}
SA national ID              | national id            | {SA}
EG national ID              | national id            | 29001011234567
VN citizen ID               | cccd                   | 001099012345
PE identity card            | dni                    | 10117410-2
VE tax                      | rif                    | V-11470283-4
DO cedula                   | cedula                 | 001-1391820-5
UY identity card            | cedula de identidad    | 1.234.567-2
CR cedula                   | cedula                 | 3-0455-0175
SK rodne cislo              | rodné číslo            | 710319/2745
MD IDNP                     | idnp                   | 2004001234567
LK identity card            | nic                    | 198512345V
BD identity card            | nid                    | 1995123456789
PH tax                      | tin                    | 123-456-789-000
NG identity number          | nin                    | 12345678901
GH card                     | ghana card             | GHA-712345678-4
DE pension insurance        | Rentenversicherungsnummer | 15 070649 C 103
ES social security          | número de la seguridad social | 28 12345678 40
US Medicare                 | medicare beneficiary identifier | 1EG4-TE5-MK73
US passport                 | passport number        | 963545637
US driver's licence         | driver license number  | D08954796
GB driving licence          | driving licence number | MORGA657054SM9IJ
GB UTR                      | unique taxpayer reference | 1955839661
FR passport                 | numéro de passeport    | 12AB34567
DE identity card            | Personalausweisnummer  | L01X00T471
IN passport                 | passport no            | J8369854
phone IT                    | cellulare              | +39 347 1234567
phone PL                    | telefon                | 601 234 567
phone KR                    | 전화번호                   | 010-1234-5678
phone MX                    | teléfono               | 55 1234 5678
phone ZA                    | cell                   | 082 123 4567
IBAN FR                     | iban                   | FR14 2004 1010 0505 0001 3M02 606
IBAN PL                     | rachunek               | PL61 1090 1014 0000 0712 1981 2874
card Maestro                | card number            | 6759 6498 2643 8453
`

// secondText are ways in which people and programs write a secret, in the notation of textKinds.
const secondText = `
prose no                    | passord: {P}
prose ro                    | parola este {P}
prose el                    | κωδικός πρόσβασης: {P}
prose bg                    | парола: {P}
prose hr                    | lozinka: {P}
prose sk                    | heslo je {P}
prose sl                    | geslo: {P}
prose lt                    | slaptažodis: {P}
prose lv                    | parole: {P}
prose et                    | parool: {P}
prose ca                    | contrasenya: {P}
prose fa                    | رمز عبور: {P}
prose bn                    | পাসওয়ার্ড: {P}
prose th                    | รหัสผ่าน: {P}
prose ms                    | kata laluan: {P}
prose sw                    | nenosiri: {P}
prose zh-tw                 | 密碼：{P}
prose is                    | lykilorð: {P}
prose de new                | Ihr neues Passwort ist {P}.
prose fr temporary          | Mot de passe temporaire : {P}
prose es new                | tu nueva contraseña es: {P}
prose ja is                 | パスワードは {P} です
prose use                   | use {P} as the password
prose with the password     | sign in with the password "{P}" please
prose pw                    | user: admin, pw: {P}
prose creds                 | creds are admin:{P}
prose reset                 | I reset your password to {P}, change it soon
prose pass is               | the pass is {P}
prose passcode              | the passcode for the meeting is {N6}
prose pat                   | here is my PAT: {H}
prose two words             | my client secret is {H}
prose github key            | GitHub personal access token {H}
prose license               | license key: {H}
azure app configuration     | Endpoint=https://shop.azconfig.io;Id=ab1c-l0-s0:XyZ;Secret={B}
azure service bus           | Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={B}
azure signalr               | Endpoint=https://shop.service.signalr.net;AccessKey={B};Version=1.0;
azure storage               | DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={B};EndpointSuffix=core.windows.net
ado.net                     | Server=tcp:db.example.com,1433;User ID=app;Password={P};Encrypt=True
oracle thin                 | jdbc:oracle:thin:scott/{P}@//db:1521/x
sqlplus                     | sqlplus scott/{P}@orcl
cloudinary url              | CLOUDINARY_URL=cloudinary://123456789012345:{H}@shop
redis url                   | redis://:{P}@cache:6379/0
amqp url                    | amqps://app:{P}@mq.example.com/vhost
mongosh                     | mongosh mongodb.example.com -u ada -p {P}
aws configure               | aws configure set aws_secret_access_key {H}
heroku config               | heroku config:set SECRET_TOKEN={H}
fly secrets                 | fly secrets set API_KEY={H}
docker registry secret      | kubectl create secret docker-registry reg --docker-username=ada --docker-password={P}
terraform var               | terraform apply -var 'db_password={P}'
ansible extra               | ansible-playbook site.yml -e "ansible_become_pass={P}"
net user                    | net user bob {P} /add
smbclient                   | smbclient //srv/share -U ada%{P}
mount cifs                  | mount -t cifs //srv/x /mnt -o username=ada,password={P}
lftp                        | lftp -u ada,{P} ftp.example.com
gpg passphrase              | gpg --batch --passphrase {P} -d file.gpg
chpasswd                    | echo 'root:{P}' | chpasswd
sudo stdin                  | echo {P} | sudo -S apt update
keytool                     | keytool -list -keystore k.jks -storepass {P}
mysqldump                   | mysqldump -u root --password={P} shop
mosquitto                   | mosquitto_pub -h mq -u ada -P {P} -t x -m y
xfreerdp                    | xfreerdp /u:ada /p:{P} /v:host
httpie                      | http -a ada:{P} GET api.example.com/x
httpie header               | http api.example.com/x 'X-Auth-Token:{H}'
curl private token          | curl -H "PRIVATE-TOKEN: {H}" https://git.example.com/api/v4/x
curl bearer                 | curl -H 'Authorization: Bearer {H}' https://api.example.com
curl form                   | curl -d 'grant_type=password&username=ada&password={P}' https://x.example.com/token
curl json                   | curl -d '{"user":"ada","password":"{P}"}' https://x.example.com/login
nmcli                       | nmcli dev wifi connect home password {P}
wpa psk                     | network={ssid="home" psk="{P}"}
cisco enable                | enable secret 0 {P}
cisco snmp                  | snmp-server community {P} RW
apr1                        | ada:$apr1$r31saltt${A22}
pbkdf2 django               | pbkdf2_sha256$260000$saltsaltsalt${B}
werkzeug                    | scrypt:32768:8:1$saltsalt${X64}
ssha                        | userPassword: {SSHA}{B}
scram                       | SCRAM-SHA-256$4096:c2FsdHNhbHQ=${B}
mysql hash                  | IDENTIFIED BY PASSWORD '*{X40}'
docker config               | {"auths":{"https://index.docker.io/v1/":{"auth":"{C}"}}}
kubeconfig token            | users:\n- name: ada\n  user:\n    token: {H}
github actions              | env:\n  NPM_TOKEN: {H}
compose                     | environment:\n  - POSTGRES_PASSWORD={P}
spring                      | spring.datasource.password={P}
rails yaml                  | production:\n  secret_key_base: {X64}
toml                        | [database]\npassword = "{P}"
ini colon                   | [smtp]\npass: {P}
properties                  | jdbc.pwd={P}
python dict                 | {'user': 'ada', 'passwd': '{P}'}
go struct                   | Config{User: "ada", Password: "{P}"}
ruby symbol                 | { user: 'ada', password: '{P}' }
ruby rocket                 | :api_key => "{H}"
csharp                      | var apiKey = "{H}";
swift                       | let clientSecret: String = "{H}"
kotlin                      | val token = "{H}"
rust const                  | const API_TOKEN: &str = "{H}";
powershell variable         | $env:API_KEY = "{H}"
batch set                   | set DB_PASSWORD={P}
fish set                    | set -x API_KEY {H}
dockerfile                  | ENV API_TOKEN {H}
http cookie                 | Cookie: theme=dark; sessionid={H}
proxy authorization         | Proxy-Authorization: Basic {C}
digest auth                 | Authorization: Token token="{H}"
aws sigv2                   | ?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Expires=1700000000&Signature={H}
presigned gcs               | ?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature={X64}
oauth code                  | https://app.example.com/callback?code={H}&state=xyz
magic link                  | https://app.example.com/login?magic_token={H}
reset link                  | https://app.example.com/reset?reset_token={H}
fragment token              | https://app.example.com/#access_token={H}&token_type=bearer
sql insert                  | INSERT INTO users (name, password) VALUES ('ada', '{P}')
sql role                    | CREATE ROLE app LOGIN PASSWORD '{P}'
sql credential              | CREATE LOGIN app WITH PASSWORD = N'{P}'
xml element                 | <secretKey>{H}</secretKey>
xml key value               | <add key="ApiKey" value="{H}" />
plist                       | <key>APIKey</key>\n<string>{H}</string>
html input                  | <input type="password" name="pwd" value="{P}">
csv header                  | user,password\nada,{P}
markdown table row          | | user | password |\n|---|---|\n| ada | {P} |
log key value               | level=info msg=login user=ada password={P} ok=true
log json                    | {"level":"info","msg":"login","password":"{P}"}
stack trace                 | ConnectionError: could not connect with password '{P}' to db
env dump                    | PATH=/bin\nSECRET_TOKEN={H}\nHOME=/root
jwk escaped                 | {\"kty\":\"EC\",\"crv\":\"P-256\",\"d\":\"{D43}\"}
quotes as backslashes       | {\aws_secret_access_key\:\{H}\,\password\:\{P}\}
sse deltas                  | data: {"choices":[{"delta":{"content":"the password is "}}]}\n\ndata: {"choices":[{"delta":{"content":"{P}"}}]}\n\ndata: [DONE]
`
