// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package externalcontent fetches content that telemetry holds by reference only and adds it to the evidence of a deck.
//
// The senders of spans write the references, so a reference is hostile input. The package fetches only from prefixes that the
// user has allowed. It bounds each fetch in size and time.
package externalcontent

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Schemes are the schemes of references that can be fetched.
var Schemes = []string{"azblob", "file", "gs", "http", "https", "s3"}

// aliases are names that fsspec, by which the upload hook writes, has for schemes.
var aliases = map[string]string{"gcs": "gs", "s3a": "s3", "abfs": "azblob", "az": "azblob"}

// Policy lists the prefixes of references that may be fetched.
type Policy struct{ prefixes []prefix }

// prefix is a location below which everything may be fetched.
type prefix struct {
	origin
	segments []string
	options  string // of an object store, as a query
}

type origin struct{ scheme, host string }

// Target is a reference that a policy allows.
type Target struct {
	origin
	url     *url.URL
	folder  []string // the prefix that allows it
	key     []string // below the folder, one segment at least
	options string
}

// String is the reference without its query.
func (t Target) String() string { return Show(t.url.String()) }

// NewPolicy reads prefixes: URLs, or paths of local folders. A prefix of an object store may carry the options of a deck URL.
func NewPolicy(prefixes []string) (*Policy, error) {
	var p Policy
	for _, raw := range prefixes {
		one, err := parsePrefix(raw)
		if err != nil {
			return nil, fmt.Errorf("prefix %s: %w", Show(raw), err)
		}
		p.prefixes = append(p.prefixes, one)
	}
	return &p, nil
}

func parsePrefix(raw string) (prefix, error) {
	if raw == "" {
		return prefix{}, errors.New("it is empty")
	}
	if !strings.Contains(raw, "://") {
		path, err := filepath.Abs(raw)
		if err != nil {
			return prefix{}, errors.New("the path cannot be made absolute")
		}
		raw = filepath.ToSlash(path)
	}
	u, err := parse(raw)
	if err != nil {
		return prefix{}, err
	}
	if u.RawQuery != "" && !isStore(u.Scheme) {
		return prefix{}, errors.New("only a prefix of an object store has options")
	}
	trimmed := *u
	trimmed.Path = strings.TrimRight(u.Path, "/")
	segments, err := segmentsOf(&trimmed)
	return prefix{origin: originOf(u), segments: segments, options: u.RawQuery}, err
}

// Match returns what a reference stands for if a prefix allows it. The error never repeats the reference.
func (p *Policy) Match(raw string) (Target, error) {
	u, err := parse(raw)
	if err != nil {
		return Target{}, err
	}
	if u.RawQuery != "" && u.Scheme != "http" && u.Scheme != "https" {
		return Target{}, errors.New("a reference into a store has no options")
	}
	segments, err := segmentsOf(u)
	if err != nil {
		return Target{}, err
	}
	if len(segments) == 0 {
		return Target{}, errors.New("it names no object")
	}
	for _, one := range p.prefixes {
		n := len(one.segments)
		if one.origin != originOf(u) || len(segments) < n || !slices.Equal(one.segments, segments[:n]) {
			continue
		}
		if n == len(segments) {
			n-- // the prefix is the object itself
		}
		return Target{origin: one.origin, url: u, folder: segments[:n], key: segments[n:], options: one.options}, nil
	}
	return Target{}, errors.New("not allowed")
}

// parse reads a URL of a known scheme; an absolute path is a file.
func parse(raw string) (*url.URL, error) {
	if strings.HasPrefix(raw, "/") {
		if strings.ContainsFunc(raw, isControl) {
			return nil, errors.New("not a URL")
		}
		return &url.URL{Scheme: "file", Path: raw}, nil
	}
	u, err := url.Parse(raw)
	if err == nil && aliases[u.Scheme] != "" {
		u.Scheme = aliases[u.Scheme]
	}
	switch {
	case err != nil || u.Scheme == "" || u.Opaque != "":
		return nil, errors.New("not a URL")
	case !slices.Contains(Schemes, u.Scheme):
		return nil, fmt.Errorf("its scheme is none of %s", strings.Join(Schemes, ", "))
	case u.User != nil:
		return nil, errors.New("it carries credentials")
	case u.Fragment != "":
		return nil, errors.New("it has a fragment")
	case u.Scheme == "file" && u.Host != "" && u.Host != "localhost":
		return nil, errors.New("file URLs have three slashes: file:///path")
	case u.Scheme != "file" && u.Hostname() == "":
		return nil, errors.New("it names no host or bucket")
	}
	return u, nil
}

// segmentsOf divides a path. Everything is refused that the one who answers may take for another path than we do.
func segmentsOf(u *url.URL) ([]string, error) {
	path := strings.TrimPrefix(u.Path, "/")
	if path == "" {
		return nil, nil
	}
	if strings.ContainsAny(path, `\%`) || strings.ContainsFunc(path, isControl) || strings.Contains(strings.ToLower(u.RawPath), "%2f") {
		return nil, errors.New("its path has encoded or unusual separators")
	}
	segments := strings.Split(path, "/")
	for _, s := range segments {
		name, _, _ := strings.Cut(s, ";") // some servers read parameters there
		if name == "" || name == "." || name == ".." {
			return nil, errors.New("its path has empty segments or dots")
		}
	}
	return segments, nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

func isStore(scheme string) bool { return scheme == "s3" || scheme == "gs" || scheme == "azblob" }

func originOf(u *url.URL) origin {
	if u.Scheme == "file" {
		return origin{scheme: u.Scheme}
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return origin{u.Scheme, host}
}

// maxShown bounds what is shown of a reference, in bytes.
const maxShown = 300

// Show returns a reference without its query, fragment and credentials, which may be secret.
func Show(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	raw, _, _ = strings.Cut(raw, "#")
	scheme, rest, isURL := strings.Cut(raw, "://")
	if isURL {
		authority, path, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			raw = scheme + "://" + authority[i+1:] + "/" + path
		}
	}
	if len(raw) > maxShown {
		raw = strings.ToValidUTF8(raw[:maxShown], "") + "…"
	}
	return raw
}
