// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// benignSeventh are further kinds of text that hold nothing to redact, drawn when the mechanisms for the seventh set were done: lists of names, parts of forms,
// digits that are text in another base, pairs of words around ids, numbers beside words for papers and telephones, and are none.
var benignSeventh = []benignKind{
	{"list of fields", func(g *generator) string {
		return `["user_password","address_line` + g.chars(1, digit) + `","auth_token","created_at","api_key","max_tokens_v2","session_key","utf8mb4_bin"]`
	}},
	{"columns to select", func(g *generator) string {
		return `{"select":["id","password_hash","login_count_30d","secret_key","oauth2_client_v2"],"limit":` + g.chars(2, "123456789") + `}`
	}},
	{"command with names", func(g *generator) string {
		return `{"argv":["aws","ssm","get-parameter","--name","db_password","us-east-1","--output","text_v2"]}`
	}},
	{"command to set a model", func(g *generator) string {
		return `{"cmd":["tool","config","set","default_key","gpt-4o-mini-2024-07-18","--yes"]}`
	}},
	{"list of metrics", func(g *generator) string {
		return `["cache_key","orders-2024-0` + g.chars(1, "123456789") + `-eu1","prompt_tokens","p99_latency_ms","sort_key","customer#1042"]`
	}},
	{"rotate key", func(g *generator) string {
		return `["kubectl","rollout","restart","auth-key","deployment/web-7d9f8b6c5-` + g.chars(5, lower+digit) + `"]`
	}},
	{"part of a form", func(g *generator) string {
		return "------x\r\nContent-Disposition: form-data; name=\"csv_key_column\"\r\n\r\ncustomer_id\r\n------x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a1b2.png\"\r\nContent-Type: image/png\r\n\r\nPNG..."
	}},
	{"form without a value", func(g *generator) string {
		return "------x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n\r\n------x--\r\n"
	}},
	{"hex of text", func(g *generator) string {
		return "0x48656c6c6f2c20746869732069732061206e6f7465206f6e2074686520726f61646d617020666f7220513" + g.chars(1, "123456789")
	}},
	{"address of a contract", func(g *generator) string { return "contract 0x" + g.chars(40, hexa) + " on chain 8453" }},
	{"transaction", func(g *generator) string {
		return "tx 0x" + g.chars(64, hexa) + " confirmed in block 19" + g.chars(6, digit)
	}},
	{"id and password missing", func(g *generator) string {
		return "ID/PW login is disabled, use SSO (id/password fields were removed in 4." + g.chars(1, digit) + ")"
	}},
	{"id password form", func(g *generator) string {
		return "The form asks for user/password, then id, pass/fail and score/100 are shown."
	}},
	{"login pages", func(g *generator) string { return "GET /account/password/reset2 and /login/password_v2 answer 200" }},
	{"pass rate", func(g *generator) string {
		return "id pass/fail: run-" + g.chars(4, digit) + " passed 12/14 checks, id pass A1 B2 C3"
	}},
	{"query of a search", func(g *generator) string {
		return "https://www.example.com/search?q=how+to+reset+a+password+in+2024&page=" + g.chars(1, "123456789") + "&sort=date"
	}},
	{"sum in a query", func(g *generator) string { return "GET /calc?expr=12+30+45+1200&unit=ms 200 12ms" }},
	{"percent of a path", func(g *generator) string {
		return "https://files.example.com/Annual%20Report%202023%20(final%20v2).pdf?download=1&lang=en&ref=password%20policy"
	}},
	{"dutch sentence", func(g *generator) string { return "Het wachtwoord is gewijzigd door de beheerder op 12-03-2024." }},
	{"german sentence", func(g *generator) string {
		return "Das Passwort ist abgelaufen, Ticket INC00" + g.chars(5, digit) + " wurde erstellt."
	}},
	{"korean sentence", func(g *generator) string {
		return "비밀번호(8자 이상, 숫자 포함)를 입력하세요. 오류 E100" + g.chars(1, digit)
	}},
	{"japanese sentence", func(g *generator) string {
		return "パスワードは8文字以上で、2024年4月1日から必須です"
	}},
	{"passport office", func(g *generator) string {
		return "číslo pasu je povinné pole; formulár F12-2024, strana " + g.chars(1, "123456789")
	}},
	{"driving rules", func(g *generator) string { return "permis de conducere categoria B, legea 195/2002, art. 6 pct. 20" }},
	{"vat rates", func(g *generator) string {
		return "VAT number format: DE followed by 9 digits; VAT no longer applies below 22.500 EUR"
	}},
	{"fin statements", func(g *generator) string {
		return "fin data model v2: fin-report-2024Q" + g.chars(1, "1234") + ".xlsx, cif price 1,200.00"
	}},
	{"mobile screens", func(g *generator) string {
		return "mobile breakpoints 320, 768, 1024 px; handphone layout 375x812; natel design 2.0.1"
	}},
	{"nik and names", func(g *generator) string {
		return "Nik merged 1204 lines in pull request 20240312; nik@ mentioned build 1.2.3"
	}},
	{"dial plan", func(g *generator) string {
		return "เบอร์เวอร์ชัน 2.4.1 และ 手機 型號 A2650 64GB"
	}},
	{"wifi channel", func(g *generator) string { return "Access wifi: channel 36 (5180 MHz), width 80, tx 23 dBm" }},
	{"password for", func(g *generator) string {
		return "password for staging:required, password for admin: see vault, password in docs is placeholder"
	}},
	{"expect script", func(g *generator) string { return "expect \"Password:\"\nsend \"$env(DB_PW)\\r\"\nexpect \"$ \"" }},
}
