// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// table is an array of objects that have few scalars each: rows and columns read better than a tree.
type table struct {
	Head []string
	Rows [][]node
}

// Bounds of a table.
const (
	tableColumns = 10
	tableCell    = 400 // bytes of JSON
)

// newTable makes a table of a value, or nil where a tree shows it better.
func newTable(v exactjson.Value) *table {
	if v.Kind() != exactjson.Array || v.Len() < 2 {
		return nil
	}
	var columns []string
	cells := 0
	for i := range v.Len() {
		row := v.At(i)
		if row.Kind() != exactjson.Object {
			return nil
		}
		for _, m := range row.Members() {
			if k := m.Value.Kind(); k == exactjson.Object || k == exactjson.Array || len(m.Value.JSON()) > tableCell {
				return nil
			}
			if !slices.Contains(columns, m.Name) {
				columns = append(columns, m.Name)
			}
			cells++
		}
		if len(columns) > tableColumns {
			return nil
		}
	}
	if len(columns) == 0 || 2*cells < v.Len()*len(columns) {
		return nil // most cells would be empty
	}
	out := &table{}
	for _, name := range columns {
		out.Head = append(out.Head, timeline.OneLine(name))
	}
	left, open := treeValues, 0
	for i := range v.Len() {
		row := make([]node, len(columns))
		for _, m := range v.At(i).Members() {
			cell := newNode(m.Value, &left, &open)
			if m.Value.Kind() == exactjson.String {
				cell.Text = timeline.Clean(m.Value.Str()) // a cell needs no quotes
			}
			row[slices.Index(columns, m.Name)] = cell
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
