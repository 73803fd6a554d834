// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// table counts by set and kind, in the order in which they come.
type table struct {
	order []string
	rows  map[string]*row
}

type row struct {
	benign            bool
	cases, ok, broken int // broken: valid JSON that is none any more
	kinds             map[string][2]int
}

func newTable() *table { return &table{rows: map[string]*row{}} }

// add counts a result and says whether it is wrong.
func (t *table) add(c Case, result string) (wrong bool) {
	r := t.rows[c.Set]
	if r == nil {
		r = &row{benign: len(c.Needle) == 0, kinds: map[string][2]int{}}
		t.rows[c.Set] = r
		t.order = append(t.order, c.Set)
	}
	r.cases++
	if r.benign {
		wrong = result != string(c.Text)
	} else {
		wrong = c.left(result)
	}
	if json.Valid(c.Text) && !json.Valid([]byte(result)) {
		r.broken++
	}
	k := r.kinds[c.Kind]
	k[1]++
	if !wrong {
		r.ok++
		k[0]++
	}
	r.kinds[c.Kind] = k
	return wrong
}

func (t *table) markdown() string {
	var b strings.Builder
	var cases, found int
	b.WriteString("| set | cases | found | recall | changed | false positives | made unparseable |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, set := range t.order {
		r := t.rows[set]
		if r.benign {
			fmt.Fprintf(&b, "| %s | %d | | | %d | %.3f %% | %d |\n", set, r.cases, r.cases-r.ok, 100*float64(r.cases-r.ok)/float64(r.cases), r.broken)
			continue
		}
		cases, found = cases+r.cases, found+r.ok
		fmt.Fprintf(&b, "| %s | %d | %d | %.4f | | | %d |\n", set, r.cases, r.ok, float64(r.ok)/float64(r.cases), r.broken)
	}
	if cases > 0 {
		fmt.Fprintf(&b, "| **all secrets and personal data** | %d | %d | **%.4f** | | | |\n", cases, found, float64(found)/float64(cases))
	}
	return b.String()
}
