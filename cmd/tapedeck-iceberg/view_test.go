// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTheViewForTrinoNamesAllColumns: Trino has no way to leave one out.
func TestTheViewForTrinoNamesAllColumns(t *testing.T) {
	view, err := os.ReadFile("../../examples/iceberg/runs-trino.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(view), "\nSELECT ")
	list, _, _ = strings.Cut(list, "if(")
	named := strings.FieldsFunc(list, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	var want []string
	for _, f := range columns() {
		if f.Name != "evidence" && f.Name != areaColumn {
			want = append(want, f.Name)
		}
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("the view has\n%q, and reels\n%q", named, want)
	}
}
