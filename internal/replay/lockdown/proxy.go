// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Proxy is an HTTP proxy that lets connections through to declared hosts and to no other. It is the only way out of a Cage; outside of one
// it stops only what uses proxies.
type Proxy struct {
	allowed []string // HOST:PORT

	mu               sync.Mutex
	through, refused map[string]int
}

// Forms of a declaration. Names are not looked up before they are asked for.
var (
	isName = regexp.MustCompile(`^[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]+)*\.?$`)
	isPort = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// usual are the ports of a host that is declared without one.
var usual = map[string]string{"http": "80", "https": "443"}

// NewProxy takes HOST:PORT, or HOST for the ports of HTTP and HTTPS.
func NewProxy(hosts []string) (*Proxy, error) {
	p := &Proxy{through: map[string]int{}, refused: map[string]int{}}
	for _, h := range hosts {
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), ""
		}
		ip, notIP := netip.ParseAddr(host)
		if notIP != nil && !isName.MatchString(host) || ip.Zone() != "" && !isName.MatchString(ip.Zone()) || err == nil && !isPort.MatchString(port) {
			return nil, fmt.Errorf("%q is no host: want HOST or HOST:PORT", h)
		}
		if port != "" {
			p.allowed = append(p.allowed, target(host, port))
			continue
		}
		for _, port := range usual {
			p.allowed = append(p.allowed, target(host, port))
		}
	}
	slices.Sort(p.allowed)
	p.allowed = slices.Compact(p.allowed)
	return p, nil
}

// target is how a host is compared and counted.
func target(host, port string) string {
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), port)
}

// Allowed lists what is let through.
func (p *Proxy) Allowed() []string { return slices.Clone(p.allowed) }

// Counts are the connections that were let through and that were refused, by HOST:PORT.
func (p *Proxy) Counts() (through, refused map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.through), maps.Clone(p.refused)
}

// maxRefused bounds how many hosts are told apart: a command chooses their names.
const maxRefused = 1000

// asks decides on a request for a host, and counts it.
func (p *Proxy) asks(w http.ResponseWriter, to string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.allowed, to) {
		p.through[to]++
		return true
	}
	if _, known := p.refused[to]; !known && len(p.refused) >= maxRefused {
		to = "other hosts"
	}
	p.refused[to]++
	http.Error(w, "tapedeck: the network is shut for this replay; --allow-host "+to+" would let it through", http.StatusForbidden)
	return false
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		host, port, err := net.SplitHostPort(r.Host)
		if err != nil {
			http.Error(w, "tapedeck: CONNECT wants HOST:PORT", http.StatusBadRequest)
			return
		}
		if to := target(host, port); p.asks(w, to) {
			tunnel(w, r, to)
		}
		return
	}
	port := r.URL.Port()
	if port == "" {
		port = usual[r.URL.Scheme]
	}
	if r.URL.Host == "" || port == "" {
		http.Error(w, "tapedeck: this is a proxy", http.StatusBadRequest)
		return
	}
	if p.asks(w, target(r.URL.Hostname(), port)) {
		forward(w, r)
	}
}

const connectTimeout = 30 * time.Second

// tunnel joins the connection of a client with one to a host, until one side ends.
func tunnel(w http.ResponseWriter, r *http.Request, to string) {
	there, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(r.Context(), "tcp", to)
	if err != nil {
		http.Error(w, "tapedeck: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "tapedeck: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer here.Close()
	if err := errors.Join(here.SetDeadline(time.Time{}), writeAll(here, "HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return // the client is gone
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(there, buffered) // what ends one side ends both
		_ = there.Close()
	}()
	_, _ = io.Copy(here, there)
	_ = here.Close()
	<-done
}

func writeAll(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// direct sends requests for declared hosts on, without another proxy.
var direct = &http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: 10 * time.Minute}

// hops are headers of one connection.
var hops = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward sends a plain request on.
func forward(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, h := range hops {
		out.Header.Del(h)
	}
	resp, err := direct.RoundTrip(out)
	if err != nil {
		http.Error(w, "tapedeck: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for _, h := range hops {
		resp.Header.Del(h)
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return // the client is gone
			}
			_ = flush.Flush() // a stream arrives as it comes
		}
		if err != nil {
			return
		}
	}
}
