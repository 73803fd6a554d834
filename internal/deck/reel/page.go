// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// unpacker decompresses pages. It writes into the room that it is given and no further: a page that holds more than it claims is refused.
var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options above are constants
	}
	return d
})

// smallFrame is the size up to which an encoder may leave the size of what it compresses out.
const smallFrame = 1 << 10

// decoder decodes the pages of one column of one row group. It knows the encodings that Encode writes: plain values, indexes into a dictionary, and levels of one bit.
type decoder struct {
	leaf       leaf
	compressed bool
	most       int // bytes of a decompressed page
	dictionary *vector
}

func (d *decoder) header(b []byte) (h format.PageHeader, body []byte, err error) {
	n, err := unmarshal(b, &h)
	if err != nil {
		return h, nil, err
	}
	if h.CompressedPageSize < 0 || int(h.CompressedPageSize) > len(b)-n || h.UncompressedPageSize < 0 || int64(h.UncompressedPageSize) > int64(d.most) {
		return h, nil, corrupt("a page of %d bytes, %d decompressed", h.CompressedPageSize, h.UncompressedPageSize)
	}
	return h, b[n:][:h.CompressedPageSize], nil
}

func (d *decoder) unpack(b []byte, size int, compressed bool) ([]byte, error) {
	if !compressed {
		if len(b) != size {
			return nil, corrupt("a page of %d bytes that claims %d", len(b), size)
		}
		return b, nil
	}
	var frame zstd.Header
	if len(b) > 0 {
		// Room is made for what the frame says, when the page says the same. Small frames need not say it.
		if err := frame.Decode(b); err != nil || frame.HasFCS && frame.FrameContentSize != uint64(size) || !frame.HasFCS && size > smallFrame {
			return nil, corrupt("a page whose compression says another size")
		}
	}
	out, err := unpacker().DecodeAll(b, make([]byte, 0, size))
	if err != nil || len(out) != size {
		return nil, corrupt("a page that does not decompress to its size")
	}
	return out, nil
}

func (d *decoder) readDictionary(b []byte) error {
	h, body, err := d.header(b)
	if err != nil {
		return err
	}
	n := int(h.DictionaryPageHeader.V.NumValues)
	if h.Type != format.DictionaryPage || !h.DictionaryPageHeader.Valid || n < 0 || n > maxPageRows {
		return corrupt("a dictionary that is none")
	}
	if body, err = d.unpack(body, int(h.UncompressedPageSize), d.compressed); err != nil {
		return err
	}
	d.dictionary = newVector(d.leaf)
	return d.plain(d.dictionary, body, n)
}

// readPage decodes a page of so many rows.
func (d *decoder) readPage(b []byte, rows int) (*vector, error) {
	h, body, err := d.header(b)
	if err != nil {
		return nil, err
	}
	v2 := h.DataPageHeaderV2.V
	values, repeats, defines := int(v2.NumValues), int64(v2.RepetitionLevelsByteLength), int64(v2.DefinitionLevelsByteLength)
	size := int64(h.UncompressedPageSize) - repeats - defines
	if h.Type != format.DataPageV2 || !h.DataPageHeaderV2.Valid || values < rows || values > maxPageRows || !d.leaf.list && values != rows ||
		repeats < 0 || defines < 0 || repeats+defines > int64(len(body)) || size < 0 {
		return nil, corrupt("a page header that does not hold together")
	}
	v := newVector(d.leaf)
	v.rows, v.null = rows, make([]bool, values)
	present := values
	if d.leaf.list || d.leaf.optional {
		levels, err := hybrid(body[repeats:repeats+defines], 1, values)
		if err != nil {
			return nil, err
		}
		for i, level := range levels {
			if v.null[i] = level == 0; v.null[i] {
				present--
			}
		}
	}
	var starts []uint32
	if d.leaf.list {
		if starts, err = hybrid(body[:repeats], 1, values); err != nil {
			return nil, err
		}
	}
	compressed := d.compressed && (!v2.IsCompressed.Valid || v2.IsCompressed.V)
	if body, err = d.unpack(body[repeats+defines:], int(size), compressed); err != nil {
		return nil, err
	}
	dense := newVector(d.leaf)
	switch v2.Encoding {
	case format.Plain:
		err = d.plain(dense, body, present)
	case format.RLEDictionary:
		err = d.indexed(dense, body, present)
	default:
		err = corrupt("a page in encoding %d", v2.Encoding)
	}
	if err != nil {
		return nil, err
	}
	if d.leaf.list {
		return v.lists(dense, starts)
	}
	v.spread(dense)
	return v, nil
}

// plain decodes n plain values.
func (d *decoder) plain(v *vector, b []byte, n int) error {
	short := func(need int) bool { return n > 0 && len(b) < need }
	switch d.leaf.kind {
	case format.ByteArray:
		if short(4 * n) {
			return corrupt("a page that ends too early")
		}
		v.texts = make([][]byte, n)
		for i := range n {
			if len(b) < 4 {
				return corrupt("a page that ends too early")
			}
			size := int64(binary.LittleEndian.Uint32(b))
			if size > int64(len(b)-4) {
				return corrupt("a value that ends behind its page")
			}
			v.texts[i], b = b[4:4+size:4+size], b[4+size:]
		}
	case format.Int64, format.Double:
		if short(8 * n) {
			return corrupt("a page that ends too early")
		}
		for i := range n {
			bits := binary.LittleEndian.Uint64(b[8*i:])
			if d.leaf.kind == format.Int64 {
				v.longs = append(v.longs, int64(bits))
			} else {
				v.floats = append(v.floats, math.Float64frombits(bits))
			}
		}
	case format.Boolean:
		if short((n + 7) / 8) {
			return corrupt("a page that ends too early")
		}
		for i := range n {
			v.bools = append(v.bools, b[i/8]>>(i%8)&1 == 1)
		}
	default:
		return corrupt("a column of type %d", d.leaf.kind)
	}
	v.rows, v.null = n, make([]bool, n)
	return nil
}

// indexed decodes n indexes into the dictionary.
func (d *decoder) indexed(v *vector, b []byte, n int) error {
	if d.dictionary == nil || d.leaf.kind != format.ByteArray {
		return corrupt("a page without its dictionary")
	}
	if n == 0 {
		return nil
	}
	if len(b) == 0 || b[0] > 32 {
		return corrupt("indexes of no width")
	}
	indexes, err := hybrid(b[1:], int(b[0]), n)
	if err != nil {
		return err
	}
	v.texts = make([][]byte, n)
	for i, x := range indexes {
		if int64(x) >= int64(len(d.dictionary.texts)) {
			return corrupt("an index behind the dictionary")
		}
		v.texts[i] = d.dictionary.texts[x]
	}
	return nil
}

// spread puts dense values where a value is; null says where none is.
func (v *vector) spread(dense *vector) {
	if dense.rows == v.rows {
		v.texts, v.longs, v.floats, v.bools = dense.texts, dense.longs, dense.floats, dense.bools
		return
	}
	n := 0
	for _, null := range v.null {
		switch v.leaf.kind {
		case format.ByteArray:
			v.texts = append(v.texts, nil)
		case format.Int64:
			v.longs = append(v.longs, 0)
		case format.Double:
			v.floats = append(v.floats, 0)
		case format.Boolean:
			v.bools = append(v.bools, false)
		}
		if null {
			continue
		}
		switch v.leaf.kind {
		case format.ByteArray:
			v.texts[len(v.texts)-1] = dense.texts[n]
		case format.Int64:
			v.longs[len(v.longs)-1] = dense.longs[n]
		case format.Double:
			v.floats[len(v.floats)-1] = dense.floats[n]
		case format.Boolean:
			v.bools[len(v.bools)-1] = dense.bools[n]
		}
		n++
	}
}

// lists divides dense values into rows: a level of 0 in starts begins one, and a null is an empty list.
func (v *vector) lists(dense *vector, starts []uint32) (*vector, error) {
	out := newVector(v.leaf)
	for i, level := range starts {
		if level == 0 {
			out.ends = append(out.ends, len(out.texts))
			out.rows++
		}
		if out.rows == 0 {
			return nil, corrupt("a page that begins in the middle of a row")
		}
		if !v.null[i] {
			out.texts = append(out.texts, dense.texts[len(out.texts)])
			out.ends[out.rows-1] = len(out.texts)
		}
	}
	if out.rows != v.rows {
		return nil, corrupt("a page of %d rows that should have %d", out.rows, v.rows)
	}
	out.null = make([]bool, len(out.texts))
	return out, nil
}

// hybrid decodes n values of width bits from runs and bit-packed groups. A run claims any length in a few bytes: no more than n are taken.
func hybrid(b []byte, width, n int) ([]uint32, error) {
	out := make([]uint32, 0, n)
	for len(out) < n {
		head, used := binary.Uvarint(b)
		if used <= 0 {
			return nil, corrupt("levels that end too early")
		}
		b = b[used:]
		if head&1 == 0 {
			bytes := (width + 7) / 8
			if len(b) < bytes {
				return nil, corrupt("levels that end too early")
			}
			var value uint32
			for i := range bytes {
				value |= uint32(b[i]) << (8 * i)
			}
			b = b[bytes:]
			count := min(head>>1, uint64(n-len(out)))
			if count == 0 {
				return nil, corrupt("an empty run of levels")
			}
			for range count {
				out = append(out, value)
			}
			continue
		}
		groups := head >> 1
		if groups == 0 || width > 0 && groups > uint64(len(b)/width) {
			return nil, corrupt("levels that end too early")
		}
		count := min(groups*8, uint64(n-len(out)))
		for i := range int(count) {
			var value uint32
			for bit := range width {
				at := i*width + bit
				value |= uint32(b[at/8]>>(at%8)&1) << bit
			}
			out = append(out, value)
		}
		b = b[int(groups)*width:]
	}
	return out, nil
}
