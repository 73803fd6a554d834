// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Fetcher reads the content of a target, at most limit bytes. Its errors hold no query of a URL.
type Fetcher interface {
	Fetch(ctx context.Context, t Target, limit int64) ([]byte, error)
}

// ErrUnreachable is wrapped when the location of an object did not answer, whatever the object.
var ErrUnreachable = errors.New("not reachable")

var (
	errTooLarge = errors.New("larger than allowed")
	errRedirect = errors.New("redirected to where nothing is allowed, or too often")
)

// Remote fetches from files, web servers and object stores. It is safe for concurrent use.
type Remote struct {
	client *http.Client

	mu     sync.Mutex
	stores map[string]deck.Store // by the URL of the folder that a prefix allows
}

// NewRemote returns a Remote. It follows redirects on the same origin to targets that the policy allows. It does not use the proxies of
// the environment, because they would decide who answers.
func NewRemote(p *Policy) *Remote {
	const maxRedirects = 3
	return &Remote{
		stores: map[string]deck.Store{},
		client: &http.Client{
			Transport: &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, MaxConnsPerHost: fetchers},
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				t, err := p.Match(r.URL.String())
				if err != nil || t.origin != originOf(via[0].URL) || len(via) > maxRedirects {
					return errRedirect
				}
				return nil
			},
		},
	}
}

// Close closes connections and stores.
func (r *Remote) Close() error {
	r.client.CloseIdleConnections()
	var errs []error
	for _, s := range r.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Fetch implements Fetcher. An object store reads an object up to deck.MaxObjectBytes before its size is known.
func (r *Remote) Fetch(ctx context.Context, t Target, limit int64) ([]byte, error) {
	switch {
	case isStore(t.scheme):
		return r.fromStore(ctx, t, limit)
	case t.scheme == "file":
		return fromFile(t, limit)
	default:
		return r.fromWeb(ctx, t, limit)
	}
}

// fromFile reads below the folder that is allowed: a link that leads out of it is an error.
func fromFile(t Target, limit int64) (body []byte, err error) {
	root, err := os.OpenRoot("/" + strings.Join(t.folder, "/"))
	if err != nil {
		return nil, errors.New(deck.SafeReason(err))
	}
	defer func() { _ = root.Close() }()
	name := filepath.FromSlash(strings.Join(t.key, "/"))
	switch info, err := root.Stat(name); {
	case err != nil:
		return nil, errors.New(deck.SafeReason(err))
	case !info.Mode().IsRegular(): // to open a pipe may take for ever
		return nil, errors.New("not a regular file")
	case info.Size() > limit:
		return nil, errTooLarge
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, errors.New(deck.SafeReason(err))
	}
	defer func() { _ = f.Close() }()
	body, err = readAll(f, limit)
	if err != nil && !errors.Is(err, errTooLarge) {
		err = errors.New(deck.SafeReason(err))
	}
	return body, err
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, err
}

func (r *Remote) fromWeb(ctx context.Context, t Target, limit int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return nil, errors.New("not a URL that can be asked for")
	}
	request.Header.Set("Accept", "application/json")
	response, err := r.client.Do(request)
	switch {
	case errors.Is(err, errRedirect):
		return nil, errRedirect
	case err != nil:
		return nil, fmt.Errorf("%w: %s", ErrUnreachable, webReason(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode >= 500:
		return nil, fmt.Errorf("%w: the server answers %d", ErrUnreachable, response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server answers %d", response.StatusCode)
	case response.ContentLength > limit:
		return nil, errTooLarge
	}
	body, err := readAll(response.Body, limit)
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, fmt.Errorf("%w: %s", ErrUnreachable, webReason(err))
	}
	return body, err
}

// webReason says why an exchange failed. Other errors of package http may repeat what the server sent.
func webReason(err error) string {
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &op) && op.Err != nil:
		return op.Err.Error()
	}
	return "the exchange failed"
}

func (r *Remote) fromStore(ctx context.Context, t Target, limit int64) ([]byte, error) {
	store, err := r.store(ctx, t)
	if err != nil {
		return nil, storeError(err)
	}
	body, err := store.Get(ctx, strings.Join(t.key, "/"))
	if err != nil {
		return nil, storeError(err)
	}
	if int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, nil
}

func storeError(err error) error {
	if deck.IsPermanent(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// store opens the store of the folder that is allowed, once. Its options are those of the prefix, never of the reference.
func (r *Remote) store(ctx context.Context, t Target) (deck.Store, error) {
	u := url.URL{Scheme: t.scheme, Host: t.host, RawQuery: t.options}
	if len(t.folder) > 0 {
		u.Path = "/" + strings.Join(t.folder, "/")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	address := u.String()
	if s := r.stores[address]; s != nil {
		return s, nil
	}
	s, err := deck.OpenObjects(context.WithoutCancel(ctx), address) // it outlives this fetch, and so may what it keeps of the context
	if err != nil {
		return nil, err
	}
	r.stores[address] = s
	return s, nil
}
