// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/apache/iceberg-go"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// Fields of the partition, and columns with bounds.
const (
	dateColumn    = "date"
	tenantColumn  = "tenant"
	areaColumn    = "area"
	startedColumn = "started_at"
	endedColumn   = "ended_at"
)

var types = map[reel.ColumnType]iceberg.Type{
	reel.Text: iceberg.PrimitiveTypes.String, reel.Bytes: iceberg.PrimitiveTypes.Binary, reel.Long: iceberg.PrimitiveTypes.Int64,
	reel.Double: iceberg.PrimitiveTypes.Float64, reel.Bool: iceberg.PrimitiveTypes.Bool, reel.Instant: iceberg.PrimitiveTypes.TimestampTz,
}

// columns returns the fields of the table: the columns of a reel, and the day of its writing. The day is no
// column of the file; engines take it from the partition. ID 0 stands for one that is not given yet.
func columns() (fields []iceberg.NestedField) {
	fields = append(fields, iceberg.NestedField{Name: dateColumn, Type: iceberg.PrimitiveTypes.Date, Doc: "day of writing, UTC"})
	for _, c := range reel.Schema() {
		f := iceberg.NestedField{Name: c.Name, Type: types[c.Type]}
		if c.List {
			f.Type = &iceberg.ListType{Element: types[c.Type]}
		}
		fields = append(fields, f)
	}
	return fields
}

// newSchema numbers the fields of a new table.
func newSchema() *iceberg.Schema {
	fields := columns()
	next := len(fields)
	for i := range fields {
		fields[i].ID = i + 1
		if list, ok := fields[i].Type.(*iceberg.ListType); ok {
			next++
			list.ElementID = next
		}
	}
	return iceberg.NewSchema(0, fields...)
}

// newPartition is the partition of a new table: by day and tenant.
func newPartition(s *iceberg.Schema) (iceberg.PartitionSpec, error) {
	var options []iceberg.PartitionOption
	for i, name := range []string{dateColumn, tenantColumn} {
		f, _ := s.FindFieldByName(name)
		options = append(options, iceberg.AddPartitionFieldBySourceID(f.ID, name, iceberg.IdentityTransform{}, s, ptr(firstPartitionID+i)))
	}
	return iceberg.NewPartitionSpecOpts(options...)
}

// firstPartitionID is where the specification has partition fields begin.
const firstPartitionID = 1000

func ptr[T any](v T) *T { return &v }
