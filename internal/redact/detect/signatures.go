// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// What proves who sent a request, and can be sent again: signatures of AWS and of services that sign
// likewise, in headers, URLs and forms, and the answers of Digest. Names of algorithms, lists of headers,
// dates and realms are left alone.

var requestSignature = seeker{rule: "request-signature", class: Known, text: "signatures of requests: AWS (SigV4), Google, Alibaba, Tencent, OAuth 1, Hawk, HTTP signatures, webhooks, Digest", words: []string{"-hmac-sha", "goog4-rsa", "authorization:~aws~", "authorization\":~\"aws~", "authorization:~oss~", "sharedkey~", "sharedkeylite~", "hawk~id", "oauth_signature", "stringtosign", "awsaccesskeyid=", "ossaccesskeyid=", "key-pair-id=", "googleaccessid=", "signature~keyid"}, find: (*finder).signedRequest}

// signatureName holds for names of signatures of requests.
func signatureName(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "-signature") || strings.HasSuffix(name, "_signature") || strings.HasSuffix(name, "signature") && len(name) < 24 || strings.HasSuffix(name, "-security-token")
}

// signatureChars stand in a signature.
func signatureChar(c byte) bool { return isBase64(c) || c == '%' || c == '=' || c == '~' }

// signedRequest looks for signature=…, mac="…" and what stands alone behind the name of a scheme.
func (f *finder) signedRequest(id ruleID, at, end int) {
	s := f.s
	begin, stop := lineBefore(s, at, 700), lineBehind(s, end, 1200)
	word := strings.ToLower(s[at:end])
	if word == "stringtosign" {
		begin = lineBefore(s, max(0, begin-1), 300)
		stop = lineBehind(s, min(len(s), stop+1), 300)
	}
	begin = max(begin, f.signed)
	if begin >= stop {
		return
	}
	f.work += stop - begin
	f.signed = stop
	text := strings.ToLower(s[begin:stop])
	for _, name := range [...]string{"signature", "mac", "oauth_token"} {
		for from := 0; ; {
			i := strings.Index(text[from:], name)
			if i < 0 {
				break
			}
			from += i + len(name)
			if i := from - len(name); i > 0 && isAlpha(text[i-1]) {
				continue
			}
			f.signatureAt(id, begin+from)
		}
	}
	if strings.HasSuffix(word, "sharedkey ") || strings.HasSuffix(word, "sharedkeylite ") || strings.HasSuffix(word, "aws ") || strings.HasSuffix(word, "oss ") { // AWS id:signature
		to := end
		for to < len(s) && to-end < 160 && s[to] > ' ' && s[to] != '"' && s[to] != '\'' {
			to++
		}
		if colon := strings.IndexByte(s[end:to], ':'); colon > 0 && to-end-colon > 20 {
			f.add(end+colon+1, to, id)
		}
	}
}

// signatureAt looks at a signature behind its name.
func (f *finder) signatureAt(id ruleID, i int) {
	s := f.s
	from := i
	for i < len(s) && i-from < 24 && (s[i] == ' ' || s[i] == ':' || s[i] == '=' || s[i] == '"' || s[i] == '\'' || s[i] == '>' || s[i] == ',') {
		i++
	}
	if i == from {
		return
	}
	for _, prefix := range [...]string{"sig1=:", "sha256=", "sha1=", "v0=", "value=\"", "v1=", "sha512="} {
		if strings.HasPrefix(s[i:], prefix) {
			i += len(prefix)
		}
	}
	if strings.HasPrefix(s[i:], "t=") { // Stripe-Signature: t=…,v1=…
		n := strings.Index(s[i:min(len(s), i+40)], "v1=")
		if n < 0 {
			return
		}
		i += n + 3
	}
	if strings.HasPrefix(s[i:], "keyId=") {
		n := strings.Index(s[i:min(len(s), i+400)], "signature=\"")
		if n < 0 {
			return
		}
		i += n + len("signature=\"")
	}
	to := i
	for to < len(s) && to-i < 1200 && signatureChar(s[to]) {
		to++
	}
	f.work += to - from
	if v := s[i:to]; len(v) >= 20 && (isHex(v) && hasDigit(v) || random(strings.TrimRight(v, "=%3D")) || keylike(v)) {
		f.add(i, to, id)
	}
}

var signatureHeader = seeker{rule: "signature-header", class: Known, by: "request-signature", text: "headers and parameters whose names say that they are signatures", words: []string{"amz-signature", "goog-signature", "amz-security-token", "goog-security-token", "-signature:", "-signature\"", "-signature-256", "signature:~", "signature\":~\"sig1", "oss-signature", "x-signature", "-signature'", "&signature=", "?signature="}, find: func(f *finder, id ruleID, at, end int) {
	for end < len(f.s) && isWord(f.s[end]) {
		end++
	}
	if end > at && (f.s[end-1] == '"' || f.s[end-1] == ' ' || f.s[end-1] == ':' || f.s[end-1] == '=' || f.s[end-1] == '\'') {
		end--
		for end > at && !isWord(f.s[end-1]) {
			end--
		}
	}
	if strings.HasPrefix(f.s[end:], "-256") {
		end += 4
	}
	f.signatureAt(id, end)
}}

var digestHeader = seeker{rule: "digest-header", class: Known, by: "request-signature", text: "the answer and the nonces of HTTP Digest", words: []string{"digest~username", "digest~realm", "digest~nonce", "digest~response", "digest~qop", "digest~uri", "digest~algorithm", "digest~opaque", "authentication-info:", "rspauth=", "digest~cnonce", "digest~stale", "digest~domain"}, find: (*finder).digestAnswer}

// digestAnswer looks at the parameters of a header of Digest.
func (f *finder) digestAnswer(id ruleID, at, _ int) {
	s := f.s
	if at < f.digested {
		return
	}
	stop := lineBehind(s, at, 1200)
	f.work += stop - at
	f.digested = stop
	if header := s[at:stop]; !strings.Contains(header, "username=") && !strings.Contains(header, "response=") && !strings.Contains(header, "rspauth=") && !strings.Contains(header, "cnonce=") {
		return // the question of a server, which is for everybody
	}
	for _, name := range [...]string{"response", "nonce", "cnonce", "opaque", "rspauth"} {
		for from := at; ; {
			i := strings.Index(s[from:stop], name+"=")
			if i < 0 {
				break
			}
			from += i + len(name) + 1
			if i := from - len(name) - 2; i >= 0 && isWord(s[i]) {
				continue
			}
			lo, hi := from, from
			if a, b, _, ok := quotedAt(s[:stop], from); ok {
				lo, hi = a, b
			} else {
				for hi < stop && signatureChar(s[hi]) {
					hi++
				}
			}
			if v := s[lo:hi]; len(v) >= 12 && randomish(v) && !strings.ContainsAny(v, " ,") {
				f.add(lo, hi, id)
			}
		}
	}
}
