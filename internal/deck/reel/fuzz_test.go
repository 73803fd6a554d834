// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// readHostile reads everything of bytes that somebody else has written.
func readHostile(body []byte) error {
	ctx := context.Background()
	f, err := Open(ctx, func(_ context.Context, offset, length int64) ([]byte, error) {
		if offset < 0 || length < 0 || offset+length > int64(len(body)) {
			return nil, fmt.Errorf("a read of %d bytes at %d outside of the reel", length, offset)
		}
		return body[offset:][:length], nil
	}, int64(len(body)), nil)
	if err != nil {
		return err
	}
	if _, err := f.Find(ctx, "trace_id", "0", true); err != nil {
		return err
	}
	if _, err := f.Find(ctx, "conversation_id", "conversation-1", false); err != nil {
		return err
	}
	_, err = readAll(ctx, f, 20)
	return err
}

// FuzzReel: bytes of anybody give rows or an error that says they are damaged, and never a panic.
func FuzzReel(f *testing.F) {
	body := encode(f, rowsOf(f, 5))
	f.Add(body)
	f.Add(body[len(body)/2:])
	for _, at := range []int{4, 100, len(body) / 2, len(body) - 2000, len(body) - 300, len(body) - 9} {
		spoiled := bytes.Clone(body)
		spoiled[at] ^= 0xff
		f.Add(spoiled)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := readHostile(body); err != nil && !errors.Is(err, deck.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

// relabel writes a reel again with another footer.
func relabel(t *testing.T, body []byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	n := int(binary.LittleEndian.Uint32(body[len(body)-8:]))
	start := len(body) - 8 - n
	var meta format.FileMetaData
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, body[start:start+n], &meta); err != nil {
		t.Fatal(err)
	}
	change(&meta)
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, &meta)
	if err != nil {
		t.Fatal(err)
	}
	out := append(bytes.Clone(body[:start]), footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), magic...)
}

// TestALieCostsNoMemory: whatever a few kilobytes claim, reading them takes a few megabytes.
func TestALieCostsNoMemory(t *testing.T) {
	body := encode(t, rowsOf(t, 40))
	end := func(footer []byte) []byte {
		return append(binary.LittleEndian.AppendUint32(append([]byte(magic+"xxxxxxxx"), footer...), uint32(len(footer))), magic...)
	}
	many := binary.AppendUvarint(nil, 1<<31-1)
	cases := map[string][]byte{
		"footer longer than the reel": append(binary.LittleEndian.AppendUint32([]byte(magic+"xxxx"), 1<<31), magic...),
		"two billion row groups":      end(append([]byte{0x49, 0xfc}, many...)),
		"two billion bytes of text":   end(append([]byte{0x68}, many...)),
		"structs in structs":          end(bytes.Repeat([]byte{0x1c}, 1<<20)),
		"a group of two billion rows": relabel(t, body, func(m *format.FileMetaData) { m.RowGroups[0].NumRows, m.NumRows = 1<<31, 1<<31 }),
		"a page index somewhere":      relabel(t, body, func(m *format.FileMetaData) { m.RowGroups[0].Columns[3].OffsetIndexOffset = 1 << 40 }),
		"a long page index":           relabel(t, body, func(m *format.FileMetaData) { m.RowGroups[0].Columns[3].OffsetIndexLength = 1 << 30 }),
		"a bloom filter among pages":  relabel(t, body, func(m *format.FileMetaData) { m.RowGroups[0].Columns[1].MetaData.BloomFilterOffset = 4 }),
		"a dictionary behind its page": relabel(t, body, func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[0].MetaData.DictionaryPageOffset = int64(len(body) - 100)
		}),
		"a column of numbers as text": relabel(t, body, func(m *format.FileMetaData) { m.Schema[1].Type.V = format.Int64 }),
		"a schema without an end":     relabel(t, body, func(m *format.FileMetaData) { m.Schema[0].NumChildren.V = 1 << 30 }),
		"another format":              relabel(t, body, func(m *format.FileMetaData) { m.KeyValueMetadata[0].Value = "2" }),
		"fewer columns":               relabel(t, body, func(m *format.FileMetaData) { m.RowGroups[0].Columns = m.RowGroups[0].Columns[:3] }),
	}
	for name, body := range cases {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readHostile(body)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, deck.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s: took %d bytes", name, took)
		}
	}
}

// TestAPageThatLiesCostsNoMemory: levels and sizes of a page are lies of a few bytes too.
func TestAPageThatLiesCostsNoMemory(t *testing.T) {
	long := binary.AppendUvarint(nil, (1<<31-1)<<1)
	if _, err := hybrid(append(long, 1), 1, 10); err != nil {
		t.Errorf("a run that is longer than needed: %v", err)
	}
	for name, b := range map[string][]byte{"nothing": nil, "a run without value": long, "groups without bytes": binary.AppendUvarint(nil, 1<<31|1), "an empty run": {0, 0, 0}} {
		if _, err := hybrid(b, 1, 10); !errors.Is(err, deck.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	huge := format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: 1 << 30, CompressedPageSize: 4}
	huge.DataPageHeaderV2.Valid = true
	huge.DataPageHeaderV2.V.NumValues = 1
	header, err := thrift.Marshal(&thrift.CompactProtocol{}, &huge)
	if err != nil {
		t.Fatal(err)
	}
	d := decoder{leaf: leaf{kind: format.ByteArray}, compressed: true, most: deck.MaxObjectBytes}
	if _, err := d.readPage(append(header, "abcd"...), 1); !errors.Is(err, deck.ErrCorrupt) {
		t.Errorf("a huge page: %v", err)
	}
	if _, err := d.unpack([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05}, 1<<20, true); !errors.Is(err, deck.ErrCorrupt) {
		t.Errorf("a frame of another size than its page: %v", err)
	}
}
