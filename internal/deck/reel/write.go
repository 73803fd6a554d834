// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/deck"
)

const (
	// Area is the folder of the reels of a deck.
	Area = "reels"
	// Format is the version of rows and columns, in the metadata of every reel.
	Format    = "1"
	formatKey = "tapedeck.reel"

	suffix      = ".parquet"
	contentType = "application/vnd.apache.parquet"

	// groupBytes bounds a row group before compression. A reader that wants one run opens one group, and a writer holds one.
	groupBytes = 16 << 20
	// pageRows bounds the pages of a group in rows, so that a look-up reads a few narrow pages.
	pageBytes = 64 << 10
	// bitsPerValue of a bloom filter: one look-up in a hundred opens a group in vain.
	bitsPerValue = 10
)

// idColumns are the columns by which runs are looked up: each has a bloom filter.
var idColumns = []string{"trace_id", "conversation_id", "invocation_id", "correlation_id", "task_id", "workflow_id", "replay_run_id", "replay_of"}

// wideColumns hold content. They have no dictionary and no bounds in the index: an index may be kept outside the deck.
var wideColumns = []string{"evidence", "tape"}

// compression is zstd by one encoder. Those of the library keep a window of 8 MB for each CPU, and leave text without repetitions as it is, such as base64.
type compression struct{ parquetzstd.Codec }

var encoder = newZstd()

func newZstd() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true),
		zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		panic(err) // of these options
	}
	e.EncodeAll(nil, nil) // makes what is made with the first call
	return e
}

// Encode implements compress.Codec.
func (*compression) Encode(dst, src []byte) ([]byte, error) {
	return encoder.EncodeAll(src, dst[:0]), nil
}

var schema = parquet.SchemaOf(Row{})

func newParquet(out io.Writer) *parquet.GenericWriter[Row] {
	options := []parquet.WriterOption{
		schema,
		parquet.CreatedBy("tapedeck", "reel "+Format, ""),
		parquet.KeyValueMetadata(formatKey, Format),
		parquet.Compression(&compression{}),
		parquet.DefaultEncoding(&parquet.Plain), // of what has no dictionary: the reader takes these two encodings and no other
		parquet.DataPageVersion(2),
		parquet.PageBufferSize(pageBytes),
		parquet.DataPageStatistics(false), // the bounds in the headers of pages, uncompressed, several times, and of content too; the index has what is needed
		parquet.DeferBloomFiltersWithBuffers(parquet.NewBufferPool()),
		parquet.SkipPageBounds("user_message"),
		parquet.SkipPageBounds(signatureColumn),
	}
	for _, name := range wideColumns {
		options = append(options, parquet.SkipPageBounds(name))
	}
	filters := make([]parquet.BloomFilterColumn, len(idColumns))
	for i, name := range idColumns {
		filters[i] = parquet.SplitBlockFilter(bitsPerValue, name)
	}
	return parquet.NewGenericWriter[Row](out, append(options, parquet.BloomFilters(filters...))...)
}

// Encoder writes one reel, row by row, in the order of compare. It holds the reel, and a row group of it before compression.
type Encoder struct {
	out   chunks
	w     *parquet.GenericWriter[Row]
	group int64 // bound on the bytes of a row group
	held  int64 // bytes of the open one
	ended int64 // bytes of those that are written, before compression
	rows  int
}

func newEncoder() *Encoder { return newEncoderOf(groupBytes) }

func newEncoderOf(group int64) *Encoder {
	e := &Encoder{group: group}
	e.w = newParquet(&e.out)
	return e
}

// add writes a row. Evidence that an earlier row of the same trace and part has is to be left out.
func (e *Encoder) add(row Row) error {
	if err := row.check(); err != nil {
		return err
	}
	row.EvidenceBytes, row.TapeBytes = int64(len(row.Evidence)), int64(len(row.Tape))
	if e.held > 0 && e.held+row.size() > e.group {
		if err := e.w.Flush(); err != nil {
			return fmt.Errorf("write row group: %w", err)
		}
		e.ended += e.held
		e.held = 0
	}
	e.held += row.size()
	e.rows++
	if _, err := e.w.Write([]Row{row}); err != nil {
		return fmt.Errorf("write row: %w", err)
	}
	return nil
}

// size is about what the reel has so far. The open row group is taken to compress as those before it did, the first one to halve.
func (e *Encoder) size() int64 {
	written := e.out.size()
	if e.ended == 0 {
		return written + e.held/2
	}
	return written + int64(float64(e.held)*float64(written)/float64(e.ended))
}

// end writes what a reel ends with.
func (e *Encoder) end() error {
	if err := e.w.Close(); err != nil {
		return fmt.Errorf("write reel: %w", err)
	}
	e.w = nil // its buffers
	return nil
}

// close returns the reel.
func (e *Encoder) close() ([]byte, error) {
	if err := e.end(); err != nil {
		return nil, err
	}
	return e.out.join(), nil
}

// Encode writes rows as one reel, in the order of trace ids. It sorts rows in place. Evidence that an earlier row of the same trace and part has is to be left out.
func Encode(rows []Row) ([]byte, error) {
	e := newEncoder()
	if err := e.addAll(rows); err != nil {
		return nil, err
	}
	return e.close()
}

func (e *Encoder) addAll(rows []Row) error {
	slices.SortStableFunc(rows, func(a, b Row) int { return a.compare(&b.Meta) })
	for i := range rows {
		if err := e.add(rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// chunks are what has been written, in pieces: a buffer that grows would hold everything twice, and the copy again as much.
type chunks [][]byte

const chunkBytes = 1 << 20

func (c *chunks) Write(p []byte) (n int, err error) {
	for n = len(p); len(p) > 0; {
		last := len(*c) - 1
		if last < 0 || len((*c)[last]) == cap((*c)[last]) {
			*c = append(*c, make([]byte, 0, max(chunkBytes, len(p))))
			last++
		}
		at := &(*c)[last]
		k := min(cap(*at)-len(*at), len(p))
		*at = append(*at, p[:k]...)
		p = p[k:]
	}
	return n, nil
}

func (c *chunks) size() (n int64) {
	for _, b := range *c {
		n += int64(len(b))
	}
	return n
}

// join empties the chunks.
func (c *chunks) join() []byte {
	all := slices.Concat(*c...)
	*c = nil
	return all
}

// compare is the order of the rows in a reel.
func (m *Meta) compare(o *Meta) int {
	return cmp.Or(strings.Compare(m.TraceID, o.TraceID), strings.Compare(m.Part, o.Part), strings.Compare(m.RootSpanID, o.RootSpanID),
		cmp.Compare(m.Items, o.Items), cmp.Compare(m.Revision, o.Revision), strings.Compare(m.Producer, o.Producer))
}

// Name is what the key of a reel says.
type Name struct {
	Area   deck.Area
	Tenant string // as it stands in keys
	Date   string // YYYY-MM-DD, UTC, of its writing
	Level  int
	Digest string // hex SHA-256 of its bytes
}

// NameOf names a reel by its content.
func NameOf(area deck.Area, tenant string, at time.Time, level int, body []byte) Name {
	sum := sha256.Sum256(body)
	return Name{area, deck.SafeName(tenant), at.UTC().Format(time.DateOnly), level, hex.EncodeToString(sum[:])}
}

// Key is the key of the reel in its deck.
func (n Name) Key() string {
	return Area + "/" + string(n.Area) + "/tenant=" + n.Tenant + "/date=" + n.Date + "/" + strconv.Itoa(n.Level) + "-" + n.Digest + suffix
}

// ParseName reads the key of a reel.
func ParseName(key string) (Name, bool) {
	segs := strings.Split(key, "/")
	if len(segs) != 5 || segs[0] != Area {
		return Name{}, false
	}
	n := Name{Area: deck.Area(segs[1])}
	level, digest, dash := strings.Cut(strings.TrimSuffix(segs[4], suffix), "-")
	var err error
	n.Level, err = strconv.Atoi(level)
	n.Tenant, n.Date, n.Digest = strings.TrimPrefix(segs[2], "tenant="), strings.TrimPrefix(segs[3], "date="), digest
	if _, dateErr := time.Parse(time.DateOnly, n.Date); !dash || err != nil || dateErr != nil || !isDigest(digest) || n.Key() != key {
		return Name{}, false
	}
	return n, true
}
