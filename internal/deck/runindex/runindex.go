// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package runindex keeps what tapes of a deck of files say of their runs in a local file, so that a listing need not read every tape again.
//
// It is a cache, and believed in nothing: an entry stands for an object of one key, size and version as the storage service lists it now, so an entry of another object, of a deck that was
// replaced, or of an older program is no entry. Blocks carry checksums. What goes wrong with it costs the reading of tapes and nothing else. It holds ids and names and no content.
package runindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

const (
	// format is that of the file. It grows too when Describe fills in columns differently.
	format = 1
	suffix = ".runs"
	// blockEntries are compressed together; blockBytes bounds what a reader makes room for.
	blockEntries = 256
	blockBytes   = 16 << 20
	// maxFresh bounds what is added at a time, because it is in memory.
	maxFresh = 50_000
	// maxEntries bounds an index: about 100 bytes each on disk.
	maxEntries = 2_000_000
	// maxDecks is how many decks have an index. The one that was not used for the longest time goes.
	maxDecks = 64
)

// Entry is what the index knows of a tape.
type Entry struct {
	Key     string
	Size    int64
	Version string
	Meta    reel.Meta
}

// Index is that of one area of a deck. Keys are asked for in ascending order. It is not safe for concurrent use. Two processes may have it open: what the last one leaves stays, and each is
// as good.
type Index struct {
	path  string
	print [sha256.Size]byte

	in    *os.File
	block []Entry // that was read and not passed yet
	used  []bool  // of the entries that were passed
	stale bool    // an entry stands for nothing any more, or what follows cannot be read
	fresh []Entry
}

// Open opens the index of an area in a folder, which it makes. It returns nil, which knows nothing, if there can be none.
func Open(folder, deckURL string, area deck.Area) *Index {
	if folder == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(deckURL))
	dir := filepath.Join(folder, "files", hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err != nil {
		prune(filepath.Dir(dir))
	}
	if os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	x := &Index{path: filepath.Join(dir, string(area)+suffix)}
	x.print = sha256.Sum256(fmt.Appendf(nil, "tapedeck runs %d\n%s\n%s\n%v\n", format, deckURL, area, reflect.VisibleFields(reflect.TypeFor[reel.Meta]())))
	x.in, x.stale = x.open()
	return x
}

// open opens the file behind its head. It is foreign if it is there and of something else.
func (x *Index) open() (in *os.File, foreign bool) {
	in, err := os.Open(x.path)
	if err != nil {
		return nil, false
	}
	var print [sha256.Size]byte
	if _, err = io.ReadFull(in, print[:]); err != nil || print != x.print {
		in.Close()
		return nil, true
	}
	return in, false
}

// prune leaves room for another deck.
func prune(folder string) {
	decks, err := os.ReadDir(folder)
	if err != nil || len(decks) < maxDecks {
		return
	}
	oldest, at := "", time.Time{}
	for _, d := range decks {
		if info, err := d.Info(); err == nil && (oldest == "" || info.ModTime().Before(at)) {
			oldest, at = d.Name(), info.ModTime()
		}
	}
	_ = os.RemoveAll(filepath.Join(folder, oldest))
}

// Get returns what is known of an object that was just listed.
func (x *Index) Get(o deck.Object) (m reel.Meta, ok bool) {
	if x == nil {
		return m, false
	}
	for len(x.block) > 0 || x.next() {
		e := &x.block[0]
		if e.Key > o.Key {
			return m, false
		}
		same := e.Key == o.Key && e.Size == o.Size && e.Version == o.Version && o.Version != ""
		x.pass(same)
		if same {
			return e.Meta, true
		}
	}
	return m, false
}

// pass goes on behind an entry.
func (x *Index) pass(used bool) {
	x.block = x.block[1:]
	x.used = append(x.used, used)
	x.stale = x.stale || !used
}

// next reads a block.
func (x *Index) next() bool {
	if x.in == nil {
		return false
	}
	block, err := readBlock(x.in)
	if err != nil {
		x.stale = x.stale || !errors.Is(err, io.EOF)
		x.in.Close()
		x.in = nil
		return false
	}
	x.block = block
	return len(block) > 0
}

// Put adds what was read of an object.
func (x *Index) Put(o deck.Object, m reel.Meta) {
	if x == nil || o.Version == "" || len(x.fresh) == maxFresh {
		return
	}
	m.UserMessage = ""
	x.fresh = append(x.fresh, Entry{o.Key, o.Size, o.Version, m})
}

// Close keeps what is known by now, if the whole area was walked and anything is new, or gone.
func (x *Index) Close(whole bool) {
	if x == nil {
		return
	}
	for whole && (len(x.block) > 0 || x.next()) {
		x.pass(false) // behind the last object
	}
	if x.in != nil {
		x.in.Close()
	}
	if whole && (x.stale || len(x.fresh) > 0) {
		x.rewrite()
	}
}

// rewrite makes a new file of the entries that were used and those that are new.
func (x *Index) rewrite() {
	out, err := os.CreateTemp(filepath.Dir(x.path), "tmp-*")
	if err != nil {
		return
	}
	slices.SortFunc(x.fresh, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	_, err = out.Write(x.print[:])
	err = errors.Join(err, x.merge(out), out.Close())
	if err != nil || os.Rename(out.Name(), x.path) != nil {
		_ = os.Remove(out.Name())
	}
}

func (x *Index) merge(out io.Writer) error {
	var held []Entry
	written := 0
	add := func(e Entry) (err error) {
		if written++; written > maxEntries {
			return nil
		}
		if held = append(held, e); len(held) == blockEntries {
			err = writeBlock(out, held)
			held = held[:0]
		}
		return err
	}
	in, _ := x.open() // another process may have put another one there: then it has fewer entries in common, and those are still true
	if in != nil {
		defer in.Close()
	}
	fresh := x.fresh
	for i := 0; in != nil && i < len(x.used); {
		block, err := readBlock(in)
		if err != nil {
			break
		}
		for _, e := range block {
			for len(fresh) > 0 && fresh[0].Key < e.Key {
				if err := add(fresh[0]); err != nil {
					return err
				}
				fresh = fresh[1:]
			}
			if replaced := len(fresh) > 0 && fresh[0].Key == e.Key; i < len(x.used) && x.used[i] && !replaced {
				if err := add(e); err != nil {
					return err
				}
			}
			i++
		}
	}
	for _, e := range fresh {
		if err := add(e); err != nil {
			return err
		}
	}
	if len(held) == 0 {
		return nil
	}
	return writeBlock(out, held)
}

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(blockBytes), zstd.WithDecoderConcurrency(1))
)

// writeBlock writes entries: length, SHA-256, zstd of JSON.
func writeBlock(w io.Writer, entries []Entry) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(entries); err != nil {
		return err
	}
	body := encoder.EncodeAll(b.Bytes(), nil)
	if len(body) > blockBytes {
		return errors.New("a block is too large")
	}
	sum := sha256.Sum256(body)
	_, err := w.Write(append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), sum[:]...), body...))
	return err
}

func readBlock(r io.Reader) ([]Entry, error) {
	var head [4 + sha256.Size]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n > blockBytes {
		return nil, errors.New("a block is too large")
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, errors.New("a block is cut")
	}
	if sha256.Sum256(body) != [sha256.Size]byte(head[4:]) {
		return nil, errors.New("a block is damaged")
	}
	text, err := decoder.DecodeAll(body, nil)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	return entries, json.Unmarshal(text, &entries)
}
