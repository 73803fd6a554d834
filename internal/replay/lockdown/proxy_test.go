// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestHostsAreDeclared(t *testing.T) {
	p, err := NewProxy([]string{"API.example.com.", "db.example.com:5432", "[2001:db8::1]:8080", "2001:db8::2", "db.example.com:5432"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"[2001:db8::1]:8080", "[2001:db8::2]:443", "[2001:db8::2]:80", "api.example.com:443", "api.example.com:80", "db.example.com:5432"}
	if got := p.Allowed(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"", ":443", "host:", "https://host", "host/path", "user@host", "a b"} {
		if p, err := NewProxy([]string{bad}); err == nil {
			t.Errorf("%q is %q", bad, p.Allowed())
		}
	}
}

// TestTheProxyCountsWhatItRefuses asks for more hosts than are told apart.
func TestTheProxyCountsWhatItRefuses(t *testing.T) {
	p, err := NewProxy(nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, target string) *http.Response {
		r := httptest.NewRequest(method, target, http.NoBody)
		if method == http.MethodConnect {
			r.Host = target
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w.Result()
	}
	refused := ask(http.MethodGet, "http://Host.example/x")
	body, err := io.ReadAll(refused.Body)
	if err != nil || refused.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "--allow-host host.example:80 ") {
		t.Errorf("%s %s", refused.Status, body)
	}
	if r := ask(http.MethodConnect, "host.example:443"); r.StatusCode != http.StatusForbidden {
		t.Error(r.Status)
	}
	if r := ask(http.MethodConnect, "nonsense"); r.StatusCode != http.StatusBadRequest {
		t.Error(r.Status)
	}
	for i := range maxRefused + 10 {
		ask(http.MethodConnect, "h"+strings.Repeat("x", i)+":443")
	}
	through, counts := p.Counts()
	if len(through) != 0 || counts["host.example:80"] != 1 || counts["host.example:443"] != 1 || counts["other hosts"] != 12 || len(counts) != maxRefused+1 {
		t.Errorf("%d: %d others", len(counts), counts["other hosts"])
	}
}

func FuzzNewProxy(f *testing.F) {
	f.Add("host:443")
	f.Add("[::1]")
	f.Add("[fe80::1%eth0]:443")
	f.Add("::%[0") // the name of a network interface is any text
	f.Fuzz(func(t *testing.T, host string) {
		p, err := NewProxy([]string{host})
		if err != nil {
			return
		}
		for _, allowed := range p.Allowed() {
			if name, port, err := net.SplitHostPort(allowed); err != nil || name == "" || port == "" {
				t.Errorf("%q lets %q through: %v", host, allowed, err)
			}
		}
	})
}
