// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"regexp"
	"slices"
	"strings"
)

// gitleaksRule is a row of the generated table.
type gitleaksRule struct {
	id       string
	pattern  string
	group    int
	entropy  float64
	keywords []string
}

// superseded are the rules of gitleaks whose work another detector does here, and which.
var superseded = map[string]string{
	"generic-api-key":       RuleAssignment,
	"hashicorp-tf-password": RuleAssignment,
	"nuget-config-password": RuleAssignment,
	"freemius-secret-key":   RuleAssignment,
	"curl-auth-header":      ruleAuthorization,
	"curl-auth-user":        "curl-user",
	"jwt":                   ruleJWT,
	"jwt-base64":            "jwt-encoded",
	"private-key":           rulePrivateKey,
	"twilio-api-key":        "twilio-key",
	"vault-service-token":   "vault-token",
	// Both have keywords of two bytes.
	"azure-ad-client-secret": "azure-client-secret",
}

// reworded are the keywords of rules whose own say too little about where they match.
var reworded = map[string][]string{
	"kubernetes-secret-yaml":      {"data:"},
	"flyio-access-token":          {"fo1_", "fm1a_", "fm1r_", "fm2_"},
	"gocardless-api-token":        {"gocardless"},
	"typeform-api-token":          {"typeform"},
	"new-relic-browser-api-token": {"new-relic", "newrelic", "new_relic"},
	"new-relic-insert-key":        {"new-relic", "newrelic", "new_relic"},
	"new-relic-user-api-key":      {"new-relic", "newrelic", "new_relic"},
	"intra42-client-secret":       {"s-s4t2ud-", "s-s4t2af-"},
	"lob-pub-api-key":             {"live_", "test_"},
	"telegram-bot-api-token":      {"telegr"},
	"sonar-api-token":             {"sonar"},
}

// relaxedEntropy is the share of gitleaks' entropy threshold that is asked of a value whose form alone gives it away. The thresholds
// keep a report short of placeholders; a placeholder that is redacted hurts nobody.
const relaxedEntropy = 0.7

// vendor is a form of key that a service gives out.
type vendor struct {
	name string
	// keywords are separated by spaces; ~ stands for a space in one. ^ stands before the beginning of a value that is too short or too frequent
	// in text to look for it everywhere. It is looked for only at the beginning of long runs of letters and digits.
	keywords string
	pattern  string
}

// vendors are looser than gitleaks' rules where those ask for an exact length or a marker inside. Keys are cut and formats
// change, so a value that begins like a key is treated like one. A value must look random besides.
var vendors = []vendor{
	{"openai-key", "sk-", `sk-(?:proj-|svcacct-|admin-|None-)?[\w-]{18,}`},
	{"anthropic-key", "sk-ant-", `sk-ant-[\w-]{16,}`},
	{"openrouter-key", "sk-or-", `sk-or-[\w-]{16,}`},
	{"langfuse-key", "sk-lf- pk-lf-", `[sp]k-lf-[0-9a-f-]{16,}`},
	{"langsmith-key", "lsv2_ ls__", `(?:lsv2_[a-z]{2}_|ls__)[0-9a-zA-Z_]{16,}`},
	{"groq-key", "gsk_", `gsk_[A-Za-z0-9]{20,}`},
	{"xai-key", "xai-", `xai-[A-Za-z0-9]{20,}`},
	{"perplexity-key", "pplx-", `pplx-[A-Za-z0-9]{20,}`},
	{"replicate-key", "r8_", `r8_[A-Za-z0-9]{20,}`},
	{"nvidia-key", "nvapi-", `nvapi-[\w-]{20,}`},
	{"tavily-key", "tvly-", `tvly-[\w-]{16,}`},
	{"fireworks-key", "fw_", `fw_[A-Za-z0-9]{20,}`},
	{"together-key", "tgp_v1_", `tgp_v1_[\w-]{20,}`},
	{"pinecone-key", "pcsk_", `pcsk_[\w-]{20,}`},
	{"cerebras-key", "csk-", `csk-[a-z0-9]{20,}`},
	{"firecrawl-key", "fc-", `fc-[0-9a-f]{32}`},
	{"elevenlabs-key", "sk_", `sk_[0-9a-f]{40,}`},
	{"huggingface-token", "hf_ api_org_", `(?:hf|api_org)_[A-Za-z0-9]{20,}`},
	{"google-api-key", "aiza", `AIza[\w-]{30,}`},
	{"google-oauth-token", "ya29.", `ya29\.[\w-]{20,}`},
	{"google-oauth-secret", "gocspx-", `GOCSPX-[\w-]{20,}`},
	{"google-refresh-token", "1//0", `1//0[\w-]{30,}`},
	{"aws-access-key-id", "akia asia abia acca aroa aida", `(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}`},
	{"github-token", "ghp_ gho_ ghu_ ghs_ ghr_", `gh[pousr]_[A-Za-z0-9_]{20,}`},
	{"github-pat-fine", "github_pat_", `github_pat_\w{22,}`},
	{"gitlab-token", "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glimt- gloas- glagent- glffct- glwt-", `gl(?:pat|ptt|dt|rt|cbt|ft|soat|imt|oas|agent|ffct|wt)-[\w.-]{16,}`},
	{"slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", `(?:xox[a-eoprs]|xapp)[-.][\w.%+/=-]{10,}`},
	{"slack-webhook", "hooks.slack.com/", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,}`},
	{"discord-webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", `discord(?:app)?\.com/api/webhooks/\d{15,}/[\w-]{30,}`},
	{"stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ whsec_ pk_live_", `(?:[srp]k_(?:live|test|prod)|whsec)_[A-Za-z0-9]{10,}`},
	{"sendgrid-key", "sg.", `SG\.[\w-]{16,}\.[\w-]{16,}`},
	{"mailgun-key", "key-", `key-[0-9a-f]{32}`},
	{"npm-token", "npm_", `npm_[A-Za-z0-9]{30,}`},
	{"pypi-token", "pypi-", `pypi-[\w-]{40,}`},
	{"docker-token", "dckr_pat_ dckr_oat_", `dckr_[po]at_[\w-]{20,}`},
	{"digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", `do[opr]_v1_[0-9a-f]{32,}`},
	{"databricks-token", "dapi", `dapi[0-9a-f]{32}`},
	{"figma-token", "figd_ figo_ figu_", `fig[dou]_[\w-]{20,}`},
	{"linear-key", "lin_api_ lin_oauth_", `lin_(?:api|oauth)_[A-Za-z0-9]{20,}`},
	{"notion-token", "ntn_", `ntn_[A-Za-z0-9]{30,}`},
	{"postman-key", "pmak-", `PMAK-[0-9a-f]{10,}-?[0-9a-f]{0,40}`},
	{"grafana-token", "glsa_ glc_", `gl(?:sa|c)_[A-Za-z0-9+/=_]{24,}`},
	{"sentry-token", "sntrys_ sntryu_", `sntry[su]_[A-Za-z0-9+/=_]{20,}`},
	{"supabase-key", "sbp_ sb_secret_", `(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{16,})`},
	{"vercel-token", "vercel_blob_rw_ vcp_", `(?:vercel_blob_rw|vcp)_[\w-]{16,}`},
	{"tailscale-key", "tskey-", `tskey-[\w-]{16,}`},
	{"shopify-token", "shpat_ shpca_ shppa_ shpss_", `shp(?:at|ca|pa|ss)_[0-9a-fA-F]{20,}`},
	{"square-token", "sq0atp- sq0csp- eaaa", `(?:sq0(?:atp|csp)-|EAAA)[\w-]{20,}`},
	{"atlassian-token", "atatt3 atctt3", `AT[AC]TT3[\w=-]{20,}`},
	{"doppler-token", "dp.pt. dp.st. dp.ct. dp.sa.", `dp\.(?:pt|st|ct|sa)\.[\w.]{20,}`},
	{"planetscale-token", "pscale_", `pscale_(?:tkn|pw|oauth)_[\w.=-]{20,}`},
	{"posthog-key", "phx_", `phx_[A-Za-z0-9]{20,}`},
	{"age-key", "age-secret-key-1", `AGE-SECRET-KEY-1[A-Z0-9]{30,}`},
	{"airtable-token", "airtable", `(?i)airtable.{0,60}?\b(pat[A-Za-z0-9]{14}\.[0-9a-f]{20,})`},
	{"azure-sas", "sig=", `sig=([A-Za-z0-9%+/=_-]{20,})`},
	{"aws-signature", "x-amz-signature=", `(?i)x-amz-signature=([0-9a-f]{32,})`},
	{"curl-user", "curl", `(?is)curl\b[^\n]{0,400}?[ \t](?:-u|--user)(?:=|[ \t]{0,5})(?:"([^"\n]{0,64}:[^"\n]{3,128})"|'([^'\n]{0,64}:[^'\n]{3,128})'|((?:"[^"\n]{1,64}"|[^\s"':@]{1,64}):(?:"[^"\n]{3,128}"|[^\s"']{3,128})))`},
	{"mysql-password", "mysql", `(?i)mysql(?:dump|admin)?\b[^\n]{0,200}?[ \t]-p([^\s'"]{4,64})`},
	{"docker-login", "docker", `(?i)docker\s+login\b[^\n]{0,120}?[ \t](?:-p|--password)[ =]["']?([^\s"']{3,128})`},
	{"facebook-token", "eaaa eaab eaac eaad eaae eaaf eaag eaah eaai eaaj eaak eaal eaam", `EAA[A-Z][A-Za-z0-9]{24,}`},
	{"sshpass", "sshpass", `(?i)sshpass[ \t]+-p[ \t]*["']?([^\s"']{3,128})`},

	// Services of models and agents.
	{"google-auth-key", "aq.ab", `AQ\.Ab[\w-]{30,}`},
	{"azure-ai-key", "jqqj99", `JQQJ99[A-Za-z0-9]{20,40}`},
	{"voyage-key", "^pa-", `pa-[\w-]{40,}`},
	{"jina-key", "jina_", `jina_[\w-]{40,}`},
	{"anyscale-key", "esecret_", `esecret_[a-z0-9]{20,}`},
	{"wandb-key", "wandb_v1_", `wandb_v1_[\w-]{40,}`},
	{"brave-key", "^bsa", `BSA[\w-]{26,32}`},
	{"llama-cloud-key", "llx-", `llx-[A-Za-z0-9]{30,}`},
	{"composio-key", "^ak_", `ak_[\w-]{18,24}`},
	{"browserbase-key", "bb_live_", `bb_live_[\w-]{20,}`},
	{"e2b-key", "e2b_", `e2b_[0-9a-f]{32,}`},
	{"mem0-key", "^m0-", `m0-[A-Za-z0-9]{32,}`},
	{"zep-key-any", "^z_", `z_[A-Za-z0-9]{50,}\.[\w-]{60,}`},
	{"cartesia-key", "sk_car_", `sk_car_[A-Za-z0-9]{18,}`},
	{"runpod-key", "rpa_", `rpa_[A-Za-z0-9]{30,}`},
	{"modal-token", "^as-", `as-[A-Za-z0-9]{22}`},
	{"lambda-key", "secret_", `secret_[a-z0-9-]{3,32}_[0-9a-f]{32}\.[A-Za-z0-9]{20,}`},
	{"apify-token", "apify_api_", `apify_api_[A-Za-z0-9]{30,}`},
	{"helicone-key", "sk-helicone-", `sk-helicone-[\w-]{20,}`},
	{"deepinfra-key", "dsapi", `dsapi[\w-]{20,}`},
	{"cursor-key", "^key_", `key_[0-9a-f]{48,}`},
	{"n8n-key", "n8n_api_", `n8n_api_[\w.-]{20,}`},
	{"friendli-token", "flp_", `flp_[A-Za-z0-9]{30,}`},

	// Clouds, databases, operation.
	{"yandex-key", "aqvn y0_ t1.", `(?:AQVN[\w-]{30,}|y0_[\w-]{40,}|t1\.[\w-]+={0,2}\.[\w-]{86}={0,2})`},
	{"tencent-id", "akid", `AKID[A-Za-z0-9]{32}`},
	{"alibaba-id", "ltai", `LTAI[A-Za-z0-9]{12,24}`},
	{"baidu-key", "altak-", `ALTAK-?[A-Za-z0-9]{16,}(?:/[0-9a-f]{32,40})?`},
	{"digitalocean-spaces", "do00 do801", `DO(?:00|801)[A-Z0-9]{14,18}`},
	{"scaleway-id", "scw", `SCW[A-Z0-9]{17}`},
	{"exoscale-key", "^exo", `EXO[0-9a-f]{24}`},
	{"upcloud-token", "ucat_", `ucat_[A-Z0-9]{26}`},
	{"aiven-token", "avns_ aivenv1", `(?:AVNS_[\w-]{16,}|aivenv1[A-Za-z0-9+/=]{40,})`},
	{"confluent-key", "cflt", `cflt[A-Za-z0-9+/]{50,}`},
	{"elastic-key", "essu_", `essu_[A-Za-z0-9+/]{30,}={0,2}`},
	{"neon-key", "napi_", `napi_[a-z0-9]{40,}`},
	{"mongodb-secret", "mdb_sa_sk_ mdb_sa_id_", `mdb_sa_(?:sk_[\w-]{30,}|id_[0-9a-f]{24})`},
	{"fauna-secret-any", "^fna", `fnA[\w-]{37}`},
	{"clickhouse-secret", "4b1d", `4b1d[A-Za-z0-9]{38}\b`},
	{"cloudflare-token", "cfut_ cfat_ cfk_", `cf(?:ut|at|k)_[A-Za-z0-9]{36,}`},
	{"cloudflare-turnstile", "0x4aaaaaa", `0x4AAAAAA[\w-]{20,}`},
	{"akamai-key", "akab-", `akab-[a-z0-9]{16}-[a-z0-9]{16}`},
	{"netlify-token", "nfp_ nfo_ nfc_ nfu_", `nf[pocu]_[A-Za-z0-9]{30,}`},
	{"render-key", "rnd_", `rnd_[A-Za-z0-9]{26,}`},
	{"fly-token", "flyv1 fm2_ fm1r_ fm1a_ fo1_", `(?:FlyV1 f|f)(?:m2_|m1[ar]_|o1_)[\w+/=,-]{40,}`},
	{"heroku-key", "hrku-", `HRKU-[\w-]{36,}`},
	{"deno-token", "ddp_ ddw_", `dd[pw]_[A-Za-z0-9]{30,}`},
	{"val-town-token", "vtwn_", `vtwn_[A-Za-z0-9]{20,}`},
	{"unkey-key", "unkey_", `unkey_[A-Za-z0-9]{16,}`},
	{"new-relic-key", "nral nrak- nrii- nrjs- nraa- nrra-", `(?:NR(?:AK|II|JS|AA|RA)-[\w-]{19,}|[0-9a-f]{36}NRAL)`},
	{"datadog-key", "ddapp_ ddapi_ ddpat_", `dd(?:app|api|pat)_[A-Za-z0-9]{30,}`},
	{"honeycomb-key", "hcaik_ hcbik_ hcalk_", `hc[ab](?:ik|lk|mk)_[a-z0-9]{26,}`},
	{"pagerduty-key", "pagerduty", `(?i)pagerduty[\w .:="'-]{0,40}?\b(u\+[\w-]{18})`},
	{"grafana-legacy-key", "eyjrijoi", `eyJrIjoi[\w+/=-]{40,}`},
	{"segment-token", "sgp_", `sgp_[A-Za-z0-9_]{40,}`},
	{"posthog-personal", "phx_ phs_", `ph[xs]_[A-Za-z0-9]{20,}`},
	{"launchdarkly-key", "^api- ^sdk- ^mob-", `(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`},
	{"statsig-secret", "^secret-", `secret-[A-Za-z0-9]{40,}`},
	{"configcat-key", "configcat-sdk-1/", `configcat-sdk-1/[\w-]{22}/[\w-]{22}`},
	{"dynatrace-token", "dt0c01. dt0s01. dt0s02. dt0s16.", `dt0[cs]\d\d\.[A-Z0-9]{8,}\.[A-Z0-9]{40,}`},
	{"sonar-token", "squ_ sqp_ sqa_ sqb_", `sq[upab]_[0-9a-f]{30,}`},
	{"circleci-token", "ccipat_ cciprj_", `CCI(?:PAT|PRJ)_[\w-]{40,}`},
	{"buildkite-token", "bkua_ bkct_ bkaj_ bkpi_ bkpt_", `bk(?:ua|ct|aj|pi|pt)_[\w-]{30,}`},
	{"docker-swarm-key", "swmkey-1- swmtkn-1-", `SWM(?:KEY|TKN)-1-[A-Za-z0-9+/-]{30,}={0,2}`},
	{"crates-token", "^cio", `cio[A-Za-z0-9]{32}`},
	{"nuget-key", "^oy2", `oy2[a-z0-9]{43}`},
	{"infisical-token", "st.", `st\.[0-9a-f-]{24,36}\.[0-9a-f]{32}\.[0-9a-f]{32}`},
	{"bitwarden-token", "bwdn", `BWDN[A-Za-z0-9]{20,}`},
	{"age-plugin-key", "age-plugin-", `AGE-PLUGIN-[A-Z0-9-]+-1[A-Z0-9]{20,}`},
	{"harness-token", "pat. sat.", `[ps]at\.[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}`},
	{"prefect-key", "pnu_ pnb_", `pn[ub]_[A-Za-z0-9]{30,}`},
	{"dbt-token", "dbtc_ dbts_ dbtu_", `dbt[csu]_[\w=-]{30,}`},
	{"sourcegraph-key", "sgp_ slk_", `(?:sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}|slk_[0-9a-f]{64})`},
	{"gitbook-token", "gb_api_", `gb_api_[A-Za-z0-9]{30,}`},
	{"gitlab-runner-key", "gr1348941", `GR1348941[\w-]{20}`},
	{"gitlab-token-long", "gldt- glft- glffct- glrtr- glwt-", `gl(?:dt|ft|ffct|rtr|wt)-[\w.-]{16,}`},
	{"bitbucket-password", "atbb", `ATBB[A-Za-z0-9_=.-]{28,}`},
	{"trello-token", "^atta", `ATTA[0-9a-fA-F]{64,}`},
	{"atlassian-key", "atatt3 atctt3", `AT(?:AT|CT)T3[\w=.-]{20,}`},

	// Mail, messages, money, content.
	{"slack-hook-path", "hooks.slack.com/", `hooks\.slack\.com/[a-z]+/[A-Za-z0-9/_-]{16,}`},
	{"zapier-hook", "hooks.zapier.com/hooks/", `hooks\.zapier\.com/hooks/(?:catch|standard)/\d+/[\w/-]{5,}`},
	{"ifttt-hook", "maker.ifttt.com/", `maker\.ifttt\.com/trigger/[\w-]{1,64}/(?:json/)?with/key/[\w-]{16,}`},
	{"discord-token", "discord", `(?i)discord[\w .:="'-]{0,40}?\b([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,})`},
	{"mandrill-key", "^md-", `md-[\w-]{22}`},
	{"sendinblue-key", "xkeysib- xsmtpsib-", `x(?:key|smtp)sib-[0-9a-f]{40,}(?:-[A-Za-z0-9]{16})?`},
	{"resend-key", "^re_", `re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}`},
	{"mailersend-key", "mlsn.", `mlsn\.[0-9a-f]{40,}`},
	{"klaviyo-key", "^pk_", `pk_[0-9a-f]{34}`},
	{"clickup-key", "^pk_", `pk_\d{6,9}_[A-Z0-9]{30,}`},
	{"telnyx-key", "key0", `KEY0[0-9A-F]{24,}_[A-Za-z0-9]{16,}`},
	{"intercom-token", "dg9roj dg9ro", `dG9rO[A-Za-z0-9+/]{50,}={0,2}`},
	{"hubspot-token", "pat-na1- pat-eu1- pat-na2- pat-ap1- pat-ap2-", `pat-(?:na|eu|ap)\d-[0-9a-f-]{32,}`},
	{"salesforce-token", "00d", `00D[A-Za-z0-9]{12,15}![\w.]{60,}`},
	{"airtable-pat", "^pat", `pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}`},
	{"notion-secret", "secret_ ntn_", `(?:secret_[A-Za-z0-9]{40,}|ntn_[A-Za-z0-9]{30,})`},
	{"asana-token", "/120 /110 /121 /122 /119", `[0-9]/\d{15,17}(?:/\d{15,17})?:[0-9a-f]{32}`},
	{"canva-secret", "cnvca", `cnvca[\w-]{30,}`},
	{"dropbox-token-any", "sl.", `sl\.(?:u\.)?[\w-]{60,}`},
	{"typeform-token", "tfp_", `tfp_[\w-]{40,}`},
	{"contentful-pat", "cfpat-", `CFPAT-[\w-]{40,}`},
	{"sanity-token", "^sk", `sk[A-Za-z0-9]{120,}`},
	{"defined-networking-key", "dnkey-", `dnkey-[\w=-]{26}-[\w=-]{50,}`},
	{"square-secret", "sq0csp- sq0idp- sq0atp-", `sq0(?:csp|idp|atp)-[\w-]{20,}`},
	{"braintree-token", "access_token$production$ access_token$sandbox$", `access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}`},
	{"adyen-key", "^aqe", `AQE[\w+/]{80,}(?:==)?(?:-[\w+/=]{20,}){0,2}`},
	{"razorpay-key", "rzp_live_ rzp_test_", `rzp_(?:live|test)_[A-Za-z0-9]{14,}`},
	{"paddle-key", "pdl_live_ pdl_sdbx_ pdl_ntfset_", `pdl_(?:live|sdbx|ntfset)_[\w]{30,}`},
	{"plaid-token", "access-sandbox- access-production- access-development-", `access-(?:sandbox|production|development)-[0-9a-f-]{32,}`},
	{"flutterwave-secret", "flwseck flwpubk", `FLW(?:SECK|PUBK)(?:_TEST)?-[0-9a-zA-Z]{12,}(?:-X)?`},
	{"mollie-key", "^live_ ^test_", `(?:live|test)_[A-Za-z0-9]{30,}`},
	{"shippo-token", "shippo_live_ shippo_test_", `shippo_(?:live|test)_[0-9a-f]{30,}`},
	{"easypost-key", "ezak eztk", `EZ[AT]K[A-Za-z0-9]{40,}`},
	{"mapbox-token", "sk.eyj pk.eyj tk.eyj", `[spt]k\.eyJ[\w-]{30,}\.[\w-]{16,}`},
	{"instagram-token", "igqvj igaa", `IG(?:QVJ|AA)[\w-]{60,}`},
	{"twitter-bearer", "aaaaaaaaaaaaaaaaaaaa", `A{20}[\w%+/=-]{40,}`},
	{"pinterest-token", "pina_", `pin[ar]_[A-Z0-9]{60,}`},
	{"aws-session-token", "iqojb3jpz2lu fwogzxivyxdz", `(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/=%]{60,}`},
	{"aws-bedrock-key", "absk bedrock-api-key-", `(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{60,}={0,2}`},
	{"pubnub-key", "sec-c- pub-c- sub-c-", `(?:sec|pub|sub)-c-[A-Za-z0-9-]{30,}`},
	{"onesignal-key", "os_v2_app_ os_v2_org_", `os_v2_(?:app|org)_[a-z0-9]{60,}`},
	{"datadog-client-token", "^pub", `pub[0-9a-f]{32}`},
	{"settlemint-token", "sm_pat_ sm_aat_ sm_sat_", `sm_(?:pat|aat|sat)_[A-Za-z0-9]{16,}`},
	{"readme-key", "rdme_", `rdme_[a-z0-9]{60,}`},
	{"retool-token", "retool_01", `retool_01[a-z0-9]{20,}`},
	{"jumpcloud-key", "jca_", `jca_[A-Za-z0-9]{30,}`},
	{"gocardless-key", "^sandbox_", `sandbox_[\w-]{40}`},
	{"infura-key", "infura.io/v3/", `infura\.io/v3/[0-9a-f]{32}`},
	{"firebase-key", "aiza", `AIza[\w-]{30,}`},

	// Forms with their mark in the middle.
	{"azure-resource-key", "azdo acdb azse azfu aiot azca +acr +aba +aeh +arm +asb +ami acog", `[\w+/-]{32,90}(?:AZDO|ACDb|AzSe|AzFu|AIoT|AzCa|\+ACR|\+ABa|\+AEh|\+ARm|\+ASb|\+AMI|ACOG)[A-Za-z0-9]{4,8}={0,2}`},
	{"terraform-token", ".atlasv1.", `[A-Za-z0-9]{10,20}\.atlasv1\.[\w-]{40,}`},
	{"teams-hook", ".webhook.office.com/ outlook.office.com/webhook .logic.azure.com", `[a-z0-9.-]{3,80}\.(?:webhook\.office\.com|office\.com/webhook|logic\.azure\.com)[:/][^\s"'<>]{30,}`},
	{"make-hook", ".make.com/ .integromat.com/", `hook\.[a-z0-9.]{0,12}(?:make|integromat)\.com/[a-z0-9]{20,}`},
	{"pipedream-hook", ".m.pipedream.net", `[a-z0-9]{14,}\.m\.pipedream\.net`},
	{"chat-hook", "/hooks/", `https?://[\w.-]{3,120}(?::\d+)?/hooks/[a-z0-9]{20,}`},
	{"mailchimp-key", "-us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9", `[0-9a-f]{32}-us\d{1,2}`},
	{"fcm-key", ":apa91b", `[\w-]{7,24}:APA91b[\w-]{100,}`},
	{"sentry-dsn", ".sentry.io/", `[0-9a-f]{32}(?::[0-9a-f]{32})?@[\w.-]*sentry\.io/\d+`},
	{"alchemy-url", ".alchemy.com/v2/", `alchemy\.com/v2/[\w-]{24,}`},

	// Hashes of passwords, and private keys in other forms than PEM.
	{"bcrypt-hash", "$2a$ $2b$ $2y$", `\$2[aby]\$\d\d\$[./A-Za-z0-9]{50,}`},
	{"argon2-hash", "$argon2", `\$argon2(?:id|i|d)\$[^\s"'<>]{20,}`},
	{"crypt-hash", "$6$ $5$ $1$ $y$ $apr1$", `\$(?:[156y]|apr1)\$[^\s"':<>$]{1,64}\$(?:[^\s"':<>$]{1,64}\$)?[./A-Za-z0-9]{20,}`},
	{"scrypt-hash", "$scrypt$ $pbkdf2 pbkdf2_sha256$", `(?:\$scrypt\$|\$pbkdf2[\w-]*\$|pbkdf2_sha256\$)[^\s"'<>]{20,}`},
	{"ntlm-hash", "aad3b435b51404ee", `aad3b435b51404eeaad3b435b51404ee:([0-9a-f]{32})`},
	{"putty-key", "private-lines:", `(?i)Private-Lines:[ \t]*\d+(?:\\[rn]|\s)+((?:[A-Za-z0-9+/=_-]{8,}(?:\\[rn]|\s)*)+(?:Private-MAC:[ \t]*[0-9a-f]+)?)`},

	// Commands and statements that take a password.
	{"redis-password", "redis-cli", `(?i)redis-cli\b[^\n|;]{0,200}?[ \t](?:-a|--pass)[ \t=]+["']?([^\s"']{4,128})`},
	{"azure-login", "az~login", `(?i)az[ \t]+login\b[^\n|;]{0,300}?[ \t](?:-p|--password)[ \t=]+["']?([^\s"']{4,256})`},
	{"curl-cookie", "curl", `(?i)curl\b[^\n]{0,400}?[ \t](?:-b|--cookie)[ \t=]+["']?[\w.-]{1,64}=([^\s"';]{8,512})`},
	{"curl-proxy-user", "--proxy-user", `--proxy-user[ \t=]+["']?[^\s"':]{1,64}:([^\s"']{3,128})`},
	{"htpasswd-password", "htpasswd", `(?i)htpasswd\b[^\n|;]{0,60}?[ \t]-[a-zA-Z]*b[a-zA-Z]*[ \t]+\S+[ \t]+\S+[ \t]+["']?([^\s"']{3,128})`},
	{"openssl-pass", "pass:", `pass:([^\s"']{4,128})`},
	{"net-use", "net~use", `(?i)net[ \t]+use\b[^\n|;]{0,200}?/user:\S+[ \t]+([^\s"'/]{4,128})`},
	{"gh-secret", "gh~secret~set", `(?i)gh[ \t]+secret[ \t]+set[ \t]+[\w-]+[^\n|;]{0,120}?[ \t](?:-b|--body)[ \t=]+(?:"([^"\n]{4,512})"|'([^'\n]{4,512})'|([^\s"']{4,512}))`},
	{"secure-string", "convertto-securestring", `(?i)ConvertTo-SecureString[ \t]+(?:-String[ \t]+)?["']?([^\s"'-][^\s"']{3,256})`},
	{"identified-by", "identified~by", `(?i)IDENTIFIED[ \t]+BY[ \t]+(?:PASSWORD[ \t]+)?["']?([^\s"';]{3,256})`},
	{"sql-password", "with~password", `(?i)WITH[ \t]+(?:ENCRYPTED[ \t]+)?PASSWORD[ \t]+["']([^"'\n]{3,256})`},
	{"netrc-password", "login", `(?i)login[ \t]+\S+[ \t]+password[ \t]+(\S{3,128})`},
	{"sqlcmd-password", "sqlcmd", `(?i)sqlcmd\b[^\n|;]{0,200}?[ \t]-P[ \t]*["']?([^\s"']{4,128})`},
	{"mongo-password", "mongosh mongodump mongorestore mongoexport mongoimport", `(?i)mongo\w+\b[^\n|;]{0,200}?[ \t]-p[ \t]*["']?([^\s"'-][^\s"']{3,128})`},
	{"ldap-password", "ldapsearch ldapadd ldapmodify", `(?i)ldap\w+\b[^\n|;]{0,200}?[ \t]-w[ \t]*["']?([^\s"']{4,128})`},
	{"pgpass-password", ":5432: :3306: :1521: :1433:", `:(?:5432|3306|1521|1433):[^:\s]{1,64}:[^:\s]{1,64}:([^:\s]{4,128})`},
	{"zip-password", "unzip", `(?i)unzip\b[^\n|;]{0,80}?[ \t]-[pP][ \t]?["']?([^\s"']{4,128})`},
}

// chosen are the rules whose values people choose, who choose words.
var chosen = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`curl-user mysql-password docker-login sshpass redis-password azure-login curl-proxy-user htpasswd-password openssl-pass net-use gh-secret
		secure-string zapier-hook identified-by sql-password netrc-password sqlcmd-password mongo-password ldap-password zip-password pgpass-password
		httpie-auth net-user sqlplus-password oracle-url samba-password mqtt-password lftp-password keystore-password sudo-stdin snmp-privacy said-default exim-client chpasswd rdp-password cisco-password snmp-community
		auth-tuple terraform-default plist-key tool-password archive-password ipmi-password snmp-tool ssh-keygen rabbitmq-user sasl-password set-password expect-send password-stdin
		add-login identified-with piped-secret dsn-password chpasswd-list alias-secret ipsec-secret acl-setuser openvpn-account radius-test secure-parameter
		parameter-value secret-argument terraform-sensitive exim-hide gem-account vault-string openssl-key password-command auth-login`) {
		m[name] = true
	}
	return m
}()

// midWord are the rules whose matches begin inside of a word: HTTPBasicAuth(…), mysqli_connect(…).
var midWord = wordSet("ppp-secrets password-command call-credentials user-option user-and-password add-login hook-url deploy-hook expect-send said-id-password said-answer said-default said-in-brackets curl-config")

// Rules of this package that other code names.
const (
	ruleJWT           = "jwt"
	rulePrivateKey    = "private-key"
	ruleAuthorization = "authorization-header"
	RuleAssignment    = "credential-assignment"
	RuleSecretKey     = "secret-by-key"
	ruleEntropy       = "high-entropy"
	ruleURL           = "url-credentials"
	ruleEncoded       = "encoded-secret"
	RuleAnywhere      = "high-entropy-anywhere"
)

// credentialRules are forms that belong to no service.
func credentialRules() []*rule {
	known := func(name, text string, keywords []string, pattern string, accept func(string) bool) *rule {
		return &rule{Rule: Rule{name, Known, "credentials", text}, keywords: keywords, pattern: pattern, accept: accept}
	}
	return []*rule{
		known(ruleJWT, "JSON Web Tokens, signed, encrypted or cut", append(lengthened("eyj", "abcdefghijklmnopqrstuvwxyz0123456789"), "eyai", "ewog"),
			`\be(?:yJ|yAi|wog)[\w-]{8,}\.[\w-]{6,}(?:\.[\w-]+){0,3}=*`, nil),
		known("jwt-encoded", "JSON Web Tokens in base64", []string{"zxlk"}, `\bZXlK[\w+/-]{24,}={0,2}`, nil),
		known(rulePrivateKey, "PEM private keys, complete or cut", []string{"-----begin"},
			`(?is)-----BEGIN[ A-Z0-9_-]{0,100}?PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----|\z)`, pemBody),
		known(ruleAuthorization, "bearer tokens and basic credentials", []string{"bearer"},
			`(?i)bearer["']?[\s:=]{1,4}["']?([\w.~+/=-]{8,})`, randomish),
		known("basic-credentials", "user and password in base64 behind the word Basic", []string{"basic"},
			`(?i)basic\s{1,4}([A-Za-z0-9+/_-]{6,}={0,2})`, basicCredentials),
		known("seed-phrase", "12 to 24 words behind the name of a seed or recovery phrase", []string{"seed phrase", "seed_phrase", "mnemonic", "recovery phrase"},
			`(?i)(?:phrase|mnemonic)["']?\s*(?:is|:|=)?\s*["']?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})`, nil),
		known("npm-auth", "credentials of npm configuration", []string{"_auth", "_password"},
			`(?i)_(?:auth|authtoken|password)\s*=\s*["']?([\w./+=-]{8,})(?:[^\w./+=(-]|$)`, func(v string) bool { return strings.IndexByte(v, '_') < 0 || !symbol(v) }),
		known("azure-client-secret", "client secrets of Microsoft Entra", nil, // found by their tilde
			`(?:^|[^\w~.-])([a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34})`, nil),
	}
}

// noVariable refuses what a shell fills in: $USER:$PASS.
func noVariable(v string) bool {
	_, password, ok := strings.Cut(v, ":")
	return !placeholder(v) && v[0] != '$' && !(ok && strings.HasPrefix(password, "$"))
}

// vendorRules are the rules of the table above.
func vendorRules() (rules []*rule) {
	all := slices.Clone(vendors)
	for _, v := range moreVendors {
		all = append(all, v.vendor)
	}
	for _, v := range all {
		r := &rule{Rule: Rule{v.name, Known, "vendor", ""}, pattern: v.pattern, accept: acceptOf(v.name)}
		if strings.IndexByte(`:-\`, v.pattern[0]) < 0 && !strings.HasPrefix(v.pattern, `["`) && !midWord[v.name] {
			r.pattern = `\b` + v.pattern
		}
		for k := range strings.FieldsSeq(v.keywords) {
			if head, ok := strings.CutPrefix(k, "^"); ok {
				r.heads = append(r.heads, head)
			} else {
				r.keywords = append(r.keywords, strings.ReplaceAll(k, "~", " "))
			}
		}
		rules = append(rules, r)
	}
	return rules
}

// acceptOf returns what a value has to look like that a rule of a vendor finds.
func acceptOf(name string) func(value string) bool {
	switch name {
	case "auth-plain":
		return saslPlain
	case "hook-url":
		return hookPart
	case "identified-by":
		return identifies
	case "imap-login", "ftp-pass", "curl-config", "call-credentials", "login-as", "new-user", "signed-with":
		return saidPassword
	}
	switch {
	case strings.HasPrefix(name, "said-"), strings.HasPrefix(name, "user-"):
		return saidPassword
	case chosen[name]:
		return noVariable
	}
	return randomish
}

// saidPassword holds for a password that a sentence or a command gives without a name.
func saidPassword(v string) bool {
	if strings.Count(v, "-") >= 2 && v == strings.ToLower(v) { // the name of a pod
		return false
	}
	return strong(v) || passwordLike(v) && len(v) >= 10 && !dated(v) && !wordLike(v) && !code(v)
}

// hookPart holds for the secret part of the URL of a hook.
func hookPart(v string) bool {
	return random(v) && (isHex(v) || digitCount(v) >= 3 && entropy(v) >= 3.5)
}

// identifies holds for the password behind IDENTIFIED BY of SQL.
func identifies(v string) bool {
	v = strings.TrimRight(v, ".,")
	return len(v) > 2 && noVariable(v) && v[0] != '`' && !said[strings.ToLower(v)]
}

// rulesOfGitleaks are the published ones without those that are superseded.
func rulesOfGitleaks() (rules []*rule) {
	for _, g := range gitleaksRules {
		if superseded[g.id] != "" {
			continue
		}
		r := &rule{
			Rule:     Rule{g.id, Known, "gitleaks", ""},
			keywords: g.keywords,
			pattern:  g.pattern,
			group:    g.group,
			entropy:  g.entropy,
			accept:   notOneByte,
		}
		if words := reworded[g.id]; words != nil {
			r.keywords = words
		}
		if beside(g.pattern) {
			// The value has the form of many others; the name of the service beside it makes it a secret.
			r.Class = Guess
		} else {
			r.entropy *= relaxedEntropy
		}
		switch g.id {
		case "sonar-api-token":
			r.group = 2
		case "kubernetes-secret-yaml":
			// The published pattern spells both orders of kind and data, and all between them.
			_, value, _ := strings.Cut(g.pattern, `\bdata:`)
			value, _, _ = strings.Cut(value, `|\bdata:`)
			r.pattern, r.manifest = `(?i)\bdata:`+value, true
		}
		rules = append(rules, r)
	}
	return rules
}

// secretManifest says whether a manifest says near s[start:end] that it is of a secret.
func (f *finder) secretManifest(start, end int) bool {
	if f.manifests == nil {
		f.manifests = append(kindSecret.FindAllStringIndex(f.s, -1), []int{len(f.s) + 1024, 0})
		f.work += len(f.s)
	}
	const near = 220
	for ; f.manifest < len(f.manifests)-1 && f.manifests[f.manifest][1]+near < start; f.manifest++ {
	}
	for _, at := range f.manifests[f.manifest:] {
		switch {
		case at[0] > end+near:
			return false
		case at[1] <= start && start-at[1] <= near, at[0] >= end:
			return true
		}
	}
	return false
}

var kindSecret = regexp.MustCompile(`(?i)\bkind:[ \t]*["']?\bsecret\b`)

// beside says whether a published pattern is "name of a service, assignment, value".
func beside(pattern string) bool {
	for _, prefix := range gitleaksKeyPrefixes {
		if strings.HasPrefix(pattern, prefix) {
			return true
		}
	}
	return false
}

// Published is a rule as gitleaks publishes it, for documents and for tests of what is found.
type Published struct {
	ID       string
	Pattern  string
	Group    int
	Entropy  float64
	Keywords []string
	By       string // the rule that does its work here, if that is another one
}

// PublishedRules returns the table of gitleaks' rules and its version.
func PublishedRules() (version string, rules []Published) {
	for _, g := range gitleaksRules {
		rules = append(rules, Published{g.id, g.pattern, g.group, g.entropy, g.keywords, superseded[g.id]})
	}
	return GitleaksVersion, rules
}
