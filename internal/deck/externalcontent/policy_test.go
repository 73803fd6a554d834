// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"strings"
	"testing"
)

func policy(t testing.TB, prefixes ...string) *Policy {
	t.Helper()
	p, err := NewPolicy(prefixes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPolicyAllowsOnlyWhatLiesBelowAPrefix(t *testing.T) {
	p := policy(t, "/data/up/", "s3://bucket/a?region=eu-central-1", "https://Content.example.com/x", "http://h:8080", "gs://whole", "file:///one/file.json")
	for _, c := range []struct{ uri, want string }{
		{"/data/up/1.json", ""},
		{"file:///data/up/deep/1.json", ""},
		{"file://localhost/data/up/1.json", ""},
		{"file:///one/file.json", ""},
		{"s3://bucket/a/1.json", ""},
		{"S3://bucket/a/1.json", ""},
		{"https://content.example.com:443/x/1?sig=secret", ""},
		{"http://h:8080/any", ""},
		{"gs://whole/1.json", ""},
		{"gcs://whole/1.json", ""},

		{"/data/upper/1.json", "not allowed"},
		{"/data", "not allowed"},
		{"/etc/passwd", "not allowed"},
		{"s3://bucket/ab/1.json", "not allowed"},
		{"s3://bucket/b", "not allowed"},
		{"s3://other/a/1.json", "not allowed"},
		{"gs://bucket/a/1.json", "not allowed"},
		{"http://content.example.com/x/1", "not allowed"},
		{"https://content.example.com:8443/x/1", "not allowed"},
		{"https://content.example.com.evil.net/x/1", "not allowed"},
		{"http://h/any", "not allowed"},

		{"/data/up/../../etc/passwd", "its path has empty segments or dots"},
		{"/data/up/./x", "its path has empty segments or dots"},
		{"/data/up//x", "its path has empty segments or dots"},
		{"/data/up/", "its path has empty segments or dots"},
		{"https://content.example.com/x/%2e%2e/secret", "its path has empty segments or dots"},
		{"https://content.example.com/x/..;/secret", "its path has empty segments or dots"},
		{"https://content.example.com/x/..%2fsecret", "its path has encoded or unusual separators"},
		{"https://content.example.com/x/%252e%252e/secret", "its path has encoded or unusual separators"},
		{`https://content.example.com/x/..%5csecret`, "its path has encoded or unusual separators"},
		{`/data/up/..\..\x`, "its path has encoded or unusual separators"},
		{"/data/up/a%00b", "its path has encoded or unusual separators"},
		{"/data/up/a\x00b", "not a URL"},
		{"https://content.example.com@evil.net/x/1", "it carries credentials"},
		{"https://user:secret@content.example.com/x/1", "it carries credentials"},
		{"https://content.example.com/x/1#frag", "it has a fragment"},
		{"s3://bucket/a/1.json?endpoint=http://evil.net", "a reference into a store has no options"},
		{"file:///data/up/1.json?x", "a reference into a store has no options"},
		{"file://server/data/up/1.json", "file URLs have three slashes: file:///path"},
		{"s3:///bucket/a/1.json", "it names no host or bucket"},
		{"http://h:8080", "it names no object"},
		{"ftp://h/x", "its scheme is none of azblob, file, gs, http, https, s3"},
		{"mem://x/y", "its scheme is none of azblob, file, gs, http, https, s3"},
		{"file:relative", "not a URL"},
		{"data/up/1.json", "not a URL"},
		{"http://h:8080/\r\nX: y", "not a URL"},
		{"", "not a URL"},
	} {
		_, err := p.Match(c.uri)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.uri, got, c.want)
		}
	}
}

func TestOptionsOfAStoreComeFromThePrefix(t *testing.T) {
	target, err := policy(t, "s3://b/a?region=eu").Match("s3://b/a/c/1.json")
	if err != nil || target.options != "region=eu" || strings.Join(target.folder, "/") != "a" || strings.Join(target.key, "/") != "c/1.json" {
		t.Errorf("%+v, %v", target, err)
	}
}

func TestBadPrefixesAreRefused(t *testing.T) {
	for _, raw := range []string{"", "https://", "https://u:secret@h/x", "https://h/x?sig=secret", "file:///a/../b", "ftp://h", "s3://b/a/%2e%2e", "file://h/x"} {
		if _, err := NewPolicy([]string{raw}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestWhatIsShownOfAReferenceHoldsNoSecret(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h/x?sig=secret":          "https://h/x",
		"https://u:secret@h/x#secret":     "https://h/x",
		"https://u:se@cret@h/x":           "https://h/x",
		"s3://b/x":                        "s3://b/x",
		"/a/b?c":                          "/a/b",
		"/" + strings.Repeat("x", 10_000): "/" + strings.Repeat("x", maxShown-1) + "…",
	} {
		if got := Show(raw); got != want {
			t.Errorf("%.40s: %.40s", raw, got)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"file:///data/up/x", "/data/up/../x", "https://h/a/b?c", "https://h/a/..%2fb", "s3://b/a//x", "https://h@e/a", "/data/up/.."} {
		f.Add(s)
	}
	p := policy(f, "/data/up", "https://h/a", "s3://b/a")
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := p.Match(raw)
		if err != nil {
			return
		}
		path := "/" + strings.Join(append(append([]string{}, target.folder...), target.key...), "/")
		if target.url.Path != path || strings.Contains(path, "/../") || strings.HasSuffix(path, "/..") || len(target.key) == 0 {
			t.Errorf("%q: %s", raw, path)
		}
		want := map[origin]string{{"file", ""}: "/data/up", {"https", "h"}: "/a", {"s3", "b"}: "/a"}[target.origin]
		if want == "" || path != want && !strings.HasPrefix(path, want+"/") {
			t.Errorf("%q lies outside: %v %s", raw, target.origin, path)
		}
	})
}
