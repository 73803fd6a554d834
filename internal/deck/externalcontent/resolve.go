// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
)

// Limits bound what is fetched.
type Limits struct {
	Object  int64         // bytes of one object
	Trace   int64         // bytes that are fetched for one trace, and that are added to it
	Timeout time.Duration // of one fetch
}

// Resolver completes sets of evidence. It is not safe for concurrent use.
type Resolver struct {
	policy  *Policy
	fetcher Fetcher
	limits  Limits
	// Redact is applied to what was fetched before anything keeps it: the name of the attribute and its content. Nil leaves it as it is.
	Redact func(name, content string) string

	// fetched keeps contents for the next trace: instructions and tool definitions are the same in many. Emptied when it holds more
	// than one object may.
	fetched      map[string]string
	fetchedBytes int64
	silent       map[origin]int // fetches in a row to which a location did not answer
}

// New returns a Resolver.
func New(p *Policy, f Fetcher, l Limits) *Resolver {
	return &Resolver{policy: p, fetcher: f, limits: l, fetched: map[string]string{}, silent: map[origin]int{}}
}

// Failure is a reference whose content could not be fetched.
type Failure struct {
	Reference string // without its query
	Reason    string
}

func (f Failure) Error() string { return f.Reference + ": " + f.Reason }

// Resolution is the result for the references of one trace.
type Resolution struct {
	// Added are copies of spans with the content beside the reference.
	Added *evidence.Set
	// Before counts the references whose content had been added earlier.
	Before   int
	Failures []Failure
}

// Trace fetches the content that the spans of one trace refer to and do not hold. It returns an error only if the context ends.
func (r *Resolver) Trace(ctx context.Context, set *evidence.Set) (Resolution, error) {
	open, before := references(set)
	res := Resolution{Before: before}
	contents, failed, err := r.fetchAll(ctx, open)
	if err != nil {
		return res, err
	}
	var added int64
	for i := range open {
		ref := &open[i]
		content, ok := contents[ref.uri]
		if !ok {
			continue
		}
		if added += int64(len(content)); added > r.limits.Trace {
			failed[ref.uri] = errFull.Error()
			added -= int64(len(content))
			continue
		}
		ref.content = content
	}
	for _, uri := range distinct(open) {
		if reason, ok := failed[uri]; ok {
			res.Failures = append(res.Failures, Failure{Show(uri), reason})
		}
	}
	if r.Redact != nil {
		for i := range open {
			if ref := &open[i]; ref.content != "" {
				ref.content = r.Redact(ref.name, ref.content)
			}
		}
	}
	res.Added = completed(open)
	return res, nil
}

var errFull = errors.New("left out: the content of this trace would become larger than allowed")

// fetchers is how many objects are fetched at a time.
const fetchers = 4

// distinct returns the URIs in the order in which they come first.
func distinct(refs []reference) []string {
	var uris []string
	seen := map[string]bool{}
	for _, ref := range refs {
		if !seen[ref.uri] {
			seen[ref.uri] = true
			uris = append(uris, ref.uri)
		}
	}
	return uris
}

type fetch struct {
	uri    string
	target Target
	body   []byte
	err    error
}

// fetchAll fetches each URI once. The limit of a trace and one round of fetches bound the result.
func (r *Resolver) fetchAll(ctx context.Context, refs []reference) (contents, failed map[string]string, err error) {
	contents, failed = map[string]string{}, map[string]string{}
	var wanted []fetch
	var total int64
	for _, uri := range distinct(refs) {
		target, err := r.policy.Match(uri)
		switch content, known := r.fetched[uri]; {
		case err != nil:
			failed[uri] = err.Error()
		case known:
			contents[uri] = content
			total += int64(len(content))
		default:
			wanted = append(wanted, fetch{uri: uri, target: target})
		}
	}
	for round := range slices.Chunk(wanted, fetchers) {
		var running sync.WaitGroup
		for i := range round {
			f := &round[i]
			switch {
			case total >= r.limits.Trace:
				f.err = errFull
			case r.silent[f.target.origin] >= fetchers:
				f.err = errors.New("not asked for: the place did not answer before")
			default:
				running.Go(func() {
					ctx, cancel := context.WithTimeout(ctx, r.limits.Timeout)
					defer cancel()
					f.body, f.err = r.fetcher.Fetch(ctx, f.target, r.limits.Object)
				})
			}
		}
		running.Wait()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		for _, f := range round {
			content, err := r.take(f)
			if err != nil {
				failed[f.uri] = err.Error()
				continue
			}
			contents[f.uri] = content
			total += int64(len(content))
		}
	}
	return contents, failed, nil
}

// take checks what a fetch gave.
func (r *Resolver) take(f fetch) (string, error) {
	if errors.Is(f.err, ErrUnreachable) {
		r.silent[f.target.origin]++
		return "", f.err
	}
	if f.err != nil {
		return "", f.err
	}
	delete(r.silent, f.target.origin)
	content, err := contentOf(f.body)
	if err != nil {
		return "", err
	}
	if r.fetchedBytes += int64(len(content)); r.fetchedBytes > r.limits.Object {
		r.fetched, r.fetchedBytes = map[string]string{}, int64(len(content))
	}
	r.fetched[f.uri] = content
	return content, nil
}
