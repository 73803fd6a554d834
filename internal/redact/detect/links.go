// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// Links that let in whoever has them: to set a password, to sign in, to confirm, to join. The path says what
// the link is for, and a later part of it, or of the query, is random. Addresses of pages about such links,
// and of commits and files, are left alone.

var linkWord = seeker{rule: "link-token", class: Guess, text: "the token in a link that lets in whoever has it: reset, magic, verify, invite, confirm, activate", words: []string{"/reset", "/magic", "/verif", "/invit", "/confirm", "/activat", "/join/", "/login", "/unlock", "/accept",
	"/setup", "/recover", "/onboard", "/shared_invite", "/secret/", "/password", "/passwordless", "/sso", "/callback", "/signin", "/sign-in", "/sign_in", "/email-", "/email_", "/email/", "/one-time", "/onetime", "/otl/", "/claim", "/register/", "/signup/", "/auth/", "/oob", "/forgot", "/approve", "/optin", "/opt-in", "/access/", "/session/", "/token/", "/share/", "/members/", "/enroll", "/restablecer", "/zuruecksetzen", "/einladung", "/bestaetig", "/passwort", "/reinitialis", "/invitaci"},
	find: (*finder).linkToken}

// linkParameters are parameters of the query of such a link.
var linkParameter = seeker{rule: "link-parameter", class: Guess, by: "link-token", text: "a parameter that nothing but such a link has", words: []string{"ticket=", "oobcode=", "rlkey=", "logintoken=", "magic?", "invitation=", "resourcekey=", "magic_token=", "magic-token=", "onetime=", "one_time_token=", "verification_token=", "&pwd=", "?pwd=", "invite_token=", "invite_code=", "invitecode=", "confirmation_token=", "unlock_token=", "reset_token=", "reset_password_token=", "otpcode=", "token_hash=", "&hash=", "?hash=", "&vt=", "?otp=", "&otp=", "confirmation=", "activation=", "verifier=", "send.bitwarden.com/#", "action=rp"},
	find: (*finder).linkParameter}

// notLinks are parts of addresses that hold random text and let nobody in.
var notLinks = []string{"/commit", "/blob/", "/tree/", "/raw/", "/pull/", "/issues/", "/compare/", "/releases/", "/docs/", "/blog/", "/wiki/", "/assets/", "/static/", "/-/", "/packages/", "/node_modules/", "/images/", "/img/", ".js", ".css", ".png", ".svg", ".md", ".html", ".py", ".go", ".ts"}

// linkSecret holds for a part of such a link that no page has as its name. sure: the word before it says that
// it is one.
func linkSecret(v string, sure bool) bool {
	if len(v) < 12 && !(sure && len(v) >= 8) || len(v) > 1024 || idPrefixed(v) {
		return false
	}
	if hexDigest(v) {
		return sure
	}
	if isHex(v) && len(v) >= 16 {
		return hasDigit(v) && sure
	}
	digits, upper, lower := 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			digits++
		case isUpper(c):
			upper++
		case isLower(c):
			lower++
		case strings.IndexByte("-_.~%=+", c) < 0:
			return false
		}
	}
	return digits >= 2 && (upper >= 2 && lower >= 2 || len(v) >= 16 && upper+lower >= 4) && random(v) || upper >= 3 && lower >= 3 && len(v) >= 16 && shuffledParts(v)
}

// shuffledParts holds for letters of random case without a digit among them.
func shuffledParts(v string) bool {
	changes := 0
	for i := 1; i < len(v); i++ {
		if isUpper(v[i]) != isUpper(v[i-1]) {
			changes++
		}
	}
	return changes*3 >= len(v)
}

// linkToken looks at the rest of a path, and at its query, behind a part that says what the link is for.
func (f *finder) linkToken(id ruleID, at, end int) {
	s := f.s
	if at < f.linked || at == 0 {
		return
	}
	stop := f.urlEnd.next(s, at, min(len(s), at+1024), &endsURL)
	for stop > at && strings.IndexByte(".,;:!?)]}", s[stop-1]) >= 0 {
		stop--
	}
	begin := f.linkBegin.last(s, at, 256, &endsURL)
	f.work += stop - at
	f.linked = stop
	url := s[begin:stop]
	if !strings.Contains(url, "://") && begin > 0 && strings.IndexByte(" \"'\n`>", s[begin-1]) < 0 {
		return
	}
	lower := strings.ToLower(url)
	if isOtherLink(lower) {
		return
	}
	uuids := containsPart(lower, uuidLinks)
	weak := weakLinks[strings.ToLower(s[at:end])]
	from := at + 1
	for from < stop {
		to := from + strings.IndexAny(s[from:stop], "/?#&")
		if to < from {
			to = stop
		}
		part := s[from:to]
		if eq := strings.IndexByte(part, '='); eq > 0 {
			if f.isLinkParameter(part[:eq], part[eq+1:]) {
				f.add(from+eq+1, to, id)
			}
		} else if from > at+1 && linkSecret(part, !weak && (uuids || len(part) != 36)) {
			f.add(from, to, id)
		}
		from = to + 1
	}
}

// isLinkParameter says whether a parameter of a link holds the token of the link.
func (f *finder) isLinkParameter(name, value string) bool {
	name = strings.ToLower(name)
	sure := linkNames[name]
	if sure && codeNames[name] && typedCode(value) {
		return true
	}
	return linkSecret(value, sure) && !openLink[name] && (sure || random(value) && !f.r.Named(name).protocol)
}

// isOtherLink says whether a URL in lower case has a part of links that hold no token.
func isOtherLink(lower string) bool {
	for _, other := range notLinks {
		if strings.Contains(lower, other) && !(other == "/-/" && strings.Contains(lower, "token")) {
			return true
		}
	}
	return false
}

// uuidLinks are parts of links whose token can be a UUID. weakLinks are parts that stand before other things
// than tokens as well.
var (
	uuidLinks = []string{"/reset", "/magic", "/invit", "/password", "/confirm-email", "/verify-email", "/activat", "/unlock"}
	weakLinks = wordSet("/auth/ /session/ /share/ /token/ /email- /email_ /members/ /access/ /setup /callback /sso")
)

// linkNames are parameters that hold the token of such a link, codeNames those that may hold a number.
// openLink hold something else.
var (
	linkNames = wordSet("token t key k code c hash h ticket otp oobcode signature sig invitation invite logintoken secret s id confirmation_token reset_password_token unlock_token invitation_token reset_token token_hash magic magic_token jwt auth access_token nonce verification verify activation vt st pwd pin email_token __clerk_ticket state_token confirmation")
	codeNames = wordSet("code otp pin c token verification")
	openLink  = wordSet("id state redirect next email user expires lang")
)

// linkParameter looks at the value of a parameter.
func (f *finder) linkParameter(id ruleID, at, end int) {
	s := f.s
	if at < f.parameter { // in the value of another
		return
	}
	if equalLowered(s[at:end], "action=rp") { // WordPress: ?action=rp&key=…&login=…
		stop := f.urlEnd.next(s, end, min(len(s), end+256), &endsURL)
		i := strings.Index(s[end:stop], "key=")
		if i < 0 {
			return
		}
		end += i + len("key=")
	}
	if equalLowered(s[at:end], "magic?") {
		i := strings.IndexByte(s[end:min(len(s), end+24)], '=')
		if i < 0 {
			return
		}
		end += i + 1
	}
	to := end
	for to < len(s) && to-end < 1024 && !endsQuery[s[to]] && s[to] != '/' {
		to++
	}
	if s[end-1] == '#' { // send.bitwarden.com/#id/key
		if to < len(s) && s[to] == '/' {
			end = to + 1
			for to = end; to < len(s) && to-end < 128 && isBase64(s[to]); to++ {
			}
		}
	}
	f.work += to - end
	f.parameter = to
	if v := s[end:to]; linkSecret(v, true) || len(v) >= 4 && len(v) <= 8 && isNumber(v) && strings.Contains(strings.ToLower(s[at:end]), "otp") {
		f.add(end, to, id)
	}
}

// mailed looks at a link behind words that say what it is for: click here to reset your password: https://….
func (f *finder) mailed(at int) {
	s := f.s
	if f.on.rules.link == none || f.k.protocol {
		return
	}
	stop := f.urlEnd.next(s, at, min(len(s), at+512), &endsURL)
	for stop > at && strings.IndexByte(".,;:!?)]}", s[stop-1]) >= 0 {
		stop--
	}
	from := at + strings.LastIndexByte(s[at:stop], '/') + 1
	v := s[from:stop]
	if n := strings.IndexAny(v, "?#"); n >= 0 {
		v = v[:n]
	}
	if len(v) < 20 || !keylike(v) {
		return
	}
	lower := strings.ToLower(s[at:stop])
	for _, other := range notLinks {
		if strings.Contains(lower, other) {
			return
		}
	}
	if containsWord(s[max(0, at-96):at], mailedWords) || containsWord(s[stop:min(len(s), stop+48)], mailedWords) {
		f.add(from, from+len(v), f.on.rules.link)
	}
}

var mailedWords = []string{"reset your", "reset password", "reset the password", "verify your", "confirm your", "magic link", "sign in", "log in", "login link", "activate your", "accept the invit", "invitation", "invited", "one-time link", "unlock your", "set your password", "passwort zur", "anmelde", "best\u00e4tig", "r\u00e9initialiser", "restablecer", "redefinir", "\u0441\u0431\u0440\u043e\u0441", "\u30d1\u30b9\u30ef\u30fc\u30c9", "\u91cd\u7f6e"}
