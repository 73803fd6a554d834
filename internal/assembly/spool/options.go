// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"fmt"
	"time"

	"go.uber.org/zap"
)

const (
	defaultSegmentBytes = 64 << 20
	minSegmentBytes     = 64 << 10
	minQuotaSegments    = 8
)

// withDefaults fills what is not set and checks the rest.
func (o Options) withDefaults() (Options, error) {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = defaultSegmentBytes
		if o.MaxBytes > 0 {
			o.SegmentBytes = max(minSegmentBytes, min(o.SegmentBytes, o.MaxBytes/(2*minQuotaSegments)))
		}
	}
	if o.MaxDeadRatio == 0 {
		o.MaxDeadRatio = 1
	}
	if o.Sync == "" {
		o.Sync = SyncAlways
	}
	if o.SyncInterval == 0 {
		o.SyncInterval = 100 * time.Millisecond
	}
	if o.Compression == "" {
		o.Compression = CompressionNone
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	switch {
	case o.SegmentBytes < minSegmentBytes || o.SegmentBytes > maxSegmentBytes/2:
		return o, fmt.Errorf("segments of %d bytes: %d to %d are possible", o.SegmentBytes, minSegmentBytes, maxSegmentBytes)
	case o.MaxBytes < 0 || o.MaxBytes > 0 && o.MaxBytes/minQuotaSegments < o.SegmentBytes:
		return o, fmt.Errorf("a quota of %d bytes: at least %d segments of %d bytes are needed", o.MaxBytes, minQuotaSegments, o.SegmentBytes)
	case !(o.MaxDeadRatio > 0):
		return o, fmt.Errorf("dead ratio %v: not above 0", o.MaxDeadRatio)
	case o.Sync != SyncAlways && o.Sync != SyncInterval && o.Sync != SyncNone:
		return o, fmt.Errorf("sync mode %q: always, interval or none", o.Sync)
	case o.SyncInterval < 0:
		return o, fmt.Errorf("sync interval %v: below 0", o.SyncInterval)
	case o.Compression != CompressionNone && o.Compression != CompressionZstd:
		return o, fmt.Errorf("compression %q: none or zstd", o.Compression)
	}
	return o, nil
}

// footprint is what a segment and its index may take on disk. Batches fill a segment up to SegmentBytes. Release markers and copies may
// take a quarter more. A segment is sealed before its index exceeds another quarter.
func (o *Options) footprint() int64 { return o.SegmentBytes + o.SegmentBytes/2 }

func (o *Options) markerLimit() int64 { return o.SegmentBytes + o.SegmentBytes/4 }
