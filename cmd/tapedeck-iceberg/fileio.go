// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	icebergio "github.com/apache/iceberg-go/io"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// baseURI is the URI by which engines read a deck: the address without options, or what the operator says.
func baseURI(address, seenAs string) (string, error) {
	if seenAs != "" {
		u, err := url.Parse(seenAs)
		if err != nil || u.Scheme == "" || u.RawQuery != "" {
			return "", errors.New("--deck-uri must be a URI without options")
		}
		return strings.TrimSuffix(seenAs, "/"), nil
	}
	if !strings.Contains(address, "://") {
		path, err := filepath.Abs(address)
		return "file:///" + strings.TrimPrefix(filepath.ToSlash(path), "/"), err
	}
	address, _, _ = strings.Cut(address, "?")
	switch scheme, _, _ := strings.Cut(address, "://"); scheme {
	case "file", "s3", "gs":
		return strings.TrimSuffix(address, "/"), nil
	default:
		return "", fmt.Errorf("engines do not read %s:// addresses: name theirs with --deck-uri", scheme)
	}
}

// readKeys reads keys of reels, one a line.
func readKeys(in io.Reader) (keys []string, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if key := strings.TrimSpace(lines.Text()); key != "" {
			keys = append(keys, key)
		}
	}
	return keys, lines.Err()
}

// objects is the store of a deck as the files of a table, by their URIs.
type objects struct {
	ctx   context.Context
	store deck.Store
	base  string
}

// register makes the library read and write metadata through the store of the deck, with the credentials of
// the deck.
func (s *sync) register() {
	scheme, _, _ := strings.Cut(s.base, "://")
	icebergio.Unregister(scheme)
	icebergio.Register(scheme, func(ctx context.Context, _ *url.URL, _ map[string]string) (icebergio.IO, error) {
		return objects{ctx, s.store, s.base}, nil
	})
}

func (o objects) key(op, uri string) (string, error) {
	key, ok := strings.CutPrefix(uri, o.base+"/")
	if !ok {
		return "", &fs.PathError{Op: op, Path: uri, Err: errors.New("not in the deck")}
	}
	return key, nil
}

func (o objects) ReadFile(uri string) ([]byte, error) {
	key, err := o.key("open", uri)
	if err != nil {
		return nil, err
	}
	body, err := o.store.Get(o.ctx, key)
	if errors.Is(err, deck.ErrNotFound) {
		return nil, &fs.PathError{Op: "open", Path: uri, Err: fs.ErrNotExist}
	}
	return body, err
}

func (o objects) Open(uri string) (icebergio.File, error) {
	body, err := o.ReadFile(uri)
	return file{bytes.NewReader(body), uri}, err
}

func (o objects) WriteFile(uri string, body []byte) error {
	key, err := o.key("create", uri)
	if err != nil {
		return err
	}
	created, err := o.store.PutNew(o.ctx, key, body, "application/octet-stream")
	if err == nil && !created {
		err = &fs.PathError{Op: "create", Path: uri, Err: fs.ErrExist}
	}
	return err
}

func (o objects) Create(uri string) (icebergio.FileWriter, error) {
	return &newFile{to: o, uri: uri}, nil
}

// Remove removes metadata, and never a reel.
func (o objects) Remove(uri string) error {
	key, err := o.key("remove", uri)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(key, metadataFolder+"/") {
		return &fs.PathError{Op: "remove", Path: uri, Err: fs.ErrPermission}
	}
	return o.store.Delete(o.ctx, key)
}

// file is an object that was read as a whole: metadata is small.
type file struct {
	*bytes.Reader
	uri string
}

func (f file) Close() error               { return nil }
func (f file) Stat() (fs.FileInfo, error) { return f, nil }
func (f file) Name() string               { return f.uri }
func (f file) Mode() fs.FileMode          { return 0 }
func (f file) ModTime() time.Time         { return time.Time{} }
func (f file) IsDir() bool                { return false }
func (f file) Sys() any                   { return nil }

// newFile is an object that is put when it is closed.
type newFile struct {
	bytes.Buffer
	to  objects
	uri string
}

func (f *newFile) Close() error { return f.to.WriteFile(f.uri, f.Bytes()) }
