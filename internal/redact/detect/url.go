// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// url looks at the user info of the URL whose "://" stands at at: the password, or a user that is a token.
func (f *finder) url(at int) {
	s := f.s
	from := at + len("://")
	f.mailed(at)
	end := from
	for end < len(s) && !endsHost[s[end]] {
		end++
	}
	host := strings.LastIndexByte(s[from:end], '@')
	if host < 0 {
		// A password with a slash in it that should have been encoded: user:pa/ss@host.
		if colon := strings.IndexByte(s[from:end], ':'); colon >= 0 && end < len(s) && s[end] == '/' && !isNumber(s[from+colon+1:end]) {
			if stop := f.urlEnd.next(s, end, min(len(s), end+512), &endsURL); strings.IndexByte(s[end:stop], '@') >= 0 {
				host = strings.LastIndexByte(s[from:stop], '@')
			}
		}
		if host < 0 {
			if f.on.rules.entropy != none && !f.k.protocol && end < len(s) && s[end] == ' ' { // davfs2's secrets: https://dav.example.com ada …
				if from, to := lastOfLine(s, end, 2); to > from && invented(s[from:to]) {
					f.add(from, to, f.on.rules.entropy)
				}
			}
			return
		}
	}
	info := s[from : from+host]
	user, password, ok := strings.Cut(info, ":")
	switch {
	case ok && password != "" && !placeholder(password):
		f.add(from+len(user)+1, from+host, f.on.rules.url)
	case (!ok || password == "") && len(user) >= 16 && randomish(user):
		f.add(from, from+len(user), f.on.rules.url)
	}
}

// endsURL holds for what stands in no URL, endsHost for what stands in no host or user info.
var endsURL, endsHost = classWith(" \t\r\n\"'<>`\\"), classWith("/?# \t\r\n\"'<>`\\")
