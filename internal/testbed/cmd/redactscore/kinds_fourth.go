// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The fourth set was drawn before anybody looked at the rules again, from sources that were not used before: the token overview of GitLab, the list of
// partners of GitHub's secret scanning, the test data of detect-secrets (values with spaces, brackets and letters that are no ASCII; comparisons), the rules of
// secretlint, examples of RFC 6749, 6750, 7515, 7617, 7636 and 8959, the documentation of vendors (models and agents of 2024 to 2026, clouds, payment,
// messages, continuous integration, observability, networks, devices, wallets), and what programs take and print: configuration, code, commands, dumps. One half of its
// kinds, drawn at random, was held out. Values are generated. It is in the notation of the other tables.
const fourthVendor = `
NOVITA_API_KEY!            sk_[A-Za-z0-9_-]{43}
SILICONFLOW_API_KEY!       sk-[a-z]{48}
DASHSCOPE_API_KEY!+        sk-[a-f0-9]{32}
STEPFUN_API_KEY            [A-Za-z0-9]{64}
ARK_API_KEY+               [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
QIANFAN_API_KEY!           bce-v3/ALTAK-[A-Za-z0-9]{21}/[a-f0-9]{40}
LEPTON_API_TOKEN           [A-Za-z0-9]{32}
GALILEO_API_KEY            [A-Za-z0-9_-]{43}
LUNARY_PRIVATE_KEY         [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
TRACELOOP_API_KEY          [a-f0-9]{80}
LMNR_PROJECT_API_KEY       [A-Za-z0-9]{64}
LITERAL_API_KEY!           cl_[A-Za-z0-9+/]{43}=
MAXIM_API_KEY!             sk_mx_[a-z0-9]{28}
KEYWORDSAI_API_KEY         [A-Za-z0-9]{8}\.[A-Za-z0-9]{32}
CONTEXT7_API_KEY!          ctx7sk-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
PARALLEL_API_KEY           [A-Za-z0-9_-]{40}
YDC_API_KEY!               ydc-sk-[a-f0-9]{48}
SGAI_API_KEY!              sgai-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
STEEL_API_KEY!             ste-[A-Za-z0-9]{64}
HYPERBROWSER_API_KEY!      hb_[a-f0-9]{24}
BROWSER_USE_API_KEY!       bu_[A-Za-z0-9_-]{43}
DAYTONA_API_KEY!           dtn_[a-f0-9]{64}
MORPH_API_KEY!             morph_[A-Za-z0-9]{22}
RIZA_API_KEY!              riza_01[A-Z0-9]{24}_01[A-Z0-9]{24}
SUPERMEMORY_API_KEY!       sm_[A-Za-z0-9]{22}_[A-Za-z0-9]{64}
LETTA_API_KEY!             sk-let-[A-Za-z0-9]{90}==
ARCADE_API_KEY!            arc_o1[A-Za-z0-9]{50}
TOOLHOUSE_API_KEY!         th-[A-Za-z0-9_-]{43}
KLAVIS_API_KEY             [A-Za-z0-9+/]{43}=
RAGIE_API_KEY!             tnt_[A-Za-z0-9]{11}_[A-Za-z0-9]{52}
VECTARA_API_KEY!           zut_[A-Za-z0-9_-]{38}
CHUTES_API_TOKEN!          cpk_[a-f0-9]{32}\.[a-f0-9]{32}\.[A-Za-z0-9]{32}
FEATHERLESS_API_KEY!       rc_[a-f0-9]{64}
TARGON_API_KEY!            sn4_[a-z0-9]{27}
PARASAIL_API_KEY!          psk-[A-Za-z0-9]{30}
IDEOGRAM_API_KEY           [A-Za-z0-9_-]{86}
BFL_API_KEY                [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
HUME_SECRET_KEY            [A-Za-z0-9]{64}
PLAYHT_SECRET_KEY!         ak-[a-f0-9]{32}
REVAI_ACCESS_TOKEN         02[A-Za-z0-9_-]{60}
TWELVELABS_API_KEY!        tlk_[A-Z0-9]{43}
ROBOFLOW_API_KEY           [A-Za-z0-9]{20}
DIFY_APP_KEY!              app-[A-Za-z0-9]{24}
DIFY_DATASET_KEY!          dataset-[A-Za-z0-9]{24}
COZE_API_TOKEN!            pat_[A-Za-z0-9]{64}
LANGFLOW_API_KEY!+         sk-[A-Za-z0-9_-]{43}
CODESTRAL_API_KEY+         [A-Za-z0-9]{32}
AMP_API_KEY!               sgamp_user_[A-Z0-9]{26}_[a-f0-9]{64}
FACTORY_API_KEY!           fk-[A-Za-z0-9_-]{22}-[A-Za-z0-9_-]{43}
WARP_API_KEY!              wk-1\.[a-f0-9]{64}
CODERABBIT_API_KEY!        cr-[a-f0-9]{58}
GITHUB_USER_TOKEN!+        ghu_[A-Za-z0-9]{36}
GITLAB_MAIL_TOKEN!+        glimt-[a-z0-9]{25}
GITLAB_AGENT_TOKEN!+       glagent-[A-Za-z0-9_-]{50}
GITLAB_SCIM_TOKEN!+        glsoat-[A-Za-z0-9_-]{20}
GITLAB_FLAGS_TOKEN!+       glffct-[A-Za-z0-9_-]{20}
GITLAB_WORKSPACE_TOKEN!+   glwt-[A-Za-z0-9_-]{20}
GITLAB_OAUTH_SECRET!+      gloas-[a-f0-9]{64}
GITLAB_DEPLOY_TOKEN!+      gldt-[A-Za-z0-9_-]{20}
AZURE_EVENT_HUB_KEY!+      [A-Za-z0-9]{32}\+AEh[A-D][A-Za-z0-9]{5}=
AZURE_IOT_HUB_KEY!+        [A-Za-z0-9]{33}AIoT[A-D][A-Za-z0-9]{5}=
AZURE_REDIS_KEY!+          [A-Za-z0-9]{33}AzCa[A-D][A-Za-z0-9]{5}=
AZURE_SPEECH_KEY+          [a-f0-9]{32}
AZURE_SWA_DEPLOY_TOKEN     [a-f0-9]{64}-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{20}
OCI_CUSTOMER_SECRET_KEY    [A-Za-z0-9+/]{43}=
IBM_COS_SECRET             [a-f0-9]{48}
HW_SDK_SK                  [A-Za-z0-9]{40}
VOLC_SECRETKEY             [A-Za-z0-9+/]{58}==
VOLC_ACCESSKEY!            AKLT[A-Za-z0-9]{43}
YC_IAM_TOKEN!              t1\.9euelZ[A-Za-z0-9_-]{180}\.[A-Za-z0-9_-]{86}
YC_STATIC_SECRET!          YCO[A-Za-z0-9_-]{37}
OS_AUTH_TOKEN!             gAAAAAB[A-Za-z0-9_-]{180}
NCP_SECRET_KEY             [A-Za-z0-9]{40}
KAKAO_REST_KEY             [a-f0-9]{32}
QINIU_SECRET               [A-Za-z0-9_-]{40}
MERCADOPAGO_ACCESS_TOKEN!+ APP_USR-[0-9]{16}-[0-9]{6}-[a-f0-9]{32}-[0-9]{9}
MIDTRANS_SERVER_KEY!       Mid-server-[A-Za-z0-9_-]{24}
CHECKOUT_SECRET_KEY!       sk_sbox_[a-z2-7]{26}
ASAAS_API_KEY!             \$aact_prod_000[A-Za-z0-9]{80}::\$aach_[a-f0-9]{32}
WISE_API_TOKEN+            [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
CASHFREE_SECRET!           cfsk_ma_prod_[a-f0-9]{32}_[a-f0-9]{8}
POLAR_ACCESS_TOKEN!        polar_oat_[A-Za-z0-9]{43}
CREEM_API_KEY!             creem_[A-Za-z0-9]{22}
CHARGEBEE_API_KEY!         live_[A-Za-z0-9]{36}
RECURLY_PRIVATE_KEY        [a-f0-9]{32}
STRIPE_INTENT_SECRET!+     pi_3[A-Za-z0-9]{23}_secret_[A-Za-z0-9]{25}
STRIPE_EPHEMERAL_KEY!+     ek_live_[A-Za-z0-9]{100}
MATRIX_ACCESS_TOKEN!       syt_[A-Za-z0-9]{8}_[A-Za-z]{20}_[A-Za-z0-9]{6}
LINE_CHANNEL_SECRET+       [a-f0-9]{32}
LINE_CHANNEL_ACCESS_TOKEN+ [A-Za-z0-9+/]{170}=
VIBER_AUTH_TOKEN           [a-f0-9]{16}-[a-f0-9]{16}-[a-f0-9]{16}
ZULIP_API_KEY              [A-Za-z0-9]{32}
BREVO_SMTP_KEY!            xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}
AFRICASTALKING_KEY!        atsk_[a-f0-9]{64}
NOVU_SECRET_KEY            [a-f0-9]{32}
GOTIFY_TOKEN               A[A-Za-z0-9._-]{14}
SEMAPHORE_API_TOKEN        [A-Za-z0-9_-]{20}
APPVEYOR_TOKEN             v2\.[a-z0-9]{20}
MATCH_PASSWORD             [a-z]{5}[A-Z][0-9]{3}
NETLIFY_BUILD_HOOK!        https://api\.netlify\.com/build_hooks/[a-f0-9]{24}
VERCEL_DEPLOY_HOOK!        https://api\.vercel\.com/v1/integrations/deploy/prj_[A-Za-z0-9]{28}/[A-Za-z0-9]{10}
RENDER_DEPLOY_HOOK!        https://api\.render\.com/deploy/srv-[a-z0-9]{20}\?key=[A-Za-z0-9_-]{11}
DEVELOCITY_ACCESS_KEY      [a-z0-9]{52}
SNYK_UAT!                  snyk_uat\.[a-f0-9]{8}\.[A-Za-z0-9_-]{60}
FOSSA_API_KEY              [a-f0-9]{32}
NEXUS_NPM_TOKEN!           NpmToken\.[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
CHROMATIC_PROJECT_TOKEN!   chpt_[a-f0-9]{15}
LOGTAIL_SOURCE_TOKEN       [A-Za-z0-9]{24}
AXIOM_TOKEN!               xaat-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
CORALOGIX_KEY!             cxtp_[A-Za-z0-9]{30}
SIGNOZ_INGESTION_KEY       [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
UPTRACE_DSN                https://[A-Za-z0-9]{22}@api\.uptrace\.dev\?grpc=4317
INSTANA_AGENT_KEY          [A-Za-z0-9_-]{22}
MEZMO_INGESTION_KEY        [a-f0-9]{32}
LOGFIRE_TOKEN!             pylf_v1_us_[A-Za-z0-9]{43}
INCIDENT_IO_API_KEY!       inc_[a-f0-9]{64}
FIREHYDRANT_TOKEN!         fhb-[a-f0-9]{32}
CRONITOR_API_KEY           [a-f0-9]{32}
K6_CLOUD_TOKEN             [a-f0-9]{64}
TAILSCALE_API_KEY!+        tskey-api-k[A-Za-z0-9]{8}CNTRL-[A-Za-z0-9]{32}
HEADSCALE_PREAUTH_KEY      [a-f0-9]{48}
NETBIRD_SETUP_KEY          [A-F0-9]{8}-[A-F0-9]{4}-[A-F0-9]{4}-[A-F0-9]{4}-[A-F0-9]{12}
HUE_APPLICATION_KEY        [A-Za-z0-9-]{40}
ESPHOME_ENCRYPTION_KEY     [A-Za-z0-9+/]{43}=
TUYA_LOCAL_KEY             [A-Za-z0-9]{16}
LORAWAN_APP_KEY            [A-F0-9]{32}
LORAWAN_NWK_S_KEY          [A-F0-9]{32}
PARTICLE_ACCESS_TOKEN      [a-f0-9]{40}
BITLOCKER_RECOVERY_KEY!+   [0-6][0-9]{5}-[0-6][0-9]{5}-[0-6][0-9]{5}-[0-6][0-9]{5}-[0-6][0-9]{5}-[0-6][0-9]{5}-[0-6][0-9]{5}-[0-6][0-9]{5}
FILEVAULT_RECOVERY_KEY     [A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}
LUKS_PASSPHRASE            [a-z]{6} [a-z]{5} [a-z]{7}
WINDOWS_PRODUCT_KEY        [A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}
MONERO_SPEND_KEY           [a-f0-9]{64}
TRON_PRIVATE_KEY           [a-f0-9]{64}
XRP_WALLET_SEED            s[1-9A-HJ-NP-Za-km-z]{28}
NEAR_PRIVATE_KEY!          ed25519:[1-9A-HJ-NP-Za-km-z]{87}
APTOS_PRIVATE_KEY!         ed25519-priv-0x[a-f0-9]{64}
SUI_PRIVATE_KEY!           suiprivkey1[02-9ac-hj-np-z]{59}
NOSTR_NSEC!                nsec1[02-9ac-hj-np-z]{58}
CARDANO_SIGNING_KEY!       ed25519_sk1[02-9ac-hj-np-z]{58}
HELIUS_API_KEY             [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
ANKR_RPC_URL!              https://rpc\.ankr\.com/eth/[a-f0-9]{64}
INFURA_URL!+               https://mainnet\.infura\.io/v3/[a-f0-9]{32}
LND_MACAROON               0201036c6e64[a-f0-9]{180}
BLOCKFROST_PROJECT_KEY!    mainnet[A-Za-z0-9]{32}
BYBIT_API_SECRET           [A-Za-z0-9]{36}
COINBASE_PASSPHRASE        [a-z0-9]{11}
ALPACA_SECRET_KEY          [A-Za-z0-9]{40}
AUTH_SECRET+               [A-Za-z0-9+/]{43}=
PAYLOAD_SECRET             [a-f0-9]{24}
APP_KEYS                   [A-Za-z0-9+/]{22}==
CRAFT_SECURITY_KEY         [A-Za-z0-9_-]{32}
MAGENTO_CRYPT_KEY          [a-f0-9]{32}
HASH_SALT                  [A-Za-z0-9_-]{74}
NONCE_SALT                 [A-Za-z0-9!@#%^*()_+=|~-]{64}
AIRFLOW__CORE__FERNET_KEY+ [A-Za-z0-9_-]{43}=
MB_ENCRYPTION_SECRET_KEY   [A-Za-z0-9+/]{43}=
PGADMIN_DEFAULT_PASSWORD+  [a-z]{8}
MONGO_INITDB_ROOT_PASSWORD+ [A-Za-z0-9]{10}
KC_DB_PASSWORD+            [A-Za-z0-9]{9}
GRAYLOG_PASSWORD_SECRET    [A-Za-z0-9]{96}
RABBITMQ_ERLANG_COOKIE     [A-Z]{20}
PLEX_CLAIM!                claim-[A-Za-z0-9_-]{20}
VNC_PASSWD                 [a-z0-9]{8}
JUPYTER_TOKEN+             [a-f0-9]{48}
PORTAINER_API_KEY!         ptr_[A-Za-z0-9+/]{43}=
RANCHER_BEARER_TOKEN!      token-[a-z0-9]{5}:[a-z0-9]{54}
K3S_TOKEN!                 K10[a-f0-9]{64}::server:[a-f0-9]{32}
KUBEADM_JOIN_TOKEN         [a-z0-9]{6}\.[a-z0-9]{16}
TELEPORT_JOIN_TOKEN        [a-f0-9]{32}
PROXMOX_API_TOKEN          root@pam!ci=[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
HCP_CLIENT_SECRET          [A-Za-z0-9_-]{64}
ADOBE_REFRESH_TOKEN        eyJhbGciOiJSUzI1NiIsIng1dSI6[A-Za-z0-9_-]{60}\.eyJ[A-Za-z0-9_-]{90}\.[A-Za-z0-9_-]{86}
SMTP_PASS+                 [A-Za-z0-9]{16}
DB_PASSWD+                 [A-Za-z0-9!#%]{11}
BIND_CREDENTIALS           [A-Za-z0-9!]{12}
SERVICE_ACCT_PWD           [A-Za-z]{7}[0-9]{2}!
SIGNING_PASSPHRASE         [a-z]{5}-[a-z]{5}-[a-z]{5}
WEBHOOK_SIGNING_KEY+       [a-f0-9]{64}
SHARED_SECRET+             [A-Za-z0-9]{24}
MAPS_KEY+                  [A-Za-z0-9_-]{39}
DEVICE_PSK                 [A-F0-9]{32}
ACCOUNT_SAS                sv=2022-11-02&ss=b&srt=sco&sp=rl&sig=[A-Za-z0-9]{43}%3D
`

// fourthPerson are numbers that a label makes personal, where their value alone may be anything.
const fourthPerson = `
GB passport                 | passport number        | 533401372 | 925076473
DE passport                 | Reisepassnummer        | C01X00T47 | C4VHKJR2L
CA passport                 | passport no            | AB123456 | HK509213
JP passport                 | passport number        | TK1234567
ES passport                 | número de pasaporte    | XDA123456
IT passport                 | numero di passaporto   | YA1234567
BR passport                 | número do passaporte   | FZ123456
RU passport                 | серия и номер паспорта | 4509 123456
CN passport                 | 护照号码                  | E12345678
US driver licence           | driver's license       | D1234562 | F255-9210-0094
DE driving licence          | Führerscheinnummer     | B072RRE2I55
FR driving licence          | numéro de permis de conduire | 880692310285
IT driving licence          | numero patente         | AA1234567B
AU driving licence          | driver licence no      | 12345678
CA driving licence          | driver's licence number | A1234-56789-01234
DE health insurance         | Krankenversichertennummer | A123456780
GB CHI                      | chi number             | 0101200302
CA OHIP                     | health card number     | 1234-567-897-AB
AU IHI                      | individual healthcare identifier | 8003608166690503
US medical record           | medical record number  | 00482917 | MRN-2049381
US member                   | insurance member id    | XYZ123456789
US DEA                      | dea number             | AB1234563
US bank account             | bank account number    | 000123456789 | 4820017364
US bank account short       | account number         | 123456789012
GB account                  | sort code and account number | 20-00-00 55779911
IN bank account             | a/c no                 | 50100123456789
AU bank account             | bsb and account        | 062-000 12345678
MX CLABE                    | clabe                  | 032180000118359719
JP bank account             | 口座番号                  | 1234567
CVV                         | cvv                    | 123 | 9942
card expiry                 | card security code     | 737
PL NIP                      | nip                    | 123-456-32-18
IN voter                    | voter id               | ABC1234567
ID NPWP                     | npwp                   | 01.234.567.8-901.000
PH SSS                      | sss number             | 34-1234567-8
PE RUC                      | ruc                    | 10101174102
GT DPI                      | dpi                    | 1234567890101
RU INN                      | инн                    | 500100732259
BY personal number          | идентификационный номер | 3141290A001PB1
NG BVN                      | bvn                    | 22123456789
KE identity card            | national id number     | 12345678
SE coordination number      | samordningsnummer      | 701063-2391
TN identity card            | cin                    | 08123456
phone SE                    | mobil                  | 070-123 45 67
phone NL                    | mobiel                 | 06-12345678
phone ES                    | móvil                  | 612 34 56 78
phone TR                    | cep telefonu           | 0532 123 45 67
phone AR                    | celular                | 11 2345-6789
phone VN                    | số điện thoại          | 0912 345 678
phone ID                    | no hp                  | 0812-3456-7890
phone PH                    | mobile number          | 0917 123 4567
phone AE                    | contact number         | +971 50 123 4567
phone IL                    | טלפון                  | 050-123-4567
phone UA                    | телефон                | 067 123 45 67
phone HK                    | phone                  | 9123 4567
phone with extension        | phone                  | (415) 555-2671 ext. 123
IBAN NL                     | rekeningnummer         | NL91 ABNA 0417 1643 00
IBAN CH                     | Kontonummer            | CH93 0076 2011 6238 5295 7
card Diners                 | credit card            | 3056 930902 5904
card Mir                    | номер карты            | 2200 7700 1234 5676
mail non-ascii              | e-mail                 | jürgen@müller-beispiel.de
mail quoted                 | contact                | <ada.lovelace+news@mail.corp.co.uk>
IPv6 short                  | remote address         | 2a02:8109:9ac0::5d
`

// fourthText are ways in which configuration, code, commands, dumps and people of many languages write a secret.
const fourthText = `
toml inline table           | db = { user = "app", password = "{P}" }
toml quoted key             | "api-key" = '{H}'
toml array                  | api_keys = ["{H}"]
hcl provider                | provider "x" {\n  api_key = "{H}"\n}
hcl heredoc                 | private_token = <<EOT\n{H}\nEOT
nix option                  | services.grafana.settings.security.admin_password = "{P}";
nix set                     | { dbPassword = "{P}"; user = "ada"; }
gradle store                | storePassword '{P}'
gradle kotlin               | keyPassword = "{P}"
gradle credentials          | credentials {\n  username "ada"\n  password "{P}"\n}
gradle properties           | signing.password={P}
maven server                | <server><id>x</id><username>ada</username><password>{P}</password></server>
maven passphrase            | <passphrase>{P}</passphrase>
nuget clear                 | <add key="ClearTextPassword" value="{P}" />
npmrc password              | //npm.example.com/:_password={B}
yarnrc                      | npmAuthToken: "{H}"
pip index                   | index-url = https://ada:{P}@pypi.example.com/simple
composer auth               | {"http-basic":{"repo.example.com":{"username":"ada","password":"{P}"}}}
composer github             | {"github-oauth":{"github.com":"{H}"}}
bundle config               | bundle config gems.example.com ada:{P}
cargo registry              | [registries.x]\ntoken = "{H}"
docker identity             | {"auths":{"x":{"identitytoken":"{H}"}}}
kubeconfig password         | user:\n    username: admin\n    password: {P}
k8s string data             | stringData:\n  token: {H}
k8s args list               | args: ["--password", "{P}"]
k8s args                    | args:\n  - --api-key={H}
helm values                 | auth:\n  rootPassword: {P}
compose mapping             | environment:\n  MYSQL_PASSWORD: {P}
compose command             | command: redis-server --requirepass {P}
systemd environment         | Environment="API_TOKEN={H}"
systemd environments        | Environment=USER=ada DB_PASS={P}
systemd credential          | SetCredential=password:{P}
ansible task                | mysql_user: name=app password={P} priv=x
puppet sensitive            | password => Sensitive('{P}')
chef node                   | node['db']['password'] = '{P}'
packer                      | "ssh_password": "{P}"
ldif                        | dn: uid=ada\nuserPassword: {P}
ldif base64                 | userPassword:: {B}
wpa block                   | network={\n  ssid="x"\n  psk="{P}"\n}
wpa raw                     | psk={X64}
netplan                     | access-points:\n  home:\n    password: {P}
wg private                  | [Interface]\nPrivateKey = {K44}
wg preshared                | PresharedKey = {K44}
ipsec psk                   | 10.0.94.1 %any : PSK "{P}"
ipsec xauth                 | ada : XAUTH "{P}"
chap secrets                | # client server secret\nada * {P} *
mikrotik                    | /user add name=ada group=full password={P}
cisco user                  | username ada privilege 15 secret {P}
cisco tacacs                | tacacs-server key {P}
fortigate                   | set passwd {P}
huawei vrp                  | local-user ada password cipher {P}
mysql options               | [client]\nuser=root\npassword="{P}"
mongo srv                   | mongodb+srv://ada:{P}@cluster0.x.mongodb.net/shop
sqlalchemy                  | create_engine("mysql+pymysql://ada:{P}@db/shop")
go dsn                      | ada:{P}@tcp(127.0.0.1:3306)/shop
snowflake url               | snowflake://ada:{P}@account/db
jdbc sqlserver              | jdbc:sqlserver://db:1433;user=sa;password={P};encrypt=true
db2 string                  | DATABASE=x;HOSTNAME=db;UID=ada;PWD={P};
sentinel                    | sentinel auth-pass mymaster {P}
redis masterauth            | masterauth {P}
redis acl                   | ACL SETUSER ada on >{P} ~* +@all
kafka jaas                  | sasl.jaas.config=PlainLoginModule required username="ada" password="{P}";
kafka keystore              | ssl.keystore.password={P}
cql role                    | CREATE ROLE ada WITH PASSWORD = '{P}' AND LOGIN = true;
oracle quoted               | ALTER USER ada IDENTIFIED BY "{P}";
oracle bare                 | ALTER USER ada IDENTIFIED BY {P};
mssql login                 | EXEC sp_addlogin 'ada', '{P}'
mysql plugin                | IDENTIFIED WITH caching_sha2_password BY '{P}'
sql update                  | UPDATE users SET password = '{P}' WHERE id = 7
sql where                   | SELECT id FROM users WHERE name='ada' AND password='{P}'
snowflake sql               | CREATE USER ada PASSWORD='{P}' MUST_CHANGE_PASSWORD=TRUE
duckdb secret               | CREATE SECRET s (TYPE S3, KEY_ID 'x', SECRET '{H}')
sqlite key                  | PRAGMA key = '{P}';
redshift copy               | CREDENTIALS 'aws_access_key_id=x;aws_secret_access_key={H}'
powershell parameter        | Connect-Thing -Server x -ApiKey '{H}'
powershell table            | @{ Password = '{P}' }
powershell set              | [Environment]::SetEnvironmentVariable("API_KEY", "{H}", "User")
cmd setx                    | setx API_KEY {H}
cmdkey                      | cmdkey /add:srv /user:ada /pass:{P}
schtasks                    | schtasks /create /tn x /ru ada /rp {P}
wmic                        | wmic /node:srv /user:ada /password:{P} os
sc config                   | sc config svc obj= ada password= {P}
winrs                       | winrs -r:srv -u:ada -p:{P} dir
fish universal              | set -Ux GITHUB_TOKEN {H}
csh setenv                  | setenv API_KEY {H}
plink                       | plink -ssh ada@host -pw {P}
rclone                      | rclone config create r sftp host=h user=ada pass={P}
mc alias                    | mc alias set local http://minio:9000 ada {P}
s3cmd                       | s3cmd --access_key=x --secret_key={H} ls
vault put                   | vault kv put secret/app password={P}
vault login                 | vault login token={H}
consul put                  | consul kv put app/password {P}
etcdctl                     | etcdctl --user root:{P} get x
mysqladmin                  | mysqladmin -u root password {P}
bcp                         | bcp t out f -U sa -P {P} -S srv
ldapsearch                  | ldapsearch -x -D cn=admin -w {P} uid=ada
kinit                       | echo {P} | kinit ada
curl digest                 | curl --digest --user 'ada:{P}' https://x.example.com
curl oauth                  | curl --oauth2-bearer {H} https://x.example.com
curl private token          | curl -H 'PRIVATE-TOKEN: {H}' https://x.example.com
curl vault header           | curl -H "X-Vault-Token: {H}" https://x.example.com
curl apikey                 | curl "https://x.example.com/api?apikey={H}"
wget header                 | wget --header="Authorization: token {H}" https://x.example.com
git clone                   | git clone https://oauth2:{H}@gitlab.example.com/x.git
git header                  | git -c http.extraheader="AUTHORIZATION: basic {C}" fetch
git config                  | git config --global github.token {H}
npm config                  | npm config set //npm.corp.example/:_authToken {H}
twine                       | twine upload -u ada -p {P} dist/x.whl
helm registry               | helm registry login x -u ada -p {P}
oc login                    | oc login --token={H} --server=x
kubectl credentials         | kubectl config set-credentials ada --token={H}
argocd login                | argocd login x --username admin --password {P}
railway                     | railway variables set API_KEY={H}
netlify deploy              | netlify deploy --auth {H}
wrangler                    | echo "{H}" | wrangler secret put API_KEY
ngrok                       | ngrok config add-authtoken {H}
docker secret               | printf '{P}' | docker secret create db_password -
docker run                  | docker run -e POSTGRES_PASSWORD={P} postgres
docker build                | docker build --build-arg NPM_TOKEN={H} .
skopeo                      | skopeo copy --src-creds ada:{P} docker://a docker://b
hydra                       | hydra -l ada -p {P} ssh://host
impacket                    | secretsdump.py corp/ada:{P}@host.example.com
qpdf                        | qpdf --password={P} a.pdf b.pdf
pdftk                       | pdftk a.pdf input_pw {P} output b.pdf
x11vnc                      | x11vnc -passwd {P}
caddy                       | caddy hash-password --plaintext {P}
passwd stdin                | echo "{P}" | passwd --stdin ada
dscl                        | dscl . -passwd /Users/ada {P}
keychain                    | security add-generic-password -a ada -s x -w {P}
snmp v3                     | snmpget -v3 -u ada -A {P} host sysName.0
jenkins cli                 | java -jar jenkins-cli.jar -auth ada:{H} list-jobs
java property               | java -Djavax.net.ssl.keyStorePassword={P} App
gradle property             | ./gradlew publish -PsonatypePassword={P}
apksigner                   | apksigner sign --ks k --ks-pass pass:{P} a.apk
msbuild                     | msbuild /p:Password={P}
dotnet secrets              | dotnet user-secrets set "Db:Password" "{P}"
dotnet push                 | dotnet nuget push a.nupkg --api-key {H}
wp cli                      | wp user create ada a --user_pass={P}
drush                       | drush user:password admin "{P}"
python default              | def connect(user="ada", password="{P}"):
python compare              | if password == "{P}":
compare reversed            | if ("{P}" == my_password) {
python item                 | config["api_key"] = "{H}"
python attribute            | client.api_key = '{H}'
python annotated            | API_TOKEN: str = "{H}"
python environ              | os.environ["DB_PASSWORD"] = "{P}"
python setdefault           | os.environ.setdefault("SECRET_KEY", "{H}")
python triple               | password = """{P}"""
python bytes                | secret_key = b'{H}'
python basic auth           | HTTPBasicAuth('ada', '{P}')
python smtp                 | server.login("ada", "{P}")
js object                   | const cfg = { apiKey: '{H}' };
js template                 | const token = ` + "`{H}`" + `;
js nullish                  | const secret = process.env.S ?? '{H}'
js client                   | new Client({ accessToken: "{H}" })
js bearer                   | headers: { 'Authorization': ` + "`Bearer {H}`" + ` }
js defaults                 | axios.defaults.headers.common['X-API-Key'] = '{H}';
js sign                     | jwt.sign(payload, "{H}")
ts member                   | private readonly apiKey: string = '{H}';
java setter                 | ds.setPassword("{P}");
java builder                | .password("{P}")
java char array             | char[] password = "{P}".toCharArray();
java put                    | props.put("password", "{P}");
java driver                 | DriverManager.getConnection(url, "ada", "{P}");
java value                  | @Value("${api.key:{H}}")
kotlin const                | const val API_SECRET = "{H}"
scala                       | val dbPassword: String = "{P}"
groovy                      | def password = '{P}'
go const                    | const apiToken = "{H}"
go short                    | password := "{P}"
go raw                      | apiKey := ` + "`{H}`" + `
go header                   | req.Header.Set("X-Api-Key", "{H}")
go basic auth               | req.SetBasicAuth("ada", "{P}")
go flag                     | flag.String("password", "{P}", "the password")
rust static                 | static SECRET: &'static str = "{H}";
rust bearer                 | .bearer_auth("{H}")
rust set var                | std::env::set_var("API_KEY", "{H}");
c define                    | #define WIFI_PASSWORD "{P}"
c array                     | char password[] = "{P}";
c pointer                   | const char* api_key = "{H}";
cpp constructor             | std::string secret("{H}");
c flag                      | gcc -DAPI_KEY=\"{H}\" a.c
arduino                     | WiFi.begin("home", "{P}");
csharp property             | public string Password { get; set; } = "{P}";
csharp credential           | new NetworkCredential("ada", "{P}")
csharp verbatim             | string pwd = @"{P}";
objc                        | NSString *apiKey = @"{H}";
dart                        | const String apiKey = '{H}';
php variable                | $password = "{P}";
php pdo                     | new PDO('mysql:host=db', 'ada', '{P}');
php mysqli                  | mysqli_connect("db", "ada", "{P}", "shop");
ruby fetch                  | ENV.fetch("API_KEY", "{H}")
ruby environment            | ENV['API_TOKEN'] = '{H}'
perl scalar                 | my $password = '{P}';
perl dbi                    | DBI->connect($dsn, 'ada', '{P}');
lua                         | local api_key = "{H}"
elixir config               | config :app, secret_key_base: "{H}"
erlang tuple                | {password, "{P}"}
clojure map                 | {:password "{P}"}
lisp                        | (setq api-key "{H}")
r setenv                    | Sys.setenv(API_KEY = "{H}")
r assign                    | api_key <- "{H}"
vb                          | Dim password As String = "{P}"
pascal                      | Password := '{P}';
sas                         | connect to oracle (user=ada password="{P}");
graphql                     | mutation { login(user: "ada", password: "{P}") { id } }
makefile                    | API_KEY ?= {H}
makefile simple             | export TOKEN := {H}
cmake                       | set(API_KEY "{H}")
jenkinsfile                 | environment { API_KEY = '{H}' }
tcl                         | set password {P}
nginx                       | proxy_set_header X-Api-Key {H};
apache setenv               | SetEnv DB_PASSWORD {P}
haproxy stats               | stats auth ada:{P}
haproxy user                | user ada insecure-password {P}
asterisk                    | [100]\ntype=friend\nsecret={P}
freeswitch                  | <param name="password" value="{P}"/>
crontab                     | 0 3 * * * backup --password {P}
gitlab ci                   | variables:\n  DEPLOY_TOKEN: "{H}"
azure pipelines             | - name: apiKey\n  value: '{H}'
bicep                       | param adminPassword string = '{P}'
arm template                | "adminPassword": {"value": "{P}"}
cloudformation              | MasterUserPassword: {P}
pulumi config               | pulumi config set --secret dbPassword {P}
terraform map               | secrets = { api_key = "{H}" }
cloud-init                  | chpasswd:\n  list: |\n    root:{P}
kickstart                   | rootpw --plaintext {P}
preseed                     | d-i passwd/root-password password {P}
unattend                    | <AdministratorPassword><Value>{P}</Value></AdministratorPassword>
xml nested                  | <property name="password"><value>{P}</value></property>
xml soap                    | <wsse:Password Type="x">{P}</wsse:Password>
json nested value           | {"credentials":{"password":{"value":"{P}"}}}
json pairs                  | [["user","ada"],["password","{P}"]]
json header list            | {"headers":{"X-Api-Key":["{H}"]}}
json key value              | {"key":"token","value":"{H}","type":"string"}
yaml anchor                 | password: &pw {P}
yaml flow                   | {user: ada, password: {P}}
ini with spaces             | password = "{Q}"
env with spaces             | DB_PASSWORD='{Q}'
yaml with spaces            | api_key: '{Q}'
brackets bare               | apikey = {Y}
brackets quoted             | password = "{Y}"
letters of no ascii         | db_pass: '{U}'
prose no ascii              | the password is {U}
pkce verifier               | code_verifier={D43}
client assertion            | grant_type=client_credentials&client_assertion={H}
secret token uri            | secret-token:{H}
folded header               | Authorization: Bearer\n  {H}
goog api key                | x-goog-api-key: {H}
cookie csrf                 | Cookie: csrftoken={H}
amz token                   | X-Amz-Security-Token: {H}
log comma                   | connecting with user=ada, pass={P}, host=db
log arrow                   | password -> {P}
log brackets                | password=[{P}]
log escaped                 | msg="{\"token\":\"{H}\"}"
java to string              | User{name='ada', password='{P}'}
kotlin data                 | User(name=ada, password={P}, id=3)
go printed                  | {User:ada Password:{P} Port:22}
rust debug                  | Config { user: "ada", password: "{P}" }
ruby inspect                | #<User name: "ada", password: "{P}">
php var dump                | ["password"]=>\n  string(12) "{P}"
php print                   | [password] => {P}
csharp record               | User { Name = ada, Password = {P} }
powershell list             | UserName : ada\nPassword : {P}
columns                     | Username  ada\nPassword  {P}
html table                  | <td>Password</td><td>{P}</td>
html list                   | <dt>API key</dt><dd>{H}</dd>
markdown dash               | - **API key** – {H}
markdown cell               | | API_KEY | {H} |
csv semicolon               | user;password\nada;{P}
tsv                         | user\tpassword\nada\t{P}
csv later                   | id,name,password,role\n1,ada,{P},admin
seed phrase                 | seed phrase: {S12}
mnemonic env                | MNEMONIC="{S12}"
prose de schluessel         | dein API-Schlüssel lautet {H}
prose de zugriff            | Zugriffstoken: {H}
prose de fuer               | Passwort für den Server: {P}
prose fr cle                | clé API : {H}
prose fr jeton              | jeton d'accès : {H}
prose fr mdp                | mdp : {P}
prose es clave api          | clave de API: {H}
prose es es                 | la clave es {P}
prose pt chave              | chave de API: {H}
prose pt e                  | a senha é {P}
prose it chiave             | chiave API: {H}
prose nl sleutel            | API-sleutel: {H}
prose nl is                 | het wachtwoord is {P}
prose pl klucz              | klucz API: {H}
prose pl to                 | hasło to {P}
prose ru klyuch             | ключ API: {H}
prose ru token              | токен: {H}
prose ru dlya               | пароль для сервера: {P}
prose ru dash               | пароль — {P}
prose uk klyuch             | ключ доступу: {H}
prose tr anahtar            | API anahtarı: {H}
prose tr parola             | parola: {P}
prose ja key                | APIキー: {H}
prose ja token              | アクセストークンは{H}です
prose ja quoted             | パスワードは「{P}」です
prose zh key                | API密钥: {H}
prose zh token              | 访问令牌：{H}
prose zh kouling            | 口令: {P}
prose ko key                | API 키: {H}
prose ko is                 | 비밀번호는 {P} 입니다
prose ar key                | مفتاح API: {H}
prose hi key                | एपीआई कुंजी: {H}
prose id key                | kunci API: {H}
prose vi key                | khóa API: {H}
prose sv is                 | lösenordet är {P}
prose da is                 | adgangskoden er {P}
prose no is                 | passordet er {P}
prose fi is                 | salasana on {P}
prose cs key                | API klíč: {H}
prose hu the                | a jelszó: {P}
prose ro key                | cheie API: {H}
prose contraction           | the password's {P}
prose pw is                 | pw is {P}
prose passphrase            | with the passphrase {P}
prose words                 | passphrase: {W3}
prose my token              | my token: {H}
prose bearer is             | the bearer token is {H}
prose arrow                 | API key → {H}
prose secret here           | Here's the secret: {H}
prose login password        | login: ada password: {P}
prose user comma            | username ada, password {P}
prose creds dash            | Credentials - user: ada - pass: {P}
prose wifi                  | the wifi password is {P}
prose blank line            | The password is:\n\n    {P}\n
prose temporary             | password (temporary) is {P}
prose for root              | password for root -> {P}
prose after                 | {P} is the password
prose key equals            | key = {H}
`
