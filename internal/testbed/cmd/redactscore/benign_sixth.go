// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// benignSixth are further kinds of text that hold nothing to redact, drawn with the sixth set of kinds: what stands near words for secrets, options, calls,
// paths and papers of persons, and is none.
var benignSixth = []benignKind{
	{"docker tag", func(g *generator) string {
		return "docker build -t registry.example.com/team/webApp:v" + g.chars(1, digit) + "." + g.chars(2, digit) + "-rc1 -f Dockerfile ."
	}},
	{"kubectl selector", func(g *generator) string {
		return "kubectl get pod -n kube-system -l app=auth-proxy -p web-7d9f8b6c5-" + g.chars(5, lower+digit)
	}},
	{"ssh port", func(g *generator) string {
		return "ssh -p 22" + g.chars(2, digit) + " -l deploy build-host01.example.com"
	}},
	{"project option", func(g *generator) string {
		return "gcloud config set -p myTeamProject" + g.chars(2, digit) + " && npm test -s -t LoginForm2"
	}},
	{"user account names", func(g *generator) string {
		return "password for user svc_backup" + g.chars(2, digit) + " expires in " + g.chars(1, "123456789") + " days; login from host WIN-" + g.chars(7, upper+digit)
	}},
	{"token usage", func(g *generator) string {
		return "token usage for request req_011CQ" + g.chars(18, alnum) + ": 1,204 in, 87 out"
	}},
	{"token class", func(g *generator) string {
		return "class Sha256TokenGenerator2 extends BaseTokenGenerator implements OAuth2TokenService"
	}},
	{"key event", func(g *generator) string {
		return "key event ArrowUp2 for pane_" + g.chars(6, hexa) + "; secret scanning job 17" + g.chars(3, digit) + " ok"
	}},
	{"jwt library", func(g *generator) string {
		return `jwt.sign(payload, privateKey, { algorithm: "RS256", keyid: "2024-0` + g.chars(1, "123456789") + `" })`
	}},
	{"cipher names", func(g *generator) string {
		return `crypto.createCipheriv("aes-256-gcm", key, iv); createHmac("sha512", secret); tls.connect({ciphers: "ECDHE-RSA-AES128-GCM-SHA256"})`
	}},
	{"connect call", func(g *generator) string {
		return `client.connect("amqps://mq1.example.com:5671", retries=3, vhost="orders-v2"); session("eu-west-1")`
	}},
	{"login call", func(g *generator) string {
		return `await login(page, "ada.admin+test2@", passwordFromEnv("LOGIN_PW2"))`
	}},
	{"google doc", func(g *generator) string {
		return "https://docs.example.com/document/d/1" + g.chars(43, urlish) + "/edit and https://video.example.com/watch/" + g.chars(11, urlish)
	}},
	{"share page", func(g *generator) string {
		return "https://www.example.com/feed/articles/how-to-reset-your-password-in-2024?page=2"
	}},
	{"commit url", func(g *generator) string {
		return "https://git.example.com/team/auth/commit/" + g.chars(40, hexa) + " fixes the token cache"
	}},
	{"build settings", func(g *generator) string {
		return "BUILD_ID=" + g.chars(24, alnum) + "\nIMAGE_DIGEST=sha256:" + g.chars(64, hexa) + "\nGIT_SHA=" + g.chars(40, hexa) + "\nTRACE_ID=" + g.chars(32, hexa)
	}},
	{"cache keys", func(g *generator) string {
		return `{"cache_key":"v2:` + g.chars(40, hexa) + `","sort_key":"ORDER#2024-0` + g.chars(1, "123456789") + `","partition":"TENANT#acme"}`
	}},
	{"object names", func(g *generator) string {
		return `{"deployment_name":"prod-euWest1-Blue2","replica_set":"web-` + g.chars(9, lower+digit) + `","node_pool":"gpu-a100-x8"}`
	}},
	{"passport law", func(g *generator) string {
		return "The passport regulation 2252/2004 applies from 28 August 2006; see section 3 of the Passports Act 1938."
	}},
	{"driver version", func(g *generator) string { return "driver version 535.104.05, CUDA 12.2, driver id nvidia-smi" }},
	{"tax year", func(g *generator) string {
		return "tax number of employees 2023-2024: 1,250; health insurance costs 12,500.00 EUR in 2023"
	}},
	{"member count", func(g *generator) string {
		return "member number 1 of 12 in group 3; policy v2 applies; visa fees 120.00"
	}},
	{"id card reader", func(g *generator) string { return "ID card reader ACR122U (USB 072f:2200) attached, firmware 2.14" }},
	{"code points", func(g *generator) string {
		return "verification code path at line 120 of auth.py; status code 40" + g.chars(1, "134") + "; zip code 9021" + g.chars(1, digit)
	}},
	{"password rules", func(g *generator) string {
		return "Passwords need 12 characters, 1 digit and 1 symbol (NIST SP 800-63B, section 5.1.1.2, Table A-1)."
	}},
	{"key table", func(g *generator) string {
		return "| Key | Action |\n|---|---|\n| Ctrl+Shift+F5 | reload |\n| Alt+F4 | close |\n| token | OAuth2 |"
	}},
	{"licence text", func(g *generator) string {
		return "License: Apache-2.0 OR MIT. SPDX-FileCopyrightText: 2019-2024 The Authors; license file LICENSE-APACHE2"
	}},
	{"access log", func(g *generator) string {
		return `10 GET /auth/login?next=%2Fhome HTTP/1.1" 302 154 "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/12` + g.chars(1, digit) + `.0.0.0"`
	}},
	{"hook names", func(g *generator) string {
		return "git hooks/pre-commit-v2.sh, webhooks/stripe/handler2.ts, useAuth2Token() hook, /rpc/getBlockByNumber"
	}},
	{"vault paths", func(g *generator) string {
		return "vault kv get secret/data/prod/db01 reads path secret/metadata/prod (version 1" + g.chars(1, digit) + ")"
	}},
}
