// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// files describes files for manifests. A manifest holds no id and no content: a column of which an erased run
// could be the bound has no bounds.
type files struct {
	*sync
	table *table.Table
}

// reel describes a reel.
func (w files) reel(ctx context.Context, o reel.Object) (iceberg.DataFile, error) {
	v, err := w.reels.Inventory(ctx, o)
	if err != nil {
		return nil, err
	}
	day, err := time.Parse(time.DateOnly, o.Date)
	if err != nil {
		return nil, fmt.Errorf("%w: date of reel %s", deck.ErrCorrupt, o.Key())
	}
	partition, err := w.partition(map[string]any{dateColumn: iceberg.Date(day.Unix() / int64(24*time.Hour/time.Second)), tenantColumn: v.Tenant, areaColumn: string(o.Area)})
	if err != nil {
		return nil, err
	}
	b, err := w.builder(iceberg.EntryContentData, w.base+"/"+o.Key(), partition, v.Rows, o.Size)
	if err != nil {
		return nil, err
	}
	low, high, counts, nulls := map[int][]byte{}, map[int][]byte{}, map[int]int64{}, map[int]int64{}
	bound := func(name string, from, to []byte, null int64) {
		f, ok := w.table.Schema().FindFieldByName(name)
		if !ok {
			return
		}
		counts[f.ID], nulls[f.ID] = v.Rows, null
		if null < v.Rows {
			low[f.ID], high[f.ID] = from, to
		}
	}
	bound(tenantColumn, []byte(v.Tenant), []byte(v.Tenant), 0)
	bound(areaColumn, []byte(o.Area), []byte(o.Area), 0)
	bound(startedColumn, long(v.Started.Low), long(v.Started.High), v.Started.Nulls)
	bound(endedColumn, long(v.Ended.Low), long(v.Ended.High), v.Ended.Nulls)
	return b.ValueCounts(counts).NullValueCounts(nulls).LowerBoundValues(low).UpperBoundValues(high).SplitOffsets(v.Groups).Build(), nil
}

// long is a number as a bound has it.
func long(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// partition gives the fields of the partition of the table their values.
func (w files) partition(values map[string]any) (map[int]any, error) {
	spec, of := w.table.Spec(), map[int]any{}
	for _, f := range spec.Fields() {
		name, _ := w.table.Schema().FindColumnName(f.SourceIDs[0])
		value, ok := values[name]
		if _, identity := f.Transform.(iceberg.IdentityTransform); !ok || !identity {
			return nil, fmt.Errorf("a table of reels is partitioned by date, tenant and area as they are, and not by %s of %s", f.Transform, name)
		}
		of[f.FieldID] = value
	}
	return of, nil
}

func (w files) builder(content iceberg.ManifestEntryContent, uri string, partition map[int]any, rows, size int64) (*iceberg.DataFileBuilder, error) {
	logical := map[int]string{}
	for id, value := range partition {
		if _, ok := value.(iceberg.Date); ok {
			logical[id] = "date"
		}
	}
	return iceberg.NewDataFileBuilder(w.table.Spec(), content, uri, iceberg.ParquetFile, partition, logical, nil, rows, size)
}

// deletedRow is a row of a file of position deletes. Names and ids are those of the specification.
type deletedRow struct {
	FilePath string `parquet:"file_path,id(2147483546)"`
	Pos      int64  `parquet:"pos,id(2147483545)"`
}

const filePathID = 2147483546

// hide writes and describes the position deletes of a reel.
func (w files) hide(ctx context.Context, of iceberg.DataFile, positions []int64) (iceberg.DataFile, error) {
	var body bytes.Buffer
	out := parquet.NewGenericWriter[deletedRow](&body, parquet.DefaultEncoding(&parquet.Plain)) // readers in Python know no other
	for _, pos := range positions {
		if _, err := out.Write([]deletedRow{{of.FilePath(), pos}}); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	uri := w.table.Location() + "/data/" + uuid.NewString() + "-deletes.parquet"
	if err := (objects{ctx, w.store, w.base}).WriteFile(uri, body.Bytes()); err != nil {
		return nil, err
	}
	b, err := w.builder(iceberg.EntryContentPosDeletes, uri, of.Partition(), int64(len(positions)), int64(body.Len()))
	if err != nil {
		return nil, err
	}
	path := map[int][]byte{filePathID: []byte(of.FilePath())}
	return b.LowerBoundValues(path).UpperBoundValues(path).ReferencedDataFile(of.FilePath()).Build(), nil
}
