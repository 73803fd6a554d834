// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The sixth set was drawn when the mechanisms for words near a secret, options, calls, paths and papers of persons were done, and before any was changed for
// it: detectors of TruffleHog and rules of Kingfisher that no set had used, variables of public examples of environments, manuals of commands and servers,
// libraries that sign and encrypt, documents of thirty countries more. Two halves were drawn by the hash of the name; the second was scored once, when
// everything was done. It is in the notation of the other tables.
const sixthVendor = `
ABSTRACT_API_KEY           [a-f0-9]{32}
ABUSEIPDB_API_KEY          [a-f0-9]{80}
ACCUWEATHER_APIKEY         [A-Za-z0-9]{32}
ADZUNA_APP_KEY             [a-f0-9]{32}
AHA_API_TOKEN              [a-f0-9]{64}
AIRVISUAL_KEY              [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
AIRSHIP_MASTER_SECRET      [A-Za-z0-9_-]{22}
ALEGRA_TOKEN               [a-z0-9]{20}
OTX_KEY                    [a-f0-9]{64}
API2CART_KEY               [a-f0-9]{32}
APIFLASH_ACCESS_KEY        [a-f0-9]{32}
APILAYER_KEY               [A-Za-z0-9]{32}
BESTBUY_APIKEY             [A-Za-z0-9]{24}
BITFINEX_API_SECRET        [A-Za-z0-9]{43}
BITMEX_SECRET              [A-Za-z0-9_-]{48}
CALENDARIFIC_KEY           [a-f0-9]{40}
CAPSULE_CRM_TOKEN          [A-Za-z0-9+/]{64}
CLICKSEND_KEY              [A-F0-9]{8}-[A-F0-9]{4}-[A-F0-9]{4}-[A-F0-9]{4}-[A-F0-9]{12}
CONVERTKIT_SECRET          [A-Za-z0-9_-]{43}
DELIGHTED_KEY              [A-Za-z0-9]{32}
DOCPARSER_KEY              [a-f0-9]{40}
DROPBOX_SIGN_KEY           [a-f0-9]{64}
EDAMAM_APP_KEY             [a-f0-9]{32}
FACEPP_SECRET              [A-Za-z0-9_-]{32}
FOURSQUARE_CLIENT_SECRET   [A-Z0-9]{48}
FULLSTORY_TOKEN            [A-Za-z0-9+/]{88}
GEOAPIFY_KEY               [a-f0-9]{32}
GETRESPONSE_APIKEY         [a-z0-9]{32}
HYPERTRACK_SECRET          [A-Za-z0-9_-]{54}
ICONFINDER_CLIENT_SECRET   [A-Za-z0-9]{64}
INTRINIO_KEY               [A-Za-z0-9]{44}
JOTFORM_KEY                [a-f0-9]{32}
KEEN_WRITE_KEY             [A-F0-9]{64}
KUCOIN_PASSPHRASE          [a-z]{6}[0-9]{4}
LASTFM_SHARED_SECRET       [a-f0-9]{32}
LOGGLY_TOKEN               [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
MATTERMOST_PAT             [a-z0-9]{26}
MAXMIND_LICENSE_KEY!       [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk
MOOSEND_KEY                [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
NUTRITIONIX_KEY            [a-f0-9]{32}
OANDA_TOKEN                [a-f0-9]{32}-[a-f0-9]{32}
ONFLEET_KEY                [a-f0-9]{32}
OPENCAGE_KEY               [a-f0-9]{32}
PANDADOC_KEY               [a-f0-9]{40}
PEOPLEDATALABS_KEY         [a-f0-9]{64}
PODIO_CLIENT_SECRET        [A-Za-z0-9]{64}
PROXYCRAWL_TOKEN           [A-Za-z0-9_-]{22}
REBRANDLY_APIKEY           [a-f0-9]{32}
SHODAN_API_KEY+            [A-Za-z0-9]{32}
SIGNALWIRE_TOKEN           PT[a-f0-9]{50}
SPORTMONKS_TOKEN           [A-Za-z0-9]{60}
STATUSCAKE_KEY             [A-Za-z0-9]{20}
STORMGLASS_KEY             [a-f0-9]{8}-[a-f0-9]{4}-11ec-[a-f0-9]{4}-[a-f0-9]{12}-[a-f0-9]{8}-[a-f0-9]{4}-11ec-[a-f0-9]{4}-[a-f0-9]{12}
THINGSPEAK_WRITE_KEY       [A-Z0-9]{16}
TICKETMASTER_CONSUMER_KEY  [A-Za-z0-9]{32}
TWELVEDATA_APIKEY          [a-f0-9]{32}
VIRUSTOTAL_API_KEY+        [a-f0-9]{64}
VISUALCROSSING_KEY         [A-Z0-9]{25}
WEATHERBIT_KEY             [a-f0-9]{32}
ZIPCODEAPI_KEY             [A-Za-z0-9]{64}
ZOHO_REFRESH_TOKEN+        1000\.[a-f0-9]{32}\.[a-f0-9]{32}
ZENSERP_KEY                [a-f0-9]{8}-[a-f0-9]{4}-11ec-[a-f0-9]{4}-[a-f0-9]{12}
BETTER_AUTH_SECRET+        [A-Za-z0-9+/]{43}=
GITHUB_WEBHOOK_SECRET+     [a-f0-9]{40}
MICROSOFT_APP_PASSWORD+    [A-Za-z0-9]{3}8Q~[A-Za-z0-9_~.-]{34}
R2_SECRET_ACCESS_KEY+      [a-f0-9]{64}
S3_SECRET_KEY+             [A-Za-z0-9/+]{40}
MSSQL_SA_PASSWORD+         [A-Z][a-z]{5}[0-9]{3}!
ENCRYPTION_SALT            [A-Za-z0-9]{24}
APP_SESSION_PASSWORD       [A-Za-z0-9]{32}
CURSOR_SIGNING_KEY         [A-Za-z0-9_-]{43}
JWT_REFRESH_SECRET+        [a-f0-9]{64}
TICKET_SIGNING_KEY         [A-Za-z0-9+/]{43}=
FIRMWARE_SIGNING_SEED      [a-f0-9]{64}
POLY_CLOB_PASSPHRASE       [a-f0-9]{64}
WHATSAPP_VERIFY_TOKEN      [a-z]{5}[0-9]{5}[a-z]{4}
VAPID_PRIVATE_KEY          [A-Za-z0-9_-]{43}
STREAM_API_SECRET          [a-z0-9]{64}
PRIVY_APP_SECRET           [A-Za-z0-9]{88}
ENCRYPTION_SECRET          [A-Za-z0-9+/]{32}
LICENSE_KEYS               [A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}
CRON_SECRET+               [a-f0-9]{32}
REVALIDATE_TOKEN           [A-Za-z0-9]{24}
INTERNAL_API_SECRET        [a-f0-9]{48}
SSO_JWT_KEY                [A-Za-z0-9]{40}
BLIND_INDEX_KEY            [a-f0-9]{64}
FIELD_ENCRYPTION_KEY       [A-Za-z0-9_-]{43}=
CSRF_SALT                  [A-Za-z0-9]{20}
TOTP_SEED                  [A-Z2-7]{32}
HOOK_HMAC                  [a-f0-9]{64}
EDGE_CONFIG_TOKEN          [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
KV_REST_API_TOKEN+         [A-Za-z0-9]{90}
BLOB_READ_WRITE_TOKEN!     vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30}
UPLOADTHING_SECRET!        sk_live_[a-f0-9]{64}
LEMON_SIGNING              [a-z0-9]{32}
DRAGONFLY_PASS             [A-Za-z0-9]{16}
QUESTDB_PG_PASSWORD        [a-z]{5}[0-9]{4}
TIMESCALE_PWD              [A-Za-z0-9]{16}
CLICKHOUSE_PASS            [A-Za-z0-9]{14}
RADARR_APIKEY              [a-f0-9]{32}
PROWLARR_KEY               [a-f0-9]{32}
JELLYFIN_TOKEN             [a-f0-9]{32}
OVERSEERR_KEY              [A-Za-z0-9+/]{68}==
LINKWARDEN_SECRET          [A-Za-z0-9]{32}
OUTLINE_UTILS_SECRET       [a-f0-9]{64}
CALIBRE_ACCESS             [A-Za-z0-9]{22}
MEALIE_OPENAI_KEY          sk-proj-[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74}
HOARDER_NEXTAUTH           [A-Za-z0-9+/]{48}
SHLINK_INITIAL_KEY         [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
PLAUSIBLE_TOTP_VAULT       [A-Za-z0-9+/]{43}=
UMAMI_APP_SECRET           [A-Za-z0-9]{32}
FORGEJO_INTERNAL           [A-Za-z0-9_-]{105}
WOODPECKER_AGENT_SECRET    [a-f0-9]{64}
DRONE_RPC_SECRET           [a-f0-9]{32}
ZITADEL_MASTERKEY          [A-Za-z0-9]{32}
LOGTO_COOKIE_KEYS          [A-Za-z0-9]{43}
KEYCLOAK_CLIENT            [A-Za-z0-9]{32}
ORY_SYSTEM_SECRET          [A-Za-z0-9]{32}
SUPERTOKENS_KEYS           [A-Za-z0-9=-]{40}
PHOENIX_SIGNING_SALT       [A-Za-z0-9+/]{8}[0-9]{2}
ELIXIR_LIVE_VIEW_SALT      [A-Za-z0-9+/]{32}
RELEASE_COOKIE             [A-Z2-7]{48}
ERPNEXT_ENC                [A-Za-z0-9_-]{43}=
ODOO_ADMIN_PASSWD          [a-z]{4}-[a-z]{4}-[a-z0-9]{4}
MOODLE_CRON_PW             [A-Za-z0-9]{12}
GLPI_APP_TOKEN             [A-Za-z0-9]{40}
SNIPEIT_KEY                base64:[A-Za-z0-9+/]{43}=
BOOKSTACK_TOKEN_SECRET     [A-Za-z0-9]{32}
TRAGGO_PASS                [a-z0-9]{10}
NTFY_AUTH                  [a-z]{4}:[A-Za-z0-9]{14}
HAPROXY_STATS_PW           [A-Za-z0-9]{10}
PROMETHEUS_REMOTE_PASSWORD glc_[A-Za-z0-9+/]{80}=
VECTOR_SINK_TOKEN          [A-Za-z0-9]{36}
OTEL_EXPORTER_AUTH         [A-Za-z0-9]{40}
UPTRACE_SECRET             [A-Za-z0-9]{22}
HIGHLIGHT_PROJECT_SECRET   [a-z0-9]{20}
BASELIME_KEY               [a-f0-9]{40}
GRAPHITE_APIKEY            [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
LANGDB_API_KEY!            langdb_[A-Za-z0-9]{40}
PINATA_JWT+                eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJ1c2VySW5mb3JtYXRpb24i[A-Za-z0-9_-]{120}\.[A-Za-z0-9_-]{43}
NFT_STORAGE_KEY            eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJzdWIiOiJkaWQ6ZXRociI6[A-Za-z0-9_-]{100}\.[A-Za-z0-9_-]{43}
MORALIS_KEY                [A-Za-z0-9]{64}
THIRDWEB_SECRET            [A-Za-z0-9_-]{86}
DEPLOYER_PRIVATE_KEY       0x[a-f0-9]{64}
ETH_MNEMONIC_PASSWORD      [A-Za-z0-9]{14}
`

const sixthPerson = `
AL identity                 | numri i identitetit    | J60101003K | I05101999I
AM social card              | social services number | 3005790117
AZ identity                 | FİN kod                | 5MDG7VL
BH personal number          | CPR number             | 870412345
BW Omang                    | omang                  | 379219515
CU identity                 | carné de identidad     | 85081212346
CY tax                      | tax identification code | 00123123T
DZ identity                 | numéro d'identification nationale | 109850123456780009
ET identity                 | fayda number           | 6140798523917519
GE personal number          | პირადი ნომერი          | 01024085800
HN identity                 | documento nacional de identificación | 0801-1990-12345
IQ identity                 | national card number   | 199012345678
JO national number          | national number        | 9851012345
KG personal number          | ПИН                    | 21504199000123
KW civil id                 | civil id               | 285041201234
LU matricule                | matricule              | 1985 0412 123 45
MK identity                 | матичен број           | 0101990450123
MM registration card        | NRC                    | 12/KaMaYa(N)123456
MN register number          | регистрийн дугаар      | УБ90010112
MT identity                 | identity card number   | 0123490M
MU identity                 | NIC number             | D0101901234567
NI identity                 | cédula                 | 001-010190-0001A
NP citizenship              | citizenship number     | 27-01-70-01234
OM civil number             | civil number           | 12345678
PA identity                 | cédula                 | 8-123-1234
QA identity                 | QID                    | 28563412345
SN identity                 | numéro NIN             | 1 751 1990 01234
SV identity                 | DUI                    | 01234567-8
TZ identity                 | NIDA number            | 19900101-12345-00001-23
UG identity                 | NIN                    | CM90012101ABCD
UZ identity                 | ЖШШИР                  | 31234567890123
ZM registration card        | NRC number             | 123456/78/1
ZW identity                 | national id            | 63-1234567 A 42
GR tax                      | ΑΦΜ                    | 123456783
GR identity                 | αριθμός ταυτότητας     | ΑΚ 123456
BE identity card            | identiteitskaart       | 592-1234567-89
CH passport                 | Reisepass Nr           | X1234567
TR passport                 | pasaport no            | U12345678
AU passport                 | passport number        | PA1234567
UA passport                 | номер паспорта         | КА123456 
BD birth registration       | birth registration number | 19901234567890123
LK passport                 | passport               | N1234567
VN passport                 | số hộ chiếu            | C1234567
PL driving licence          | prawo jazdy            | 00123/08/0123
CZ identity card            | občanský průkaz        | 123456789
SK identity card            | číslo OP               | EA123456
HU identity card            | személyi igazolvány    | 123456AE
HU driving licence          | jogosítvány            | CE123456
RO identity card            | serie buletin          | RX 123456
BG identity card            | лична карта            | 645123456
HR identity card            | osobna iskaznica       | 115123456
NO driving licence          | førerkort              | 12 34 567890 1
DK health card              | sundhedskort           | 010190-1234
AT driving licence          | Führerschein           | 12345678
NZ health                   | NHI number             | ZZZ0016
CA BC health                | PHN                    | 9698658215
IN GSTIN                    | GSTIN                  | 22AAAAA0000A1Z5
IN UAN                      | UAN                    | 100904319456
US VIN                      | VIN                    | 1HGBH41JXMN109186
IMEI                        | IMEI                   | 490154203237518
ES health card              | tarjeta sanitaria      | BBBBBBBBQR648597
IT health card              | tessera sanitaria      | 80380001234567890123
PT health                   | número de utente       | 123456789
BR voter                    | título de eleitor      | 0123 4567 0116
AR tax                      | clave fiscal CUIL      | 20-12345678-6
CL identity                 | cédula de identidad RUN | 12.345.678-5
`

const sixthText = `
rdesktop                    | rdesktop -u ada -p {P} host1
wget http                   | wget --http-user=ada --http-password={P} https://files.example.com/a.tgz
aria2                       | aria2c --http-passwd={P} https://files.example.com/a
mongoexport                 | mongoexport -u ada -p {P} -d shop -c orders
clickhouse client           | clickhouse-client --user ada --password {P}
cypher-shell                | cypher-shell -u neo4j -p {V} 'MATCH (n) RETURN n'
sqlmap                      | sqlmap -u https://shop.example.com --auth-type Basic --auth-cred ada:{P}
kadmin                      | kadmin.local -q "addprinc -pw {P} ada@EXAMPLE.COM"
ktpass                      | ktpass /princ HTTP/web /mapuser web /pass {P} /out web.keytab
dsadd                       | dsadd user "CN=Ada" -pwd {P} -mustchpwd yes
new aduser                  | New-LocalUser -Name ada -Password (ConvertTo-SecureString '{P}' -AsPlainText -Force)
nsupdate                    | nsupdate -y hmac-sha256:ddns:{K44}
zip password                | zip -r -P {P} out.zip src
rar password                | rar a -hp{V} out.rar src
pscp                        | pscp -pw {P} a.txt ada@host1:/tmp
winscp                      | winscp.com /command "open sftp://ada@host1 -password={P}"
svn                         | svn checkout --username ada --password {P} https://svn.example.com/x
cvs                         | cvs -d :pserver:ada:{P}@cvs.example.com:/root checkout x
aws secret                  | aws secretsmanager create-secret --name db --secret-string {V}
aws rds                     | aws rds create-db-instance --master-username ada --master-user-password {P}
aws cognito                 | aws cognito-idp admin-set-user-password --username ada --password {P} --permanent
gcloud users                | gcloud sql users set-password root --instance=db --password={P}
az keyvault                 | az keyvault secret set --vault-name kv --name db --value {H}
az sql                      | az sql server create --admin-user ada --admin-password {P}
netlify env                 | netlify env:set API_TOKEN {H}
firebase config             | firebase functions:config:set mail.key="{H}"
cf login                    | cf login -a https://api.example.com -u ada -p {P}
cf create user              | cf create-user ada {P}
ibmcloud                    | ibmcloud login --apikey {H}
openstack                   | openstack --os-username ada --os-password {P} server list
netsh                       | netsh wlan set hostednetwork mode=allow ssid=Guest key={P}
networksetup                | networksetup -setairportnetwork en0 Guest {P}
wpa_passphrase              | wpa_passphrase Guest {P}
tasmota                     | Backlog MqttUser ada; MqttPassword {P}; MqttHost mq
mosquitto_passwd            | mosquitto_passwd -b /etc/mq.pw ada {P}
rabbitmqadmin               | rabbitmqadmin -u ada -p {P} list queues
redis pass                  | redis-cli -h cache --pass {P} ping
mc user                     | mc admin user add store ada {V}
argocd password             | argocd account update-password --current-password old --new-password {P}
podman login                | podman login -u ada -p {P} registry.example.com
crane                       | crane auth login -u ada -p {H} registry.example.com
yarn token                  | yarn config set npmAuthToken {H}
poetry basic                | poetry config http-basic.corp ada {P}
cargo login                 | cargo login {H}
gem push                    | gem push x.gem --key {H}
sbt credentials             | credentials += Credentials("Realm", "nexus.example.com", "ada", "{P}")
keyring set                 | secret-tool store --label=db user ada <<< {P}
ansible vault               | ansible-vault encrypt_string '{P}' --name db_pw
ngrok basic                 | ngrok http 80 --basic-auth="ada:{P}"
caddy hash                  | caddy hash-password --plaintext {P}
htdigest                    | ada:realm:{X32}
openvpn inline              | <auth-user-pass>\nada\n{P}\n</auth-user-pass>
radius client               | client ap1 {\n  secret = {P}\n}
radius user                 | ada Cleartext-Password := "{P}"
pap secrets                 | "ada" * "{P}" *
racoon psk                  | 203.0.113.9 {V}
dovecot plain               | ada:{PLAIN}{P}::::::
exim mysql                  | hide mysql_servers = localhost/mail/ada/{P}
rndc key                    | key "rndc-key" { algorithm hmac-sha256; secret "{K44}"; };
nut users                   | [monuser]\n  password = {P}\n  upsmon primary
telegraf                    | [[outputs.influxdb_v2]]\n  token = "{H}"
prometheus basic            | basic_auth:\n  username: ada\n  password: {P}
alertmanager smtp           | smtp_auth_password: '{P}'
logstash                    | elasticsearch { user => "ada" password => "{P}" }
filebeat                    | output.elasticsearch:\n  api_key: "VuaCfGcBCdbkQm:{H}"
zabbix                      | DBUser=zabbix\nDBPassword={P}
squid peer                  | cache_peer proxy parent 3128 0 login=ada:{P}
nginx upstream              | proxy_set_header Authorization "Basic {C}";
tomcat users                | <user username="ada" password="{P}" roles="manager-gui"/>
jetty realm                 | ada: {P},admin
activemq                    | <authenticationUser username="ada" password="{P}" groups="users"/>
proftpd sql                 | SQLConnectInfo mail@localhost ada {P}
davfs secrets               | https://dav.example.com ada {P}
cifs credentials            | username=ada\npassword={P}\ndomain=corp
fetchmail                   | poll mail.example.com protocol imap user "ada" password "{P}"
msmtp                       | user ada\npassword {P}
mutt                        | set imap_pass="{P}"
offlineimap                 | remoteuser = ada\nremotepass = {P}
hass wifi                   | wifi:\n  ssid: Home\n  password: {P}
jmeter                      | <stringProp name="HTTPSampler.password">{P}</stringProp>
soapui                      | <con:username>ada</con:username><con:password>{P}</con:password>
postman env                 | {"key":"auth_token","value":"{H}","enabled":true}
robot framework             | Input Password    id:password    {P}
playwright                  | await page.fill('#password', '{P}')
selenium                    | driver.find_element(By.ID, "password").send_keys("{P}")
cucumber                    | When I fill in "Password" with "{P}"
cypress                     | cy.get('input[name=password]').type('{P}')
secret key spec             | new SecretKeySpec("{H}".getBytes(), "AES")
cryptojs                    | CryptoJS.AES.encrypt(data, '{H}').toString()
openssl_encrypt             | openssl_encrypt($d, 'AES-256-CBC', '{X32}', 0, $iv)
ruby hmac                   | OpenSSL::HMAC.hexdigest('SHA256', '{H}', data)
hash_hmac                   | hash_hmac('sha256', $payload, '{H}')
go hmac                     | hmac.New(sha256.New, []byte("{H}"))
devise pepper               | config.pepper = '{X64}'
jjwt                        | Jwts.builder().signWith(SignatureAlgorithm.HS256, "{H}").compact()
itsdangerous                | URLSafeTimedSerializer("{H}")
jsonwebtoken rust           | EncodingKey::from_secret("{H}".as_ref())
discord login               | client.login("{J}")
paramiko                    | ssh.connect("host1", username="ada", password="{P}")
ftplib                      | ftplib.FTP("host1", "ada", "{P}")
imaplib                     | imap.login("ada@example.com", "{P}")
telnet write                | tn.write(b"{P}\n")
pexpect                     | child.expect("assword:")\nchild.sendline("{P}")
netmiko                     | {"device_type": "cisco_ios", "username": "ada", "secret": "{P}"}
cx oracle                   | cx_Oracle.connect("ada", "{P}", "db1/orcl")
ldap3                       | Connection(server, "cn=admin,dc=example", "{P}")
winrm session               | winrm.Session("host1", auth=("ada", "{P}"))
c strcmp                    | if (strcmp(input, "{P}") == 0) grant();
java keystore               | keyStore.load(in, "{P}".toCharArray());
java authenticator          | return new PasswordAuthentication("ada", "{P}".toCharArray());
go ssh                      | ssh.Password("{P}")
node mailer                 | auth: { user: "ada", pass: "{P}" }
rails basic                 | http_basic_authenticate_with name: "ada", password: "{P}"
php password hash           | password_hash("{P}", PASSWORD_DEFAULT)
dotnet credential           | new NetworkCredential("ada", "{P}")
swift keychain              | keychain.set("{H}", forKey: "token")
prose otp                   | Your one-time password is {N6}. It expires in 10 minutes.
prose code                  | Use verification code {N6} to sign in.
prose sms de                | Ihr Einmalpasswort lautet {N6}
prose user pass lines       | user: ada\npass: {P}
prose rotated               | I rotated the token, the new one is {H}
prose old pw                | the old pw {P} doesn't work any more
prose works as              | tell me if {P} works as the password
prose wifi slash            | Wi-Fi: GuestNet / {P}
prose staging pair          | ada:{P} on staging, please log in and look
prose login pass            | login ada, pass {P}
prose creds pipe            | credentials (ada|{P})
prose key below             | API key for the new tenant:\n\n    {H}\n
prose safe                  | The safe opens with {P}, that is also the root password
prose admin is              | Admin account is admin, its password {P}
prose vault                 | I stored {H} as the secret in the vault
prose share secret          | please add this secret to CI: {H}
prose temp                  | temporary login: ada, temporary password: {P}
prose hy                    | գաղտնաբառը՝ {P}
prose ka                    | პაროლი: {P}
prose kk                    | құпиясөз: {P}
prose az                    | şifrə: {P}
prose mk                    | лозинка: {P}
prose is                    | lykilorðið er {P}
prose eo                    | la pasvorto estas {P}
prose gl                    | o contrasinal é {P}
prose cy                    | y cyfrinair yw {P}
prose ta                    | கடவுச்சொல்: {P}
prose ur                    | پاس ورڈ: {P}
prose am                    | የይለፍ ቃል: {P}
prose mn                    | нууц үг: {P}
prose km                    | ពាក្យសម្ងាត់: {P}
prose ne                    | पासवर्ड: {P}
slack webhook body          | {"ok":true,"incoming_webhook":{"url":"https://hooks.example.com/services/{H}"}}
git remote                  | origin https://ada:{H}@git.example.com/x.git (fetch)
env diff                    | -API_TOKEN=old\n+API_TOKEN={H}
systemctl show              | Environment=DB_HOST=db DB_PASS={P} MODE=prod
ps output                   | 1234 ? Ss 0:01 worker --queue a --broker-password={P}
docker inspect              | "Env": ["PATH=/bin", "REDIS_PASSWORD={P}"]
k8s describe                | Environment:\n  API_SECRET:  {H}
gitlab variable             | {"variable_type":"env_var","key":"DEPLOY_TOKEN","value":"{H}","masked":true}
terraform output            | db_password = "{P}"\ndb_host = "db1"
terraform plan              | + master_password = "{P}"
ini nested                  | [auth:ldap]\nbind_password={P}
java log                    | c.z.hikari.HikariConfig - password=.{P}
python repr                 | Settings(db_user='ada', db_password='{P}', debug=False)
java record string          | Credentials[user=ada, secret={H}]
go struct dump              | &{User:ada Password:{P} Port:5432}
php trace                   | #0 /app/db.php(12): PDO->__construct('mysql:host=db', 'ada', '{P}')
soap token                  | <wsse:Password Type="PasswordText">{P}</wsse:Password>
saml artifact               | SAMLart={B}&RelayState=x
oauth device                | {"device_code":"{D43}","user_code":"ABCD-EFGH"}
set cookie auth             | set-cookie: auth_token={H}; HttpOnly
aws chunk                   | x-amz-security-token: {J}
grpc metadata               | authorization=[Token {H}]
graphql header              | {"x-hasura-admin-secret":"{H}"}
kafka client                | sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="ada" password="{P}";
ssh config                  | # jump host, pw {P}\nHost jump
crontab mail                | */5 * * * * /usr/bin/sync --user ada --pass {P}
vim modeline                | let g:api_token = '{H}'
emacs                       | (setq gptel-api-key "{H}")
obsidian                    | apiKey:: {H}
jupyter                     | %env OPENAI_TOKEN={H}
r config                    | options(gh_token = "{H}")
matlab                      | opts.Password = '{P}';
excel vba                   | ActiveSheet.Unprotect Password:="{P}"
powershell cred             | $cred = New-Object PSCredential("ada", ("{P}" | ConvertTo-SecureString -AsPlainText -Force))
sap                         | sapcontrol -user ada {P} -function Stop
as400                       | CHGUSRPRF USRPRF(ADA) PASSWORD({V})
mainframe                   | //STEP1 JOB USER=ADA,PASSWORD={V}
db2 connect                 | db2 connect to sample user ada using {P}
sybase                      | isql -U ada -P {P} -S server1
informix                    | CONNECT TO 'db' USER 'ada' USING '{P}'
teradata                    | .LOGON td1/ada,{P}
hana                        | hdbsql -u SYSTEM -p {P} -d HXE
vertica                     | vsql -U dbadmin -w {P}
snowsql                     | snowsql -a acme -u ada --private-key-passphrase {P}
trino                       | trino --server https://t.example.com --user ada --extra-credential token={H}
beeline                     | beeline -u jdbc:hive2://h:10000 -n ada -p {P}
sqoop                       | sqoop import --username ada --password {P} --table t
`
