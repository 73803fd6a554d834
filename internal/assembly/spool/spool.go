// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// ID names a held record until it is released. It stays the same when compaction moves the record, and is never 0. It does not
// outlive the process: Open gives new ones.
type ID uint64

// Entry is a record to be appended.
type Entry struct {
	Key     []byte // what the record belongs to (the run key), at most MaxKeyBytes
	Meta    []byte // a small header of the application, opaque here, at most MaxMetaBytes
	Payload []byte // OTLP protobuf, opaque here
	// Message is the payload instead of Payload, if it is set. It is written straight into the frame, which saves memory for the payload and a copy.
	Message Message
}

// Message is a payload that is not bytes yet. It must not change during the call that it is handed to.
type Message interface {
	SizeProto() int
	// MarshalProto fills a buffer of SizeProto bytes, and returns how many that were.
	MarshalProto(buf []byte) int
}

// payloadBytes is the length of the payload.
func (e *Entry) payloadBytes() int {
	if e.Message != nil {
		return e.Message.SizeProto()
	}
	return len(e.Payload)
}

// Held is a record that Open found. Its slices are valid during the call they are handed to.
type Held struct {
	ID        ID
	Key, Meta []byte
	Bytes     int64 // length of the payload as it was appended, before compression
}

// Limits of an Entry. A batch as a whole has to fit into a segment.
const (
	MaxKeyBytes  = 1 << 10
	MaxMetaBytes = 4 << 10
)

// SyncMode says when Append returns.
type SyncMode string

const (
	// SyncAlways: Append returns when the batch is on the disk (one fdatasync for all batches that wait). A kill, a kernel crash or
	// a power loss costs nothing that was acknowledged. The default.
	SyncAlways SyncMode = "always"
	// SyncInterval: Append returns when the operating system has the batch; the disk has it SyncInterval later. A kill of the
	// process loses nothing; a kernel crash or a power loss can cost what was acknowledged since the last sync.
	SyncInterval SyncMode = "interval"
	// SyncNone: as SyncInterval, and the operating system decides when to write (on Linux usually within 30 s). A segment is still
	// synced when it is sealed.
	SyncNone SyncMode = "none"
)

// Compression says how payloads are stored.
type Compression string

const (
	CompressionNone Compression = "none" // the default
	CompressionZstd Compression = "zstd" // fastest level, each payload on its own, kept as it is where that is not smaller
)

// Options of a Log. The zero value is valid.
type Options struct {
	// SegmentBytes is the size at which a segment is sealed and the size of the largest batch: 64 KiB to 1 GiB. 0 means 64 MiB, or
	// a sixteenth of MaxBytes when that is less.
	SegmentBytes int64
	// MaxBytes is what all files of the log may take on disk; Append answers ErrFull beyond it. At least eight segments. 0: no quota.
	// One and a half segments of it are kept free for compaction and release markers, so that a full log can drain.
	MaxBytes int64
	// MaxDeadRatio is how many bytes of released records may lie on disk for each live one before compaction copies live records
	// of the oldest segment forward. 0 means 1.
	MaxDeadRatio float64
	Sync         SyncMode      // "" means SyncAlways
	SyncInterval time.Duration // of SyncInterval; 0 means 100 ms
	Compression  Compression   // "" means CompressionNone
	Logger       *zap.Logger   // nil: silent
	// OnCommit, if set, is called after each commit that succeeded, with the time that writing and syncing took, the bytes written and the
	// entries appended. It runs on the goroutine that commits and must not block or call the Log.
	OnCommit func(d time.Duration, bytes int64, entries int)
}

// Stats are counters since Open and gauges of now.
type Stats struct {
	Segments   int   // segments on disk, the open one included
	DiskBytes  int64 // bytes of all files of the log: segments and their indexes, damaged segments, the reserved space
	LiveBytes  int64 // bytes of held records in segments
	DeadBytes  int64 // bytes of everything else in segments
	Held       int64 // records held
	IndexBytes int64 // memory of the index

	Appends        int64         // batches appended
	Entries        int64         // records appended
	Released       int64         // records released
	Commits        int64         // writes to the log; each serves all batches that waited
	CommitTime     time.Duration // time spent writing and syncing
	WrittenBytes   int64         // bytes written to segments
	CompactedBytes int64         // bytes of records copied forward
	Refused        int64         // batches refused with ErrFull
	CommitErrors   int64         // commits that failed for another reason than space, or that could not be rolled back
	SyncErrors     int64         // failed fdatasync calls

	Recovered        int64 // records found by Open
	TruncatedBytes   int64 // bytes of torn tails that Open cut
	CorruptFrames    int64 // frames that Open could not trust
	CorruptRecords   int64 // records that cannot be read any more
	DamagedSegments  int   // segments in which damage was found
	QuarantinedFiles int   // *.damaged in the directory
	IndexesRewritten int64 // segment indexes that Open had to write again
}

// Errors that callers tell apart with errors.Is.
var (
	// ErrFull: MaxBytes is reached, or the disk is full. Nothing of the batch is kept; retry when records were released.
	ErrFull = errors.New("spool is full")
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("spool is closed")
	// ErrTooLarge: a key, a header or the whole batch exceeds its limit. No retry helps; a batch can be split.
	ErrTooLarge = errors.New("too large for the spool")
	// ErrCorrupt: what lies on disk does not match its checksum.
	ErrCorrupt = errors.New("spool record is corrupt")
	// ErrNotHeld: an ID that was released, or was never given.
	ErrNotHeld = errors.New("spool holds no such record")
	// ErrLocked: another process has the directory open.
	ErrLocked = errors.New("spool directory is in use by another process")
)

// CorruptError lists the records of one Read that could not be read. It is an ErrCorrupt.
type CorruptError struct {
	IDs []ID
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%d of the records: %v", len(e.IDs), ErrCorrupt)
}

func (e *CorruptError) Unwrap() error { return ErrCorrupt }
