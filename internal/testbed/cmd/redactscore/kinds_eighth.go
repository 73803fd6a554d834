// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The eighth set was drawn before any rule was changed for it, from sources that no set had used: the credential types of n8n and the secret fields of Airbyte's
// connectors (names), sensitive arguments of Terraform providers, secureJsonData of Grafana's data sources, arguments that modules of Ansible do not log,
// configuration of Home Assistant, first lines of READMEs of SDKs in a dozen languages, commands of cloud consoles, infoTypes of Google Cloud's data loss
// prevention, how people hand over a password in a chat in thirty languages. Its values stand in places of its own (places_eighth.go). Two halves were drawn
// by the hash of the name; the second was scored once, when everything was done. It is in the notation of the other tables.
const eighthVendor = `
ACTIVECAMPAIGN_API_KEY     [0-9a-f]{72}
ACUITY_USER_API_KEY        [0-9a-f]{32}
ADALO_API_KEY              [0-9a-z]{25}
AFFINITY_API_KEY           [A-Za-z0-9_-]{43}
AGILECRM_API_KEY           [0-9a-z]{26}
BUBBLE_API_TOKEN           [0-9a-f]{32}
COCKPIT_ACCESS_TOKEN       API-[0-9a-f]{40}
COPPER_API_KEY             [0-9a-f]{32}
CORTEX_API_KEY             [A-Za-z0-9+/]{32}
DEMIO_API_SECRET           [A-Za-z0-9]{22}
DHL_API_KEY                [A-Za-z0-9]{32}
DISCOURSE_API_KEY          [0-9a-f]{64}
DRIFT_ACCESS_TOKEN         [A-Za-z0-9]{32}
EGOI_API_KEY               [0-9a-f]{40}
EVENTBRITE_OAUTH_TOKEN     [A-Z0-9]{20}
FORMSTACK_ACCESS_TOKEN     [0-9a-f]{32}
FRESHSERVICE_API_KEY       [A-Za-z0-9]{20}
GONG_ACCESS_KEY_SECRET     eyJhbGciOiJIUzI1NiJ9\.[A-Za-z0-9_-]{90}\.[A-Za-z0-9_-]{43}
GRIST_API_KEY              [0-9a-f]{40}
HALOPSA_CLIENT_SECRET      [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
HARVEST_ACCESS_TOKEN       [0-9]{7}\.pt\.[A-Za-z0-9_-]{86}
HELPSCOUT_APP_SECRET       [A-Za-z0-9]{32}
HIGHLEVEL_API_KEY          pit-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
HUMANTIC_API_KEY           chrexec_[0-9a-f]{32}
ITERABLE_API_KEY+          [0-9a-f]{32}
KOBOTOOLBOX_TOKEN          [0-9a-f]{40}
LEMLIST_API_KEY            [0-9a-f]{32}
LINGVANEX_API_KEY          a_[A-Za-z0-9]{60}
MAILERLITE_API_KEY+        [0-9a-f]{32}
MAILCHECK_API_KEY          [A-Za-z0-9]{40}
MARKETSTACK_API_KEY        [0-9a-f]{32}
MAUTIC_CLIENT_SECRET       [0-9a-z]{50}
MINDEE_API_KEY             md_[A-Za-z0-9]{32}
MISP_API_KEY               [A-Za-z0-9]{40}
MOCEAN_API_SECRET          [A-Za-z0-9]{12}
MONICA_API_TOKEN           eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9\.[A-Za-z0-9_-]{120}\.[A-Za-z0-9_-]{86}
MSG91_AUTHKEY              [0-9]{6}A[A-Za-z0-9]{18}P1
NOCODB_TOKEN               [A-Za-z0-9_-]{40}
OPENCTI_TOKEN              [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
ORBIT_ACCESS_TOKEN         obu_[A-Za-z0-9]{32}
OURA_PERSONAL_TOKEN        [A-Z2-7]{32}
PEEKALINK_API_KEY          [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
PHANTOMBUSTER_API_KEY      [A-Za-z0-9]{43}
PROFITWELL_ACCESS_TOKEN    [0-9a-f]{32}
PUSHCUT_API_KEY            [A-Za-z0-9_-]{22}
QUALYS_PASSWORD            [A-Z][a-z]{4}[0-9]{4}!
QUICKBASE_USER_TOKEN       b[0-9a-z]{5}_[0-9a-z]{4}_0_[0-9a-z]{26}
RAINDROP_TEST_TOKEN        [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
SALESMATE_SESSION_TOKEN    [0-9a-f]{8}-[0-9a-f]{4}-11ee-[89ab][0-9a-f]{3}-[0-9a-f]{12}
SEATABLE_BASE_TOKEN        [0-9a-f]{40}
SECURITYSCORECARD_KEY      [A-Za-z0-9]{40}
SEKOIA_API_KEY             [A-Za-z0-9]{64}
SENDY_API_KEY              [A-Za-z0-9]{20}
SIGNL4_TEAM_SECRET         [a-z0-9]{10}
SPONTIT_API_KEY            [A-Z0-9]{80}
STACKBY_API_KEY            [a-z0-9]{32}
SYNCROMSP_API_KEY          T[0-9a-f]{16}-[0-9a-f]{32}
TAPFILIATE_API_KEY         [0-9a-f]{40}
THEHIVE_API_KEY            [A-Za-z0-9+/]{32}
UNLEASHED_API_KEY          [A-Za-z0-9+/]{84}==
UPLEAD_API_KEY             [0-9a-f]{32}
UPROC_API_KEY              [0-9a-f]{48}
VERO_AUTH_TOKEN            [A-Za-z0-9+/]{58}==
WORKABLE_ACCESS_TOKEN      [A-Za-z0-9_-]{43}
WUFOO_API_KEY              [A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}
YOURLS_SIGNATURE_TOKEN     [0-9a-f]{10}
ZABBIX_AUTH_TOKEN          [0-9a-f]{64}
ZAMMAD_ACCESS_TOKEN        [A-Za-z0-9_-]{64}
ZSCALER_API_KEY            [A-Za-z0-9]{12}
APPFOLLOW_API_SECRET       [A-Za-z0-9]{40}
APPLE_SEARCH_ADS_SECRET    eyJhbGciOiJFUzI1NiIsImtpZCI6[A-Za-z0-9_-]{40}\.[A-Za-z0-9_-]{140}\.[A-Za-z0-9_-]{86}
BAMBOOHR_API_KEY           [0-9a-f]{40}
BRAZE_REST_API_KEY+        [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
CHARTMOGUL_API_KEY         [0-9a-f]{32}
COINGECKO_API_KEY          CG-[A-Za-z0-9]{24}
DIXA_API_TOKEN             eyJhbGciOiJIUzI1NiJ9\.[A-Za-z0-9_-]{160}\.[A-Za-z0-9_-]{43}
DREMIO_PAT                 [A-Za-z0-9+/]{86}==
EXCHANGE_RATES_KEY         [A-Za-z0-9]{32}
GAINSIGHT_ACCESS_KEY       [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
GNEWS_API_KEY              [0-9a-f]{32}
GREENHOUSE_HARVEST_KEY     [0-9a-f]{32}-[0-9]
HUBPLANNER_API_KEY         [A-Za-z0-9+/]{60}
INSIGHTLY_TOKEN            [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
KLARNA_PASSWORD            [A-Za-z0-9]{16}
LEVER_API_KEY              [A-Za-z0-9+/]{48}
MY_HOURS_PASSWORD          [a-z]{6}[0-9]{3}[A-Z]
NETSUITE_TOKEN_SECRET      [0-9a-f]{64}
NYLAS_GRANT_KEY            nyk_v0_[A-Za-z0-9]{64}
OMETRIA_API_KEY            [0-9a-f]{32}
PERSISTIQ_API_KEY          [A-Za-z0-9]{32}
PLAID_CLIENT_SANDBOX_SECRET [0-9a-f]{30}
QUALAROO_API_KEY           [0-9a-f]{32}
RECHARGE_ACCESS_TOKEN      sk_1x1_[0-9a-f]{64}
RETENTLY_API_KEY           [0-9a-f]{32}
RKI_RATELIMIT_BYPASS_KEY   [A-Za-z0-9]{24}
SCRYFALL_PROXY_PASS        [A-Za-z0-9]{14}
SEARCHMETRICS_CLIENT_SECRET [0-9a-f]{40}
SENSEFORCE_ACCESS_TOKEN    [A-Za-z0-9]{64}
SHORTIO_SECRET_KEY         sk_[A-Za-z0-9]{32}
SMAILY_API_PASSWORD        [A-Za-z0-9]{32}
SONARCLOUD_USER_TOKEN      [0-9a-f]{40}
TEMPO_API_TOKEN            [A-Za-z0-9]{30}-us
TICKETMASTER_API_KEY       [A-Za-z0-9]{32}
TYROX_ENC_PASSPHRASE       [a-z]{5}-[a-z]{6}-[a-z]{4}-[0-9]{3}
VITALLY_API_TOKEN          sk_live_[A-Za-z0-9]{40}
WHISKY_HUNTER_KEY          [0-9a-f]{40}
WRIKE_PERMANENT_TOKEN      eyJ0dCI6InAiLCJhbGciOiJIUzI1NiIsInR2IjoiMSJ9\.[A-Za-z0-9_-]{120}\.[A-Za-z0-9_-]{43}
XERO_CLIENT_SECRET+        [A-Za-z0-9_-]{48}
ZENLOOP_API_TOKEN          eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9\.[A-Za-z0-9_-]{200}\.[A-Za-z0-9_-]{86}
NUTANIX_PASSWORD           [A-Z][a-z]{5}/[0-9]{2}[a-z]
VSPHERE_PASSWORD+          [A-Z][a-z]{5}@[0-9]{3}
PANOS_API_KEY              LUFRPT1[A-Za-z0-9+/]{60}=
FORTIOS_ACCESS_TOKEN       [A-Za-z0-9]{30}
CHECKPOINT_SESSION_KEY     [A-Za-z0-9_-]{43}
UNIFI_API_KEY              [A-Za-z0-9_-]{32}
MIKROTIK_PASSWORD          [a-z]{4}[0-9]{4}[A-Z]
MERAKI_DASHBOARD_API_KEY+  [0-9a-f]{40}
LINODE_ROOT_PASS           [A-Za-z0-9]{18}
OPENSTACK_APPLICATION_CREDENTIAL_SECRET [A-Za-z0-9_-]{86}
GRIDSCALE_TOKEN            [0-9a-f]{64}
HCLOUD_ROBOT_PASSWORD      [A-Za-z0-9]{12}
POWERDNS_API_KEY           [A-Za-z0-9]{24}
GANDI_PERSONAL_ACCESS_TOKEN [0-9a-f]{40}
NS1_APIKEY                 [A-Za-z0-9]{20}
TRANSIP_PRIVATE_TOKEN      eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzUxMiJ9\.[A-Za-z0-9_-]{120}\.[A-Za-z0-9_-]{86}
RANCHER2_SECRET_KEY        [a-z0-9]{54}
VERCEL_EDGE_BYPASS_SECRET  [A-Za-z0-9]{32}
GRAFANA_CLOUD_ACCESS_POLICY_TOKEN! glc_eyJ[A-Za-z0-9]{120}==
SPLUNK_OBSERVABILITY_TOKEN [A-Za-z0-9_-]{22}
ELASTICACHE_AUTH_TOKEN+    [A-Za-z0-9]{32}
RDS_MASTER_PASSWORD+       [A-Za-z0-9]{20}
COGNITO_CLIENT_SECRET+     [a-z0-9]{52}
HOMEASSISTANT_WEBHOOK_KEY  [0-9a-f]{64}
TADO_PASSWORD              [A-Z][a-z]{6}[0-9]{2}
ROBOROCK_LOCAL_KEY         [A-Za-z0-9]{16}
ECOBEE_API_KEY             [A-Za-z0-9]{32}
NETATMO_CLIENT_SECRET      [A-Za-z0-9]{30}
OPENSKY_PASSWORD           [a-z]{7}[0-9]{2}
SMARTTHINGS_PAT            [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
`

const eighthPerson = `
AM passport                 | passport number        | AN0412345
AZ passport DLP             | pasport nömrəsi        | C01234567
BY passport                 | пашпарт                | MP1234567
GE passport                 | პასპორტის ნომერი       | 12AB34567
KZ passport                 | төлқұжат нөмірі        | N12345678
UZ passport                 | pasport raqami         | AA1234567
NL passport DLP             | paspoortnummer         | SPR02KL29
ES affiliation              | número de afiliación a la seguridad social | 281234567840
FR CNI                      | numéro de carte d'identité | 880692310285
FR driving DLP              | numéro de permis de conduire | 911091204928
FR passport DLP             | numéro de passeport    | 12AB34567
FR SPI                      | numéro fiscal          | 30 23 217 600 053
DE identity DLP             | Personalausweisnummer  | L01X00T47
DE schufa                   | SCHUFA-ID              | 00123456789
DE pension                  | Rentenversicherungsnummer | 15070649C103
CH health card              | Versichertenkarte Nr.  | 80756012345678901234
IT driving                  | numero patente         | U1A34567BC
IE PPSN                     | PPS number             | 1234567FA
IE passport DLP             | passport no.           | PA1234567
GB driving DLP              | driver number          | MORGA657054SM9IJ
GB passport DLP             | passport number        | 925665416
CA BC PHN                   | personal health number | 9876 543 217
CA Quebec HIN               | numéro d'assurance maladie | TREM 7205 1811
CA driving                  | driver's licence number | A1234-56789-01234
CA passport DLP             | passport               | AB123456
US driving DLP              | driver license number  | D12345678
US passport DLP             | passport number        | C12345678
US ATIN                     | ATIN                   | 900-93-1234
US DoD                      | DoD ID number          | 1234567890
US preparer PTIN            | PTIN                   | P01234567
MX passport DLP             | número de pasaporte    | G12345678
MX INE                      | clave de elector       | GMVLMR80070501M100
BR CNS                      | cartão nacional de saúde | 7000 0080 7461 0003
CO cedula                   | cédula de ciudadanía   | 1.020.304.050
PE CE                       | carné de extranjería   | 001234567
CL driving                  | licencia de conducir   | 12345678-5
UY CI                       | cédula de identidad    | 1.234.567-2
PY CI                       | cédula                 | 4.567.890
BO CI                       | carnet de identidad    | 5648372 LP
VE CI                       | cédula                 | V-12345678
EC passport                 | pasaporte              | A1234567
AU passport DLP             | passport number        | PA0940443
AU driving DLP              | driver's licence       | 12345678
NZ NHI                      | NHI number             | ZAC5361
JP passport DLP             | パスポート番号         | TK1234567
JP my number                | マイナンバー           | 1234 5678 9018
KR passport DLP             | 여권번호               | M12345678
KR NHI                      | 건강보험증 번호        | 12345678901
CN passport DLP             | 护照号码               | E12345678
CN driving                  | 驾驶证号               | 110105199003078515
TW NHI card                 | 健保卡號               | 000012345678
HK travel                   | 回鄉證號碼             | H1234567801
SG FIN DLP                  | FIN number             | G1234567X
MY IC                       | no kad pengenalan      | 900307-14-5677
TH laser code               | รหัสหลังบัตร           | JT9-1234567-89
VN CCCD                     | số CCCD                | 001090012345
PH passport                 | passport no.           | P1234567A
PH UMID                     | CRN                    | 0111-2345678-9
ID passport DLP             | nomor paspor           | A1234567
ID BPJS                     | nomor BPJS             | 0001234567890
IN passport DLP             | passport number        | J8369854
LK NIC                      | NIC number             | 853400937V
BD NID                      | জাতীয় পরিচয়পত্র নম্বর  | 1990123456789
ZA driving                  | driver's licence no    | 123400056AB7
NG NIN                      | NIN                    | 12345678901
KE ID                       | national ID            | 24567890
EG ID                       | الرقم القومي           | 29001011234567
AE passport                 | رقم جواز السفر         | A1234567
QA id                       | البطاقة الشخصية        | 29063412345
IR card                     | شماره کارت             | 6037 9911 1111 1113
IL driving                  | מספר רישיון נהיגה      | 1234567
TR TCKN                     | T.C. kimlik numarası   | 10000000146
RS JMBG                     | ЈМБГ                   | 0101990710008
ICCID                       | ICCID                  | 8944500102198304826
IMSI                        | IMSI                   | 262012345678901
MAC user                    | emergency contact phone | 0171 2345678
phone whatsapp              | whatsapp               | +55 11 96123-4567
phone SA                    | جوال                   | 050 123 4567
IBAN plain NL               | bankrekening           | NL91ABNA0417164300
card amex                   | card                   | 3782 822463 10005
card mir                    | номер карты            | 2200 0000 0000 0004
mail idn                    | correo                 | jfake@correo.example.es
`

const eighthText = `
tf provider                 | provider "vsphere" {\n  user     = "ada"\n  password = "{P}"\n}
tf variable                 | variable "db_root" {\n  type      = string\n  sensitive = true\n  default   = "{P}"\n}
tf tfvars                   | master_password = "{P}"
tf backend                  | terraform init -backend-config="access_key={A40}"
tf random state             | "attributes": {"id": "none", "length": 16, "result": "{H}", "special": true}, "type": "random_password"
tf output                   | Outputs:\n\nadmin_password = "{P}"
tf apply var                | terraform apply -var db_password={P} -auto-approve
ansible no_log              | - community.mysql.mysql_user:\n    name: ada\n    login_password: {P}
ansible uri                 | - uri:\n    url: https://x.example.com\n    url_username: ada\n    url_password: "{P}"
ansible user                | - user:\n    name: ada\n    password: "{{ '{P}' | password_hash('sha512') }}"
ansible win                 | - win_domain_user:\n    name: ada\n    password: {P}\n    domain_password: x
k8s stringData              | kind: Secret\nstringData:\n  admin: {P}
k8s data                    | kind: Secret\ndata:\n  tls-pass: {B}
k8s env value               | env:\n- name: PGPASSWORD\n  value: "{P}"
helm set string             | helm upgrade x ./c --set-string auth.rootPassword={P}
kustomize literal           | secretGenerator:\n- name: x\n  literals:\n  - token={H}
kubectl set env             | kubectl set env deploy/x SIGNING={H}
kubectl config              | kubectl config set-credentials ada --password={P}
kubectl bearer              | kubectl --token={J} get pods
flux bootstrap              | flux bootstrap git --url=https://x --password={H}
gcloud secret               | echo -n "{P}" | gcloud secrets create x --data-file=-
az sp                       | az login --service-principal -u {X32} -p {D43} --tenant x
aws secretsmanager          | aws secretsmanager create-secret --name x --secret-string {P}
aws ssm put                 | aws ssm put-parameter --name /x/db --type SecureString --value {P}
doctl auth                  | doctl auth init -t {X64}
ibmcloud login              | ibmcloud login --apikey {D43}
wrangler secret             | echo {H} | wrangler secret put SIGNING
vercel env                  | printf "{H}" | vercel env add SIGNING production
railway var                 | railway variables --set "ROOT_PASS={P}"
supabase login              | supabase link --project-ref x --password {P}
ha secrets                  | wifi_password: {P}\nota_password: x
ha mqtt                     | mqtt:\n  broker: 198.51.100.7\n  username: ada\n  password: {P}
ha camera                   | camera:\n  - platform: generic\n    still_image_url: http://ada:{Z}@198.51.100.7/snap.jpg
ha rest command             | headers:\n  x-ha-access: {H}
esphome ap                  | wifi:\n  ssid: home\n  password: "{P}"\n  ap:\n    ssid: fb
grafana secure              | secureJsonData:\n  basicAuthPassword: {P}
grafana http header         | secureJsonData:\n  httpHeaderValue1: "Bearer {H}"
grafana ldap                | bind_dn = "cn=admin"\nbind_password = '{P}'
grafana smtp                | GF_SMTP_PASSWORD={P}
prom basic                  | basic_auth:\n  username: ada\n  password: {P}
prom bearer                 | authorization:\n  credentials: {H}
prom alertmanager           | smtp_auth_username: ada\nsmtp_auth_password: '{P}'
prom pagerduty              | pagerduty_configs:\n- routing_key: {X32}
prom opsgenie               | opsgenie_configs:\n- api_key: {X32}
loki client                 | clients:\n- url: https://ada:{P}@logs.example.com/push
otel exporter               | exporters:\n  otlphttp:\n    headers:\n      x-honeycomb-team: {X32}
otel headers env            | OTEL_EXPORTER_OTLP_HEADERS="x-api-key={H},x-t=1"
fluentbit                   | [OUTPUT]\n    Name es\n    HTTP_User ada\n    HTTP_Passwd {P}
vector sink                 | [sinks.x.auth]\nstrategy = "basic"\nuser = "ada"\npassword = "{P}"
rsyslog mysql               | action(type="ommysql" server="db" uid="ada" pwd="{P}")
sdk py openai               | client = OpenAI(api_key="{H}")
sdk py kwargs               | sdk.Client(host="x", user="ada", passwd="{P}")
sdk py environ              | os.environ["SERVICE_SIGNING"] = "{H}"
sdk py dict                 | config = dict(user='ada', password='{P}', port=1)
sdk py tuple                | session.auth = ("ada", "{P}")
sdk py paramiko             | ssh.connect("host1", username="ada", password="{P}")
sdk py psycopg              | psycopg2.connect("dbname=x user=ada password={P}")
sdk py redis                | redis.Redis(host="h", port=1, password="{P}")
sdk py snowflake            | snowflake.connector.connect(user='ada', password='{P}', account='x')
sdk js new                  | const c = new Client({ apiKey: '{H}' });
sdk js header               | axios.defaults.headers.common['Authorization'] = 'Token {H}';
sdk js mysql                | mysql.createConnection({ host: 'h', user: 'ada', password: '{P}' })
sdk js mongoose             | mongoose.connect('mongodb://ada:{Z}@db.example.com:27017/x')
sdk js init                 | Sdk.init("{H}");
sdk js nodemailer           | nodemailer.createTransport({ auth: { user: 'ada', pass: '{P}' } })
sdk js jwt                  | jwt.sign({ id: 1 }, '{H}')
sdk go option               | client := sdk.NewClient(option.WithAPIKey("{H}"))
sdk go struct               | cfg := Config{User: "ada", Password: "{P}"}
sdk go basic                | req.SetBasicAuth("ada", "{P}")
sdk go header               | req.Header.Set("X-Auth-Token", "{H}")
sdk go setenv               | os.Setenv("DB_PASSWORD", "{P}")
sdk ruby configure          | Sdk.configure { |c| c.api_key = '{H}' }
sdk ruby hash               | Client.new(:username => 'ada', :password => '{P}')
sdk ruby rocket env         | ENV['SIGNING_SECRET'] = '{H}'
sdk php new                 | $c = new Client(['username' => 'ada', 'password' => '{P}']);
sdk php pdo                 | new PDO('mysql:host=h;dbname=x', 'ada', '{P}');
sdk php mysqli              | mysqli_connect("h", "ada", "{P}", "x");
sdk php set                 | $sdk->setApiKey('{H}');
sdk php putenv              | putenv("MAILER_PASSWORD={P}");
sdk java builder            | Client.builder().username("ada").password("{P}").build();
sdk java props              | props.setProperty("password", "{P}");
sdk java final              | private static final String PASSWORD = "{P}";
sdk java basic              | AWSCredentials c = new BasicAWSCredentials("{X20}", "{A40}");
sdk java authn              | new UsernamePasswordCredentials("ada", "{P}".toCharArray())
sdk java value              | @Value("${db.password:{P}}")
sdk kotlin                  | val apiKey = "{H}"
sdk kotlin gradle           | buildConfigField("String", "API_KEY", "\"{H}\"")
sdk swift                   | let secretKey = "{H}"
sdk objc                    | static NSString *const kApiSecret = @"{H}";
sdk csharp options          | services.Configure<Smtp>(o => { o.User = "ada"; o.Password = "{P}"; });
sdk csharp network          | new NetworkCredential("ada", "{P}")
sdk csharp sql              | new SqlConnection("Server=h;Database=x;User Id=ada;Password={P};")
sdk rust                    | let client = Client::new().with_api_key("{H}");
sdk rust const              | const DB_PASS: &str = "{P}";
sdk elixir                  | config :app, App.Repo, username: "ada", password: "{P}"
sdk perl dbi                | DBI->connect("dbi:mysql:x", "ada", "{P}");
sdk r                       | dbConnect(drv, user = "ada", password = "{P}")
sdk matlab                  | conn = database("x","ada","{P}");
sdk scala                   | val conf = new Conf().set("fs.s3a.secret.key", "{A40}")
sdk dart                    | final apiKey = '{H}';
sdk lua                     | local db_pass = "{P}"
sdk cpp                     | const char* password = "{P}";
sdk arduino                 | #define WIFI_PASS "{P}"
sdk vb                      | cn.Open "Provider=SQLOLEDB;User ID=ada;Password={P};"
sdk clojure                 | {:user "ada" :password "{P}"}
sdk julia                   | LibPQ.Connection("host=h user=ada password={P}")
sdk haskell                 | connectInfo { connectUser = "ada", connectPassword = "{P}" }
spark conf                  | spark-submit --conf spark.ssl.keyStorePassword={P} x.jar
hadoop jceks                | <property><name>fs.s3a.secret.key</name><value>{A40}</value></property>
kafka ssl                   | ssl.keystore.password={P}
zookeeper digest            | addauth digest ada:{P}
rabbit uri                  | amqps://ada:{P}@mq.example.com/vhost
nats url                    | nats://{H}@nats.example.com:4222
clickhouse cli              | clickhouse-client -u ada --password {P} -q "select 1"
trino cli                   | TRINO_PASSWORD={P} trino --user ada --password
impala                      | impala-shell -l -u ada --ldap_password_cmd="echo -n {P}"
cqlsh                       | cqlsh h 9042 -u ada -p {P}
couchbase cli               | couchbase-cli bucket-list -c h -u ada -p {P}
arangosh                    | arangosh --server.username ada --server.password {P}
neo4j shell                 | cypher-shell -u neo4j -p {P}
redis uri                   | redis-cli -u redis://default:{P}@h:6379
mongosh uri                 | mongosh "mongodb+srv://ada:{Z}@c.example.com/x"
pg dump                     | PGPASSWORD={P} pg_dump -h h -U ada x
mysql config editor         | [client]\nuser=ada\npassword="{P}"
mssql tools                 | bcp x out f.csv -S h -U ada -P {P}
db2                         | CONNECT TO x USER ada USING {P}
sap hdbsql                  | hdbsql -n h:1 -u ada -p {P}
openvpn creds               | auth-user-pass:\nada\n{P}
wireguard conf              | [Interface]\nPrivateKey = {K44}\nAddress = 10.0.0.2/32
strongswan                  | ada : EAP "{P}"
nmcli wifi                  | nmcli dev wifi connect home password {P}
netsh wlan xml              | <sharedKey><keyType>passPhrase</keyType><keyMaterial>{P}</keyMaterial></sharedKey>
cifs mount                  | mount -t cifs //h/x /m -o username=ada,password={P}
lftp url                    | lftp sftp://ada:{P}@h.example.com
hg                          | [auth]\nx.prefix = hg.example.com\nx.username = ada\nx.password = {P}
git credential store        | protocol=https\nhost=git.example.com\nusername=ada\npassword={H}
gh auth                     | echo {H} | gh auth login --with-token
glab auth                   | glab auth login --token {H}
poetry                      | poetry config pypi-token.pypi {H}
npm config set              | npm config set //r.example.com/:_authToken {H}
yarn npmrc                  | npmRegistries:\n  //r.example.com:\n    npmAuthToken: {H}
nuget push                  | dotnet nuget push a.nupkg --api-key {H}
nuget config                | <add key="ClearTextPassword" value="{P}" />
buildah                     | buildah push --creds=ada:{P} x docker://r
jenkins groovy              | new StringCredentialsImpl(CredentialsScope.GLOBAL, "id", "d", Secret.fromString("{H}"))
gitlab ci var               | variables:\n  DEPLOY_SIGNING: "{H}"
circle context              | environment:\n  NPM_PASS: {P}
teamcity param              | <param name="secure:pass" value="{P}" />
sonar props                 | sonar.login={X40}
wp config                   | define('NONCE_KEY', '{H}');
typo3                       | 'encryptionKey' => '{X64}'
symfony env                 | APP_SECRET={X32}
django settings             | SECRET_KEY = '{H}'
rails database              | production:\n  username: ada\n  password: {P}
phoenix                     | secret_key_base: "{S6}"
spring jasypt               | jasypt.encryptor.password={P}
jboss vault                 | <security-domain><authentication><login-module><module-option name="bindCredential" value="{P}"/></login-module></authentication></security-domain>
weblogic                    | connect('weblogic', '{P}', 't3://h:7001')
websphere                   | wsadmin.sh -user ada -password {P}
ldapsearch bind             | ldapsearch -x -D cn=admin -w {P} -b dc=x
openldap conf               | rootpw {P}
sssd                        | ldap_default_authtok = {P}
dovecot                     | ada:{PLAIN}{P}
swaks                       | swaks --to a@example.com --auth-user ada --auth-password {P}
smtp session                | AUTH LOGIN\nYWRh\n{B}
imap session                | a1 LOGIN ada {P}
pop session                 | USER ada\nPASS {P}
telnet session              | login: ada\nPassword: {P}\n$
ftp session                 | 331 Password required for ada\n> PASS {P}
sip digest                  | secret={P}\nhost=dynamic
ami                         | Action: Login\nUsername: ada\nSecret: {P}
esxi                        | vim-cmd vmsvc; govc -u ada:{P}@vc.example.com ls
ipmitool                    | ipmitool -I lanplus -H h -U ada -P {P} chassis status
racadm                      | racadm -r h -u root -p {P} getsysinfo
snmpget                     | snmpget -v2c -c {Z} h sysDescr.0
tacacs                      | tacacs-server key {Z}
radius test                 | radtest ada {P} h 0 testing123
juniper psk                 | set security ike policy p pre-shared-key ascii-text "{P}"
mikrotik user               | /user add name=ada password={P} group=full
unattend xml                | <AutoLogon><Password><Value>{P}</Value></Password></AutoLogon>
powershell plain            | $pass = '{P}'
powershell invoke           | Invoke-RestMethod -Headers @{ 'X-Api-Key' = '{H}' } -Uri x
rdp file                    | cmdkey /generic:TERMSRV/h /user:ada /pass:{P}
macos sec                   | security unlock-keychain -p {P} login.keychain
notarytool                  | xcrun notarytool submit a.zip --apple-id ada@example.com --password {R}
fastlane                    | FASTLANE_PASSWORD={P} fastlane beta
android keystore            | storePassword={P}\nkeyPassword=x
jarsigner apk               | apksigner sign --ks k.jks --ks-pass pass:{P} a.apk
gpg batch                   | gpg --batch --passphrase {P} -d f.gpg
openssl enc                 | openssl enc -aes-256-cbc -k {P} -in a
7z archive                  | 7za a -p{V} a.7z x
zip enc                     | zip -P {P} a.zip x
pdf                         | qpdf --password={P} --decrypt a.pdf b.pdf
keepass                     | echo {P} | keepassxc-cli show db.kdbx x
ssh askpass                 | sshpass -p '{P}' ssh ada@h
age key                     | veracrypt --password={P} /dev/sdb1
chat en here                | here you go, pw: {P}
chat en use                 | use {P} as the password for now
chat en login with          | you can log in with ada and {P}
chat en creds               | creds are ada / {P}
chat en its                 | the admin password? it's {P}, change it later
chat en passcode            | the door passcode is {N6}
chat en otp                 | verification code: {N6}
chat en temp                | Your temporary password is {P}
chat en reset               | I reset it to {P}
chat en key is              | my key is {H}
chat en quote               | password set to "{P}"
chat en backtick            | the root password is ` + "`" + `{P}` + "`" + `
chat en parens              | user ada (password {P})
chat en newline             | New password below\n{P}
chat en secret ans          | token for the api -> {H}
chat de zugang              | Zugangsdaten: ada / {P}
chat de kennwort            | das Kennwort lautet {P}
chat de neu                 | Dein neues Passwort ist: {P}
chat de pin                 | Die PIN der Karte ist {N6}
chat fr mdp                 | le mdp c'est {P}
chat fr mot                 | Votre mot de passe provisoire : {P}
chat fr id                  | identifiant: ada, mot de passe: {P}
chat es clave               | la clave del wifi es {P}
chat es contrasena          | Tu contraseña temporal: {P}
chat es usuario             | usuario: ada contraseña: {P}
chat pt acesso              | senha de acesso: {P}
chat pt login               | login: ada senha: {P}
chat it pw                  | la password del server è {P}
chat it nuova               | nuova password: {P}
chat nl ww                  | het wachtwoord is {P}
chat nl login               | inloggegevens: ada / {P}
chat sv losen               | lösenordet är {P}
chat no pass                | passordet er {P}
chat da kode                | adgangskoden er {P}
chat fi sala                | salasana on {P}
chat pl haslo               | hasło: {P}
chat pl to                  | hasło to {P}
chat cs heslo               | heslo je {P}
chat sk heslo               | nové heslo: {P}
chat hu jelszo              | a jelszó: {P}
chat ro parola              | parola este {P}
chat bg parola              | паролата е {P}
chat sr lozinka             | lozinka je {P}
chat hr lozinka             | nova lozinka: {P}
chat sl geslo               | geslo je {P}
chat el kodikos             | ο κωδικός είναι {P}
chat tr sifre               | yeni şifre: {P}
chat ru parol               | новый пароль: {P}
chat ru parol dash          | пароль - {P}
chat uk parol               | пароль до бази: {P}
chat lt slapt               | slaptažodis: {P}
chat lv parole              | parole ir {P}
chat et parool              | parool on {P}
chat ja pass                | パスワードは {P} です
chat ja colon               | パスワード：{P}
chat zh mima                | 密码是{P}
chat zh colon               | 新密码：{P}
chat zh tw                  | 密碼：{P}
chat ko bimil               | 비밀번호는 {P} 입니다
chat vi mk                  | mật khẩu là {P}
chat th                     | รหัสผ่านคือ {P}
chat id sandi               | kata sandinya {P}
chat ms kata                | kata laluan: {P}
chat tl pass                | ang password ay {P}
chat hi pass                | पासवर्ड है {P}
chat ar sirr                | كلمة المرور هي {P}
chat he sisma               | הסיסמה היא {P}
chat fa ramz                | رمز عبور: {P}
chat ca contra              | la contrasenya és {P}
`
