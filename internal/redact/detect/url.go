// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// url looks at the user info of the URL whose "://" stands at at: the password, or a user that is a token.
func (f *finder) url(at int) {
	s := f.s
	from := at + len("://")
	end := from
	for end < len(s) && strings.IndexByte("/?# \t\r\n\"'<>`\\", s[end]) < 0 {
		end++
	}
	host := strings.LastIndexByte(s[from:end], '@')
	if host < 0 {
		// A password with a slash in it that should have been encoded: user:pa/ss@host.
		if colon := strings.IndexByte(s[from:end], ':'); colon >= 0 && end < len(s) && s[end] == '/' && !isNumber(s[from+colon+1:end]) {
			stop := end
			for stop < min(len(s), end+512) && strings.IndexByte(" \t\r\n\"'<>`\\", s[stop]) < 0 {
				stop++
			}
			host = strings.LastIndexByte(s[from:stop], '@')
		}
		if host < 0 {
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
