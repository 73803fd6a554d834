// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
)

// readable are the encodings of answers that a tap can read.
var readable = map[string]bool{"gzip": true, "zstd": true, "deflate": true, "identity": true}

// Pass passes requests on to an endpoint, and its answers back as they come. Path, query, headers and keys
// stay as they are; only an encoding that a tap cannot read is not offered. Nothing is logged.
func Pass(endpoint *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = endpoint.Scheme, endpoint.Host, endpoint.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = v
				}
			}
			if offered := r.In.Header.Get("Accept-Encoding"); offered != "" {
				r.Out.Header.Set("Accept-Encoding", readableOf(offered))
			}
		},
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "tapedeck: "+endpoint.Host+" cannot be asked: "+err.Error(), http.StatusBadGateway)
		},
	}
}

// readableOf takes what a tap cannot read out of the encodings that a client offers.
func readableOf(offered string) string {
	var kept []string
	for one := range strings.SplitSeq(offered, ",") {
		name, _, _ := strings.Cut(one, ";")
		if readable[strings.ToLower(strings.TrimSpace(name))] {
			kept = append(kept, strings.TrimSpace(one))
		}
	}
	if len(kept) == 0 {
		return "identity"
	}
	return strings.Join(kept, ", ")
}

// Endpoints are the endpoints of providers by their names: openai, anthropic and gemini. They hold the paths
// that base URLs hold, such as /v1.
type Endpoints map[string]*url.URL

// Handler passes on what is asked at one address for all providers, as the model stub is: by the protocol
// that a path speaks, or begins to. Paths begin there as at the providers themselves.
func (e Endpoints) Handler(t *Tap, transport http.RoundTripper) http.Handler {
	all := map[string]http.Handler{}
	for name, endpoint := range e {
		all[name] = t.Handler(Pass(endpoint, transport), endpoint.Host)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api, _, _ := modelstub.Protocol(r)
		name := "openai"
		switch {
		case strings.HasPrefix(api, "anthropic"), strings.HasPrefix(r.URL.Path, "/v1/messages"), api == "" && r.Header.Get("Anthropic-Version") != "":
			name = "anthropic"
		case strings.HasPrefix(api, "gemini"), strings.HasPrefix(r.URL.Path, "/v1beta"):
			name = "gemini"
		}
		if all[name] == nil {
			http.Error(w, "tapedeck: no endpoint of "+name+" is known", http.StatusNotFound)
			return
		}
		base := strings.TrimRight(e[name].Path, "/")
		own := *r.URL
		own.Path, own.RawPath = base+strings.TrimPrefix(own.Path, endsIn(base)), ""
		r.URL = &own
		all[name].ServeHTTP(w, r)
	})
}

// endsIn is the version with which a base URL ends, as clients of OpenAI take it.
func endsIn(base string) string {
	if strings.HasSuffix(base, "/v1") {
		return "/v1"
	}
	return ""
}
