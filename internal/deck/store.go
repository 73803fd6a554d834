// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package deck keeps tapes and their evidence in object storage.
//
// This package is the layout. It links no driver: a program imports those it
// wants from deck/store/…, one package per storage service.
//
// A deck is a folder, a bucket or a part of a bucket with the layout of the
// tape format (docs/tape-format.md). A deck only grows: every name is a digest
// or a generation, and every write is create-only. So writing something again
// changes nothing, and two writers converge without a lock.
package deck

import (
	"context"
	"iter"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// MaxObjectBytes bounds the stored size of one object, in both directions.
// It is far above any tape and keeps a damaged or foreign object from taking
// all memory.
const MaxObjectBytes = 512 << 20

// Object is one entry of a listing.
type Object struct {
	Key  string
	Size int64
	// Version tells objects of one key apart that were put there one after the other; "" where the service does not.
	Version string
}

// Store is the little that a deck needs from a storage service.
//
// Keys are slash-separated and obey [CheckKey]. A Store is safe for concurrent
// use, also by several processes. Every error can be given to [IsPermanent].
type Store interface {
	// PutNew creates an object and never replaces one: if the key exists it
	// returns (false, nil) and the object stays as it was. When PutNew returns
	// without an error the object is durable, whoever wrote it. After a lost
	// reply and an internal retry a writer can be told false about its own
	// write.
	PutNew(ctx context.Context, key string, body []byte, contentType string) (created bool, err error)
	// Get returns the stored bytes as they were written, whatever their content
	// type. A missing key is ErrNotFound, an object above MaxObjectBytes
	// ErrTooLarge.
	Get(ctx context.Context, key string) ([]byte, error)
	// List walks all keys that begin with prefix, in lexical (byte) order. The
	// first error ends it.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// ListFolders walks the distinct folders one level below prefix in lexical
	// order: each begins with prefix and ends with its first following slash. A
	// folder exists as long as a key lies in it.
	ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Delete removes an object; a missing key is no error.
	Delete(ctx context.Context, key string) error
	Close() error
}

// NewObject is an object to create.
type NewObject struct {
	Key         string
	Body        []byte
	ContentType string
}

// BatchStore is a Store in which several new objects cost less together than one by one.
type BatchStore interface {
	// PutAllNew is PutNew for objects in an order that holds whatever happens: an object is not there without those before it. created tells
	// whether any was new.
	PutAllNew(ctx context.Context, objects []NewObject) (created bool, err error)
}

// batches tells whether putAllNew costs less than one PutNew after the other.
func batches(s Store) bool {
	if u, ok := s.(*unpacking); ok {
		s = u.Store
	}
	_, ok := s.(BatchStore)
	return ok
}

// putAllNew creates objects in their order.
func putAllNew(ctx context.Context, s Store, objects []NewObject) (created bool, err error) {
	if b, ok := s.(BatchStore); ok {
		return b.PutAllNew(ctx, objects)
	}
	for _, o := range objects {
		isNew, err := s.PutNew(ctx, o.Key, o.Body, o.ContentType)
		if err != nil {
			return created, err
		}
		created = created || isNew
	}
	return created, nil
}

// OpenFunc opens a store from its parsed URL. The URL carries no user
// information; the function must refuse options it does not know and must not
// repeat option values in errors.
type OpenFunc func(ctx context.Context, u *url.URL) (Store, error)

// CheckFunc reports what no later moment can mend in a URL: its form and its options. It talks to nobody and asks for no credentials.
type CheckFunc func(u *url.URL) error

type driver struct {
	check CheckFunc // nil: open does no more than that
	open  OpenFunc
}

var (
	schemesMu sync.RWMutex
	schemes   = map[string]driver{}
)

// Register adds a driver for a URL scheme; drivers call it from init. open is called with URLs that check has accepted. A second
// driver for one scheme is a programming error and panics.
func Register(scheme string, check CheckFunc, open OpenFunc) {
	schemesMu.Lock()
	defer schemesMu.Unlock()
	if _, ok := schemes[scheme]; ok {
		panic("deck: scheme " + scheme + " is registered twice")
	}
	schemes[scheme] = driver{check: check, open: open}
}

// Schemes returns the registered schemes, sorted.
func Schemes() []string {
	schemesMu.RLock()
	defer schemesMu.RUnlock()
	names := make([]string, 0, len(schemes))
	for s := range schemes {
		names = append(names, s)
	}
	slices.Sort(names)
	return names
}

// OpenStore opens the store that a deck URL names. Text without "://" is a
// local path. It shows files that are stored compressed as what they are.
func OpenStore(ctx context.Context, rawURL string) (Store, error) {
	s, err := OpenObjects(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	return &unpacking{Store: s}, nil
}

// OpenObjects is OpenStore for objects that belong to no deck: nothing is
// unpacked.
func OpenObjects(ctx context.Context, rawURL string) (Store, error) {
	u, d, err := driverOf(rawURL)
	if err != nil {
		return nil, err
	}
	if d.check != nil {
		if err := d.check(u); err != nil {
			return nil, err
		}
	}
	return d.open(ctx, u)
}

// CheckURL reports whether OpenStore would refuse the URL whatever lies behind it: no driver is linked, its form is wrong, an option is not known. It
// talks to nobody.
func CheckURL(rawURL string) error {
	u, d, err := driverOf(rawURL)
	if err != nil {
		return err
	}
	if d.check != nil {
		return d.check(u)
	}
	s, err := d.open(context.Background(), u)
	if err != nil {
		return err
	}
	return s.Close()
}

// linkedOnDemand are the schemes that only the full collector has: their client libraries are large.
var linkedOnDemand = []string{"azblob", "gs"}

func driverOf(rawURL string) (*url.URL, driver, error) {
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, driver{}, err
	}
	schemesMu.RLock()
	d, ok := schemes[u.Scheme]
	schemesMu.RUnlock()
	if !ok {
		reason := "no driver for this scheme in this program (it has " + strings.Join(Schemes(), ", ") + ")"
		if slices.Contains(linkedOnDemand, u.Scheme) {
			reason += "; otelcol-tapedeck-full has one, and a collector whose manifest imports exporter/tapeexporter/allstores"
		}
		return nil, driver{}, BadURL(u.Scheme, reason)
	}
	return u, d, nil
}

// parseURL accepts a URL or a local path. Its errors never repeat the text: it
// may hold credentials that somebody put there by mistake.
func parseURL(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, BadURL("deck", "empty URL")
	}
	if !strings.Contains(raw, "://") {
		path, err := filepath.Abs(raw)
		if err != nil {
			return nil, BadURL("file", "the path cannot be made absolute")
		}
		return &url.URL{Scheme: "file", Path: filepath.ToSlash(path)}, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return nil, BadURL("deck", "not a URL")
	}
	if u.User != nil {
		return nil, BadURL(u.Scheme, "credentials do not belong in a deck URL; give them by environment or role")
	}
	if u.Fragment != "" {
		return nil, BadURL(u.Scheme, "a deck URL has no fragment (write # as %23)")
	}
	return u, nil
}

// BadURL is the error for a URL that no driver can open. The reason must not repeat the URL.
func BadURL(scheme, reason string) error {
	return &StoreError{Op: "open", Scheme: scheme, Reason: reason, Permanent: true, Err: ErrBadURL}
}
