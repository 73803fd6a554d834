// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"net/netip"
	"strings"
)

// numbering says whether four numbers are those of a section, a version or an object identifier, from what
// stands beside them: a library (libfoo.so.1.2.3.4), a comparison (>=1.2.3.4), a counter of Chinese and
// Japanese, the title of the section. Four numbers below ten in a text are nobody's address where nothing
// speaks of addresses: fewer than one in 400,000 addresses is made of such numbers.
func numbering(s string, start, end int, a netip.Addr) bool {
	b := a.As4()
	most := max(b[0], b[1], b[2], b[3])
	if most > 60 {
		return false
	}
	before := s[max(0, start-3):start]
	for _, sign := range [...]string{">=", "<=", "~=", "==", "so.", "^", "~>", "!="} {
		if strings.HasSuffix(before, sign) {
			return true
		}
	}
	for _, counter := range [...]string{"\u8282", "\u7bc0", "\u6761", "\u6b3e", "\u9879", "\u7ae0", "\u9805", "\u689d"} {
		if strings.HasPrefix(strings.TrimLeft(s[end:min(len(s), end+4)], " "), counter) {
			return true
		}
	}
	if most > 9 || b[0] == b[1] && b[2] == b[3] || len(strings.Trim(s, " \t\r\n\"'")) == end-start {
		return false
	}
	if end < len(s) && (s[end] == ':' && end+1 < len(s) && isDigit(s[end+1]) || s[end] == '/' && end+1 < len(s) && isDigit(s[end+1])) || start > 0 && strings.IndexByte("@/", s[start-1]) >= 0 {
		return false
	}
	return !containsWord(s[max(0, start-48):start], addressWords) && !containsWord(s[end:min(len(s), end+32)], addressWords)
}

// addressWords stand beside addresses.
var addressWords = []string{"ip", "ipv4", "ips", "inet", "addr", "addrs", "address", "addresses", "host", "hosts", "hostname", "ping", "dns", "nameserver", "resolver", "server", "servers", "client", "peer", "gateway", "remote", "remote_addr", "clientip", "client_ip", "subnet", "cidr", "ssh", "curl", "nslookup", "dig",
	"whois", "traceroute", "nmap", "listen", "connect", "connected", "connection", "forwarded", "x-forwarded-for", "x-real-ip", "route", "router", "network", "node", "endpoint", "proxy", "telnet", "adresse", "direcci\u00f3n", "\u0430\u0434\u0440\u0435\u0441", "\u5730\u5740", "source_ip", "src", "dst", "bind", "login from", "logged in from", "request from", "get", "post", "port", "blocked", "ban", "visitor"}
