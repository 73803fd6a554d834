// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/tape"
)

// file is an object that the view shows.
type file struct {
	deck.Object
	read func(ctx context.Context) ([]byte, error)
}

// files returns the objects of a trace, in the order of keys. A trace whose reels a compaction takes away meanwhile is looked at again.
func (v *View) files(ctx context.Context, t *shown) (files []file, err error) {
	const attempts = 5
	for i := 1; ; i++ {
		files, err = v.filesOnce(ctx, t)
		if err == nil || i == attempts || !errors.Is(err, deck.ErrNotFound) {
			return files, err
		}
		v.stale()
		at := t.Location
		if t, err = v.trace(ctx, at); err != nil || t == nil {
			return nil, err
		}
	}
}

func (v *View) filesOnce(ctx context.Context, t *shown) (files []file, err error) {
	if t.Dropped {
		return nil, nil
	}
	base := t.Location.Prefix() + "/"
	for _, part := range t.Parts {
		size, read := t.Evidence(part)
		files = append(files, file{deck.Object{Key: base + "parts/" + part + deck.PartSuffix, Size: size}, func(ctx context.Context) ([]byte, error) {
			body, err := read(ctx)
			if err != nil {
				return nil, err
			}
			return deck.Pack(body), nil
		}})
	}
	add := func(g deck.Generation, root, name string, size int64, read func(ctx context.Context) ([]byte, error)) {
		files = append(files, file{deck.Object{Key: base + g.String() + "/" + root + "/" + name, Size: size}, read})
	}
	switch {
	case t.Current != nil && (t.Current.WithTapes() || t.ofThisProgram()):
		for _, e := range t.Current.Runs {
			read := e.Tape
			if e.TapeBytes == 0 { // it is not stored. What it is called is known, so a listing derives nothing
				read = func(ctx context.Context) ([]byte, error) { return t.derivedTape(ctx, e.RootSpanID) }
			}
			add(t.Current.Generation, e.RootSpanID, deck.TapeFile, e.TapeBytes, read)
			for _, name := range e.Files {
				add(t.Current.Generation, e.RootSpanID, name, 0, func(ctx context.Context) ([]byte, error) { return sibling(ctx, e, read, name) })
			}
			if s, err := signature.Parse(e.Signature); err == nil {
				add(t.Current.Generation, e.RootSpanID, signature.FileName(s.KeyID), 0, func(ctx context.Context) ([]byte, error) { return signatureFile(ctx, e, read, s) })
			}
		}
	default:
		derived, err := t.pending(ctx)
		if err != nil {
			return nil, err
		}
		for _, run := range derived.Runs {
			for _, f := range run.Files {
				add(derived.Generation, run.Root, f.Name, int64(len(f.Body)), func(context.Context) ([]byte, error) { return slices.Clone(f.Body), nil })
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.Key, b.Key) })
	return files, nil
}

// sibling makes a file that lies beside a tape.
func sibling(ctx context.Context, e *reel.Entry, read func(context.Context) ([]byte, error), name string) ([]byte, error) {
	body, err := read(ctx)
	if err != nil {
		return nil, err
	}
	files, err := generation.Beside(body, e.Formats, e.Files)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name == name {
			return f.Body, nil
		}
	}
	return nil, fmt.Errorf("%w: this program makes no %s of the tape", deck.ErrCorrupt, name)
}

// signatureFile makes the file of a signature, which vouches for what the row says: its tape, and the parts that it was made of.
func signatureFile(ctx context.Context, e *reel.Entry, read func(context.Context) ([]byte, error), s signature.Signature) ([]byte, error) {
	body, err := read(ctx)
	if err != nil {
		return nil, err
	}
	t, err := tape.Read(body)
	if err != nil {
		return nil, err
	}
	return s.File(generation.Statement(t, e.Parts)), nil
}

// find returns the object that a reel stands for at a key.
func (v *View) find(ctx context.Context, key string) (file, bool, error) {
	l, rest, ok := inReel(key)
	if !ok || rest == "" {
		return file{}, false, nil
	}
	t, err := v.trace(ctx, l)
	if err != nil || t == nil {
		return file{}, false, err
	}
	files, err := v.files(ctx, t)
	if err != nil {
		return file{}, false, err
	}
	i := slices.IndexFunc(files, func(f file) bool { return f.Key == key })
	if i < 0 {
		return file{}, false, nil
	}
	return files[i], true, nil
}
