// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// Source says where the facts of a rule of this package are from: the rule of a public scanner, a standard, or the documentation of the service. It
// is "" for a rule that is not of this package.
func Source(name string) string {
	for _, v := range moreVendors {
		if v.name == name {
			return v.source
		}
	}
	if s, ok := sources()[name]; ok {
		return s
	}
	for _, g := range gitleaksRules {
		if g.id == name {
			return "gitleaks " + GitleaksVersion + ", " + name
		}
	}
	return ""
}

// sources are those of the rules that have no row with their own: the rule, and its source behind a bar. Prefixes, alphabets and lengths are facts;
// no expression was taken over.
func sources() map[string]string {
	m := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(sourceTable), "\n") {
		names, source, _ := strings.Cut(line, "|")
		for name := range strings.FieldsSeq(names) {
			m[name] = strings.TrimSpace(source)
		}
	}
	return m
}

const sourceTable = `
openai-key|gitleaks openai-api-key; documentation of OpenAI
anthropic-key|gitleaks anthropic-api-key, anthropic-admin-api-key
openrouter-key|Betterleaks openrouter-api-key
langfuse-key|documentation of Langfuse
langsmith-key|documentation of LangSmith
groq-key|Betterleaks groq-api-key
xai-key|Betterleaks xai-api-key
perplexity-key|gitleaks perplexity-api-key
replicate-key|Betterleaks replicate-api-token
nvidia-key|Betterleaks nvidia-api-key
tavily-key|Nosey Parker np.tavily
fireworks-key|documentation of Fireworks AI
together-key|Betterleaks togetherai-api-key
pinecone-key|Betterleaks pinecone-api-key; documentation of Pinecone
cerebras-key|Betterleaks cerebras-api-key
firecrawl-key|Nosey Parker np.firecrawl
elevenlabs-key|Betterleaks elevenlabs-api-key
huggingface-token|gitleaks huggingface-access-token, huggingface-organization-api-token
google-api-key firebase-key|gitleaks gcp-api-key
google-oauth-token google-oauth-secret google-refresh-token|Nosey Parker np.google; documentation of Google identity
aws-access-key-id|gitleaks aws-access-token; AWS IAM user guide, unique identifiers
github-token github-pat-fine|gitleaks github-pat, github-fine-grained-pat, github-oauth, github-app-token, github-refresh-token
gitlab-token gitlab-token-long gitlab-runner-key|gitleaks gitlab-pat and the other rules for GitLab; documentation of GitLab, token prefixes
slack-token|gitleaks slack-bot-token, slack-user-token, slack-app-token and others
slack-webhook slack-hook-path|gitleaks slack-webhook-url
discord-webhook discord-token|documentation of Discord, webhooks and bots
stripe-key|gitleaks stripe-access-token; documentation of Stripe
sendgrid-key|gitleaks sendgrid-api-token
mailgun-key|gitleaks mailgun-private-api-token
npm-token|gitleaks npm-access-token
npm-auth|documentation of npm, npmrc
pypi-token|gitleaks pypi-upload-token
docker-token|Betterleaks dockerhub-personal-access-token, dockerhub-organization-access-token
digitalocean-token digitalocean-spaces|gitleaks digitalocean-pat; documentation of DigitalOcean Spaces
databricks-token|gitleaks databricks-api-token
figma-token|Betterleaks figma-personal-access-token
linear-key|gitleaks linear-api-key
notion-token notion-secret|gitleaks notion-api-token; documentation of Notion
postman-key|gitleaks postman-api-token
grafana-token grafana-legacy-key|gitleaks grafana-service-account-token, grafana-cloud-api-token, grafana-api-key
sentry-token|gitleaks sentry-org-token, sentry-user-token
supabase-key|Betterleaks supabase-management-token, supabase-project-api-key
vercel-token|Betterleaks vercel-personal-access-token; documentation of Vercel Blob
tailscale-key|documentation of Tailscale
shopify-token|gitleaks shopify-access-token and others
square-token square-secret|gitleaks square-access-token
atlassian-token atlassian-key trello-token|gitleaks atlassian-api-token; documentation of Atlassian
doppler-token|gitleaks doppler-api-token; Nosey Parker np.doppler
planetscale-token|gitleaks planetscale-api-token, planetscale-password, planetscale-oauth-token
posthog-key posthog-personal|Betterleaks posthog-personal-api-key
age-key age-plugin-key|gitleaks age-secret-key; documentation of age
airtable-token airtable-pat|gitleaks airtable-personnal-access-token
azure-sas|documentation of Azure Storage, shared access signatures
aws-signature|AWS Signature Version 4, query parameters
curl-user curl-cookie curl-proxy-user|manual of curl
mysql-password|manual of MySQL, connecting
docker-login|documentation of Docker, login
facebook-token instagram-token|gitleaks facebook-access-token, facebook-page-access-token; documentation of Meta
sshpass|manual of sshpass
google-auth-key|Betterleaks gcp-gemini-api
azure-ai-key azure-resource-key|documentation of Microsoft, identifiable keys of Azure
voyage-key|documentation of Voyage AI
jina-key|Nosey Parker np.jina
anyscale-key|documentation of Anyscale
wandb-key|Betterleaks weights-and-biases-api-key-v1
brave-key|Betterleaks brave-search-api-key
llama-cloud-key|documentation of LlamaCloud
composio-key|Kingfisher composio
browserbase-key|Kingfisher browserbase
e2b-key|documentation of E2B
mem0-key|documentation of Mem0
zep-key-any|documentation of Zep
cartesia-key|Kingfisher cartesia
runpod-key|documentation of RunPod
modal-token|documentation of Modal
lambda-key|documentation of Lambda Cloud
apify-token|Kingfisher apify
helicone-key|documentation of Helicone
deepinfra-key|documentation of DeepInfra
cursor-key|Betterleaks cursor-api-key
n8n-key|documentation of n8n
friendli-token|documentation of FriendliAI
yandex-key|gitleaks yandex-api-key, yandex-access-token
tencent-id|documentation of Tencent Cloud
alibaba-id|gitleaks alibaba-access-key-id
baidu-key|documentation of Baidu AI Cloud
scaleway-id|documentation of Scaleway
exoscale-key|Betterleaks exoscale-api-key
upcloud-token|Betterleaks upcloud-api-token
aiven-token|Kingfisher aiven
confluent-key|documentation of Confluent Cloud
elastic-key|Betterleaks elastic-cloud-api-key
neon-key|documentation of Neon
mongodb-secret|Betterleaks mongodb-atlas-service-account-secret
fauna-secret-any|documentation of Fauna
clickhouse-secret|gitleaks clickhouse-cloud-api-secret-key
cloudflare-token cloudflare-turnstile|Kingfisher cloudflare; documentation of Cloudflare
akamai-key|documentation of Akamai EdgeGrid
netlify-token|documentation of Netlify
render-key|documentation of Render
fly-token|gitleaks flyio-access-token
heroku-key|gitleaks heroku-api-key-v2
deno-token|Betterleaks deno-account-token
val-town-token|documentation of Val Town
unkey-key|documentation of Unkey
new-relic-key|gitleaks new-relic-user-api-key, new-relic-insert-key, new-relic-browser-api-token
datadog-key datadog-client-token|Kingfisher datadog; documentation of Datadog
honeycomb-key|documentation of Honeycomb
pagerduty-key|documentation of PagerDuty
segment-token|Nosey Parker np.segment
launchdarkly-key|documentation of LaunchDarkly
statsig-secret|documentation of Statsig
configcat-key|Betterleaks configcat-sdk-key-extended
dynatrace-token|gitleaks dynatrace-api-token
sonar-token|gitleaks sonar-api-token
circleci-token|Kingfisher circleci
buildkite-token|Kingfisher buildkite
docker-swarm-key|documentation of Docker Swarm
crates-token|Nosey Parker np.cratesio
nuget-key|Nosey Parker np.nuget
infisical-token|documentation of Infisical
bitwarden-token|Kingfisher bitwarden
harness-token|gitleaks harness-api-key
prefect-key|gitleaks prefect-api-token
dbt-token|documentation of dbt Cloud
sourcegraph-key|gitleaks sourcegraph-access-token
gitbook-token|documentation of GitBook
bitbucket-password|Kingfisher bitbucket
zapier-hook|documentation of Zapier, webhooks
ifttt-hook|documentation of IFTTT, webhooks
mandrill-key|documentation of Mailchimp Transactional
sendinblue-key|gitleaks sendinblue-api-token
resend-key|documentation of Resend
mailersend-key|documentation of MailerSend
klaviyo-key|Betterleaks klaviyo-api-key
clickup-key|Betterleaks clickup-personal-api-token
telnyx-key|documentation of Telnyx
intercom-token|documentation of Intercom
hubspot-token|documentation of HubSpot, private apps
salesforce-token|Nosey Parker np.salesforce
asana-token|Kingfisher asana; documentation of Asana
canva-secret|Betterleaks canva-client-secret
dropbox-token-any|gitleaks dropbox-short-lived-api-token
typeform-token|gitleaks typeform-api-token
contentful-pat|documentation of Contentful
sanity-token|documentation of Sanity
defined-networking-key|gitleaks defined-networking-api-token
braintree-token|Kingfisher braintree
adyen-key|documentation of Adyen
razorpay-key|documentation of Razorpay
paddle-key|documentation of Paddle
plaid-token|gitleaks plaid-api-token
flutterwave-secret|gitleaks flutterwave-secret-key, flutterwave-encryption-key
mollie-key|documentation of Mollie
shippo-token|gitleaks shippo-api-token
easypost-key|gitleaks easypost-api-token, easypost-test-api-token
mapbox-token|gitleaks mapbox-api-token
twitter-bearer|gitleaks twitter-bearer-token
pinterest-token|documentation of Pinterest
aws-session-token|documentation of AWS STS
aws-bedrock-key|gitleaks aws-amazon-bedrock-api-key-long-lived, aws-amazon-bedrock-api-key-short-lived
pubnub-key|documentation of PubNub
onesignal-key|documentation of OneSignal
settlemint-token|gitleaks settlemint-personal-access-token and others
readme-key|gitleaks readme-api-token
retool-token|documentation of Retool
jumpcloud-key|documentation of JumpCloud
gocardless-key|gitleaks gocardless-api-token
infura-key|documentation of Infura
terraform-token|gitleaks hashicorp-tf-api-token
teams-hook|gitleaks microsoft-teams-webhook; Kingfisher azurelogicapps
make-hook|documentation of Make, webhooks
pipedream-hook|documentation of Pipedream, HTTP triggers
chat-hook|documentation of Mattermost and Rocket.Chat, incoming webhooks
mailchimp-key|gitleaks mailchimp-api-key
fcm-key|documentation of Firebase Cloud Messaging
sentry-dsn|documentation of Sentry, DSN
alchemy-url|documentation of Alchemy
bcrypt-hash argon2-hash crypt-hash scrypt-hash ntlm-hash|Nosey Parker np.hashes; crypt(5), PHC string format
putty-key|documentation of PuTTY, PPK file format
redis-password|manual of redis-cli
azure-login|documentation of the Azure CLI
htpasswd-password|manual of htpasswd
openssl-pass|manual of openssl-passphrase-options
net-use|documentation of Windows, net use
gh-secret|manual of gh secret set
secure-string|documentation of PowerShell, ConvertTo-SecureString
identified-by sql-password|manuals of MySQL, PostgreSQL and SQL Server, users
netrc-password|Nosey Parker np.netrc
sqlcmd-password|documentation of sqlcmd
mongo-password|documentation of mongosh and the MongoDB tools
ldap-password|manual of ldapsearch
pgpass-password|documentation of PostgreSQL, password file
zip-password|manual of unzip
jwt jwt-encoded|RFC 7519; gitleaks jwt, jwt-base64
form-field|tools of Playwright MCP, Puppeteer, Selenium, Cypress and Robot Framework
table-column|output of psql, mysql, sqlite3, pandas and DuckDB; result sets of drivers and warehouses
link-token|documentation of Devise, Django, Laravel, Supabase, Firebase, Auth0, Clerk and Stytch
one-time-code|usage
recovery-codes|usage; Key URI Format of Google Authenticator
cookie-jar|documentation of curl, HTTP cookies; Jakarta Servlet, URL rewriting; documentation of ASP.NET, cookieless sessions
request-signature|documentation of AWS Signature Version 4 and of services that sign likewise; RFC 7616; RFC 9421; RFC 5849
plan-secret|documentation of Terraform, random_password and sensitive outputs
key-in-pieces|usage
private-key|RFC 7468; gitleaks private-key
authorization-header basic-credentials|RFC 6750, RFC 7617
seed-phrase|BIP 39
azure-client-secret|gitleaks azure-ad-client-secret
url-credentials|RFC 3986, user information
twilio-key|gitleaks twilio-api-key
vault-token|gitleaks vault-service-token, vault-batch-token
telegram-token|gitleaks telegram-bot-api-token
aws-secret-key|AWS IAM user guide, access keys
credential-assignment secret-by-key high-entropy high-entropy-anywhere|names that programs give to credentials; gitleaks generic-api-key, Nosey Parker np.generic
encoded-secret|RFC 4648
payment-card|ISO/IEC 7812, Luhn; issuer ranges of the networks
us-ssn|Social Security Administration, number structure
iban|ISO 13616, IBAN registry of SWIFT
national-id|check digits as the issuing offices publish them, collected by python-stdnum
email|RFC 5321
ip-address|RFC 791, RFC 4291, IANA special-purpose registries
phone|ITU-T E.164; national numbering plans
`
