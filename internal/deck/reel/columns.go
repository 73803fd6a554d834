// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// column is one member of Row and where its values lie.
type column struct {
	name  string
	leaf  leaf
	field []int // of Row
}

func (c column) path() string {
	if c.leaf.list {
		return c.name + ".list.element"
	}
	return c.name
}

// columns are those of Row, in their order.
var columns = columnsOf(reflect.TypeFor[Row](), nil)

func columnsOf(row reflect.Type, at []int) (list []column) {
	kinds := map[reflect.Kind]format.Type{reflect.String: format.ByteArray, reflect.Int64: format.Int64, reflect.Float64: format.Double, reflect.Bool: format.Boolean}
	for i := range row.NumField() {
		f := row.Field(i)
		index := append(slices.Clone(at), i)
		if f.Anonymous {
			list = append(list, columnsOf(f.Type, index)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		c := column{name: name, field: index}
		c.leaf.optional = strings.Contains(","+options+",", ",optional,")
		switch t := f.Type; t.Kind() {
		case reflect.Pointer:
			c.leaf.kind = kinds[t.Elem().Kind()]
		case reflect.Slice:
			c.leaf.kind, c.leaf.list = format.ByteArray, t.Elem().Kind() == reflect.String
		default:
			c.leaf.kind = kinds[t.Kind()]
		}
		list = append(list, c)
	}
	return list
}

// signatureColumn is no column to ask for: in a deck of files a signature is a file beside the tape, which no listing opens.
const signatureColumn = "signature"

// laterColumns are those that reels of older programs do not have. What is not there is null.
var laterColumns = []string{signatureColumn, "rules", "prompt_name", "prompt_version", "verdicts", "response_ids", "judged", "keep"}

var narrow = append(Columns(), signatureColumn)

// Columns are the names of the narrow columns that may be asked for, in their order.
func Columns() (names []string) {
	for _, c := range columns {
		if !slices.Contains(wideColumns, c.name) && c.name != signatureColumn {
			names = append(names, c.name)
		}
	}
	return names
}

// ColumnsJSON is an object of the columns that value knows, in their order.
func ColumnsJSON(names []string, value func(column string) any) ([]byte, error) {
	out := []byte{'{'}
	for _, name := range names {
		v := value(name)
		if v == nil {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), '"', ':')
		out = append(out, text...)
	}
	return append(out, '}'), nil
}

// metas reads narrow columns of some rows; without names, all.
func (f *File) metas(ctx context.Context, s span, names []string) ([]Meta, error) {
	if names == nil {
		names = narrow
	}
	if s.from < 0 || s.to < s.from || s.group < 0 || s.group >= len(f.groups) || s.to > f.groups[s.group].NumRows {
		return nil, corrupt("no rows %d to %d", s.from, s.to)
	}
	f, err := f.ahead(ctx, s, names, maxGap)
	if err != nil {
		return nil, err
	}
	rows := make([]Meta, s.to-s.from)
	for _, c := range columns {
		if slices.Contains(wideColumns, c.name) || !slices.Contains(names, c.name) {
			continue
		}
		v, err := f.read(ctx, c.name, s)
		if err != nil {
			return nil, err
		}
		if v.rows != len(rows) {
			return nil, corrupt("%d values of %s in %d rows", v.rows, c.name, len(rows))
		}
		last := ""
		for i := range rows {
			switch to := reflect.ValueOf(&rows[i]).Elem().Field(c.field[1]).Addr().Interface().(type) {
			case *string:
				if b := v.texts[i]; string(b) != last {
					last = string(b)
				}
				*to = last
			case *[]string:
				*to = v.list(i)
			case *int64:
				*to = v.longs[i]
			case **int64:
				*to = v.long(i)
			case **float64:
				*to = v.float(i)
			case *bool:
				*to = v.bools[i]
			}
		}
	}
	return rows, nil
}

// content reads a wide column of one row.
func (f *File) content(ctx context.Context, name string, group int, row int64) (_ []byte, err error) {
	if f.recent != nil {
		defer recovered(&err)
		return f.recent.content(ctx, f, name, group, row)
	}
	v, err := f.read(ctx, name, span{group, row, row + 1})
	if err != nil {
		return nil, err
	}
	if v.rows != 1 {
		return nil, corrupt("no %s in row %d", name, row)
	}
	return v.texts[0], nil
}

var _ parquet.WriterOption = schema

// Value returns a narrow column of a row: a string, int64, float64, bool, time.Time or []string, or nil where it is null. ok is false if there is no such column.
func (m *Meta) Value(name string) (value any, ok bool) {
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name && !slices.Contains(wideColumns, name) })
	if i < 0 {
		return nil, false
	}
	switch v := reflect.ValueOf(m).Elem().Field(columns[i].field[1]).Interface().(type) {
	case string:
		if v == "" {
			return nil, true
		}
		return v, true
	case []string:
		if len(v) == 0 {
			return nil, true
		}
		return v, true
	case *int64:
		if v == nil {
			return nil, true
		}
		return *v, true
	case *float64:
		if v == nil {
			return nil, true
		}
		return *v, true
	case int64:
		switch {
		case v == 0:
			return nil, true
		case strings.HasSuffix(name, "_at"):
			return time.UnixMicro(v).UTC(), true
		}
		return v, true
	case bool:
		return v, true
	}
	return nil, false
}
