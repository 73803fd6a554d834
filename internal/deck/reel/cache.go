// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"os"
	"path/filepath"
	"strings"
)

// Cache keeps the indexes of reels in a local folder: what a reel is named by never changes. It holds ids and names, and no content. An empty Cache keeps nothing. What goes wrong with
// it costs requests and nothing else.
type Cache string

const cacheSuffix = ".idx"

func (c Cache) path(digest string) string { return filepath.Join(string(c), digest+cacheSuffix) }

func (c Cache) read(digest string) []byte {
	if c == "" {
		return nil
	}
	tail, err := os.ReadFile(c.path(digest))
	if err != nil || len(tail) == 0 {
		return nil
	}
	return tail
}

func (c Cache) write(digest string, tail []byte) {
	if c == "" || os.MkdirAll(string(c), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(string(c), "tmp-*")
	if err != nil {
		return
	}
	_, err = f.Write(tail)
	if closeErr := f.Close(); err == nil && closeErr == nil && os.Rename(f.Name(), c.path(digest)) == nil {
		return
	}
	_ = os.Remove(f.Name()) // a file that stays is overlooked, and taken away by the next prune
}

// prune takes away what belongs to no reel any more.
func (c Cache) prune(objects []Object, indexes []idObject) {
	if c == "" {
		return
	}
	files, err := os.ReadDir(string(c))
	if err != nil {
		return
	}
	there := map[string]bool{}
	for _, o := range objects {
		there[o.Digest] = true
	}
	for _, o := range indexes {
		there[o.digest] = true
	}
	for _, f := range files {
		if digest, ok := strings.CutSuffix(f.Name(), cacheSuffix); ok && !there[digest] {
			_ = os.Remove(filepath.Join(string(c), f.Name()))
		}
	}
}
