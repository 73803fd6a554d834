// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The fifth set was drawn when the rules for the fourth were done, and scored before any was changed: names of variables from examples of environments of
// public repositories (self-hosted services, agents, Spring), what rules of Sonar (RSPEC-2068, RSPEC-6418) show as hard-coded credentials, and more of the
// kinds of the fourth set. It is in the notation of the other tables.
const fifthVendor = `
AP_JWT_SECRET              [A-Za-z0-9]{32}
API_KEY_SECRET             [a-f0-9]{32}
ACCESS_TOKEN_SECRET+       [a-f0-9]{64}
CHROME_TOKEN               [a-z0-9]{24}
USER_SECRET                [A-Za-z0-9]{20}
PG_PASSWORD+               [a-z0-9]{10}
OIDC_CLIENT_SECRET+        [A-Za-z0-9]{40}
EXECUTION_TOKEN            [A-Za-z0-9_-]{32}
TELEGRAM_WEBHOOK_SECRET_TOKEN [A-Za-z0-9_-]{40}
API_KEY_PEPPER             [a-f0-9]{64}
SUPABASE_SERVICE_ROLE_KEY!+ eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJpc3MiOiJzdXBhYmFzZSIs[A-Za-z0-9_-]{90}\.[A-Za-z0-9_-]{43}
GOOGLE_SECRET_ID           GOCSPX-[A-Za-z0-9_-]{28}
POWERBI_CLIENT_SECRET      [A-Za-z0-9]{3}8Q~[A-Za-z0-9_~.-]{34}
GMAIL_APP_PASSWORD+        [a-z]{16}
REDIS_SRE_MASTER_KEY       [A-Za-z0-9+/]{43}=
LOBE_CHAT_ACCESS_CODE      [a-z]{6}[0-9]{4}
WEBUI_SECRET_KEY           [A-Za-z0-9]{16}
SEARXNG_SECRET             [a-f0-9]{64}
VAULTWARDEN_ADMIN_TOKEN    [A-Za-z0-9+/]{64}
PAPERLESS_SECRET_KEY       [A-Za-z0-9]{50}
IMMICH_API_KEY             [A-Za-z0-9]{43}
PLEX_TOKEN                 [A-Za-z0-9_-]{20}
SONARR_API_KEY             [a-f0-9]{32}
TAUTULLI_APIKEY            [a-f0-9]{32}
TMDB_READ_TOKEN!           eyJhbGciOiJIUzI1NiJ9\.eyJhdWQiOiI[A-Za-z0-9_-]{120}\.[A-Za-z0-9_-]{43}
HASS_LONG_LIVED_TOKEN!     eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJpc3MiOi[A-Za-z0-9_-]{80}\.[A-Za-z0-9_-]{43}
ZIGBEE2MQTT_AUTH           [a-z0-9]{18}
FRIGATE_RTSP_PASSWORD      [A-Za-z0-9]{10}
WG_EASY_PASSWORD_HASH      \$2y\$10\$[A-Za-z0-9./]{53}
CROWDSEC_BOUNCER_KEY       [A-Za-z0-9+/]{43}
AUTHENTIK_SECRET_KEY       [A-Za-z0-9+/]{60}
AUTHELIA_STORAGE_ENCRYPTION_KEY [A-Za-z0-9]{64}
MEILI_MASTER_KEY           [A-Za-z0-9_-]{43}
TYPESENSE_API_KEY          [A-Za-z0-9]{32}
SOLR_AUTH                  solr:[A-Za-z0-9]{14}
NEO4J_AUTH                 neo4j/[A-Za-z0-9]{12}
COUCHDB_PASSWORD           [A-Za-z0-9]{12}
ARANGO_ROOT_PASSWORD       [A-Za-z0-9]{14}
SURREAL_PASS               [a-z0-9]{12}
RETHINKDB_KEY              [A-Za-z0-9]{24}
DGRAPH_ACL_SECRET          [a-f0-9]{32}
TEMPORAL_CODEC_KEY         [a-f0-9]{64}
KONG_PG_PASSWORD           [A-Za-z0-9]{12}
TRAEFIK_PILOT_TOKEN        [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
CERTBOT_DNS_TOKEN          [A-Za-z0-9_-]{40}
DUCKDNS_TOKEN              [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}
NAMECHEAP_API_KEY          [a-f0-9]{32}
DESEC_TOKEN                [A-Za-z0-9_-]{28}
HETZNER_DNS_TOKEN          [A-Za-z0-9]{32}
B2_APPLICATION_KEY+        K00[0-9][A-Za-z0-9/+]{27}
WASABI_SECRET_KEY          [A-Za-z0-9]{40}
STORJ_ACCESS_GRANT         1[1-9A-HJ-NP-Za-km-z]{180}
RSYNC_SECRET               [a-z]{8}[0-9]{2}
SFTP_PASS                  [A-Za-z0-9!]{12}
FTP_PWD                    [A-Za-z0-9]{10}
KAFKA_SASL_PASSWORD+       [A-Za-z0-9]{24}
MQTT_PW                    [a-z0-9]{9}
NATS_CREDS_JWT             eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ\.[A-Za-z0-9_-]{160}\.[A-Za-z0-9_-]{86}
PUSHGATEWAY_BASIC_AUTH     [a-z]{5}:[A-Za-z0-9]{14}
UPTIME_KUMA_KEY            uk1_[A-Za-z0-9_-]{40}
GLITCHTIP_DSN              https://[a-f0-9]{32}@errors\.example\.com/3
LOKI_TENANT_TOKEN          [A-Za-z0-9]{32}
ALERTMANAGER_SLACK_URL!    https://hooks\.slack\.com/services/T[A-Z0-9]{8}/B[A-Z0-9]{8}/[A-Za-z0-9]{24}
JITSI_JWT_APP_SECRET       [A-Za-z0-9]{32}
COTURN_STATIC_AUTH_SECRET  [a-f0-9]{64}
LIVEBLOCKS_WEBHOOK_KEY     whsec_[A-Za-z0-9+/]{32}
SVIX_TOKEN                 sk_[A-Za-z0-9]{32}\.eu
HOOKDECK_SIGNING           [a-z0-9]{40}
CALCOM_ENCRYPTION          [A-Za-z0-9+/]{32}
DOCUSIGN_RSA_PASS          [A-Za-z0-9]{14}
OPENEXCHANGE_APP_ID_KEY    [a-f0-9]{32}
FIXER_ACCESS_KEY           [a-f0-9]{32}
AMADEUS_SECRET             [A-Za-z0-9]{16}
SKYSCANNER_APIKEY          [a-z0-9]{36}
YELP_FUSION_KEY            [A-Za-z0-9_-]{128}
SPOONACULAR_KEY            [a-f0-9]{32}
GIPHY_KEY                  [A-Za-z0-9]{32}
UNSPLASH_ACCESS            [A-Za-z0-9_-]{43}
STEAM_WEB_KEY              [A-F0-9]{32}
RIOT_API_KEY!              RGAPI-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
MINECRAFT_RCON_PASSWORD    [a-z]{6}[0-9]{3}
`

const fifthPerson = `
NL passport                 | paspoortnummer         | NPRC1B4L6 | SPECI2014
PL passport                 | numer paszportu        | ZS0000177
KR passport                 | 여권번호                   | M12345678
SE passport                 | passnummer             | 59000002
MX voter                    | clave de elector       | GMVLMR80070501M100
CO identity card            | cédula de ciudadanía   | 1.020.304.050
BO identity card            | carnet de identidad    | 4567890
PY identity card            | cédula de identidad    | 3.456.789
DE tax number               | Steuernummer           | 21/815/08150
FR fiscal                   | numéro fiscal          | 30 23 217 600 053
US EIN                      | employer identification number | 12-3456789
US green card               | alien registration number | A123-456-789
US Medicaid                 | medicaid id            | AB12345C
GB drivers                  | driving licence        | MORGA753116SM9IJ
CA health                   | health insurance number | 1234567890
NO passport                 | passnummer             | 30001234
FI driving licence          | ajokortin numero       | 010190-123A
IN driving licence          | driving licence no     | MH1420110062821
JP driving licence          | 運転免許証番号                | 301234567890
JP insurance                | 保険証番号                  | 12345678
CN bank card                | 银行卡号                   | 6222 0210 0100 3456 789
phone FI                    | puhelinnumero          | 040 123 4567
phone NO                    | mobilnummer            | 412 34 567
phone GR                    | τηλέφωνο               | 694 123 4567
phone EG                    | رقم الهاتف             | 010 1234 5678
phone CH                    | Mobile                 | 079 123 45 67
`

const fifthText = `
spring oauth                | spring.security.oauth2.client.registration.google.client-secret={H}
spring yaml jwt             | jwt:\n  secret:\n    key: {H}
quarkus                     | quarkus.datasource.password={P}
micronaut                   | micronaut.security.token.jwt.signatures.secret.generator.secret: {H}
concat                      | String url = "jdbc:mysql://db/test?" + "user=steve&password={P}";
user and password           | usernamePassword = "user=admin&password={P}"
const vb                    | Const ApiKey = "{H}"
ruby rails                  | Rails.application.credentials.secret_key_base = "{H}"
django                      | SECRET_KEY = '{Y}'
flask config                | app.config['SECRET_KEY'] = '{H}'
flask secret                | app.secret_key = b'{H}'
express session             | app.use(session({ secret: '{H}', resave: false }))
cookie parser               | app.use(cookieParser('{H}'))
passport js                 | clientSecret: "{H}",
node crypto                 | crypto.createCipheriv('aes-256-cbc', '{H}', iv)
pbkdf2                      | hashlib.pbkdf2_hmac('sha256', b'{P}', salt, 100000)
fernet                      | Fernet(b'{K44}')
psycopg                     | psycopg2.connect("dbname=shop user=ada password={P}")
pymongo                     | MongoClient("mongodb://ada:{P}@db:27017")
mysql connector             | mysql.connector.connect(host="db", user="ada", passwd="{P}")
redis py                    | redis.Redis(host="cache", password="{P}")
boto                        | boto3.client("s3", aws_secret_access_key="{H}")
openai client               | OpenAI(api_key="{H}")
axios auth                  | auth: { username: 'ada', password: '{P}' }
knex                        | connection: { host: 'db', user: 'ada', password: '{P}' }
typeorm                     | TypeOrmModule.forRoot({ type: 'mysql', password: '{P}' })
gorm                        | dsn := "host=db user=ada password={P} dbname=shop"
sqlx                        | PgPool::connect("postgres://ada:{P}@db/shop")
ecto                        | password: System.get_env("DB_PASS") || "{P}",
laravel                     | 'password' => env('DB_PASSWORD', '{P}'),
symfony                     | DATABASE_URL="mysql://ada:{P}@db:3306/shop"
wordpress                   | define( 'AUTH_KEY', '{X64}' );
drupal                      | $settings['hash_salt'] = '{X64}';
magento                     | 'crypt' => ['key' => '{X32}'],
codeigniter                 | $db['default']['password'] = '{P}';
aspnet                      | "Jwt": { "Key": "{H}" }
web config                  | <add name="Db" connectionString="Server=db;User Id=sa;Password={P}" />
machine key                 | <machineKey validationKey="{X64}" decryptionKey="{X64}" />
android gradle              | buildConfigField "String", "API_KEY", "\\"{H}\\""
android strings             | <string name="google_maps_key">{H}</string>
ios plist                   | <key>ClientSecret</key><string>{H}</string>
flutter define              | flutter run --dart-define=API_KEY={H}
electron                    | autoUpdater.setFeedURL({ token: "{H}" })
unity                       | PlayerPrefs.SetString("password", "{P}");
mail client                 | MAIL FROM login ada secret {P}
airflow                     | airflow connections add db --conn-password {P}
dbt                         | pass: "{P}"
superset                    | fab create-admin --username ada --password {P}
grafana cli                 | grafana-cli admin reset-admin-password {P}
jenkins secret              | <secret>{H}</secret>
sonar scanner               | sonar-scanner -Dsonar.login={H}
gradle publish              | mavenPassword={P}
npm publish                 | NODE_AUTH_TOKEN={H} npm publish
pip conf                    | extra-index-url = https://__token__:{H}@pypi.example.com/simple
conda                       | https://conda.example.com/t/{H}/channel
docker compose secret       | secrets:\n  db_password:\n    environment: {P}
traefik label               | traefik.http.middlewares.auth.basicauth.users=ada:$apr1$abcdefgh${A22}
nginx auth                  | auth_basic_password {P};
postgres hba                | ALTER ROLE ada PASSWORD '{P}' VALID UNTIL 'infinity';
mongosh create              | db.changeUserPassword("ada", "{P}")
elastic create              | bin/elasticsearch-users useradd ada -p {P}
kafka scram                 | SCRAM-SHA-512=[password={P}]
vault approle               | vault write auth/approle/login role_id=x secret_id={H}
cloudflared                 | cloudflared service install {J}
aws cli env                 | AWS_SESSION_TOKEN={J} aws s3 ls
gcloud auth                 | gcloud auth print-access-token: ya29.{D43}
az storage                  | az storage blob list --account-key {B}
doctl                       | doctl auth init -t {H}
hcloud                      | hcloud context create x --token {H}
linode cli                  | linode-cli configure --token {H}
ssh passphrase prompt       | Enter passphrase for key 'id_rsa': {P}
password prompt             | Password for ada@host: {P}
prompt sudo                 | [sudo] password for ada: {P}
login prompt                | login: ada\nPassword: {P}
prose el is                 | ο κωδικός είναι {P}
prose ro is                 | parola ta este: {P}
prose hu is                 | az új jelszó: {P}
prose tr is                 | yeni şifreniz: {P}
prose vi is                 | mật khẩu là {P}
prose id is                 | kata sandinya adalah {P}
prose th is                 | รหัสผ่านคือ {P}
prose he is                 | הסיסמה היא {P}
prose ar is                 | كلمة المرور هي {P}
prose fa is                 | رمز عبور جدید: {P}
prose hi is                 | पासवर्ड है {P}
prose it nuova              | la nuova password: {P}
prose fr nouveau            | nouveau mot de passe : {P}
prose pl nowe               | nowe hasło: {P}
prose ru novyj              | новый пароль: {P}
prose zh new                | 新密码：{P}
prose ja new                | 新しいパスワード：{P}
prose ko new                | 새 비밀번호: {P}
prose slack                 | pw: ` + "`{P}`" + ` for staging
prose dm                    | hey, pass is {P} btw
prose works                 | this password works: {P}
prose try                   | try {P} for the password
prose login as              | log in as ada with {P}
prose token below           | Here is your token:\n{H}\n
prose keep                  | API Secret (keep it safe): {H}
prose shown once            | Your secret access key will be shown once: {H}
`
